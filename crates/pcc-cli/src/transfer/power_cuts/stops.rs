//! Either end is stopped at each moment of a transfer, killed or asked to end, and started again.
//!
//! A moment is between two acts. Where a process stands in between, at which `await` say, makes no difference to anybody.

use super::both_ends::{Course, Plan, transfer};
use super::restart::check_end;
use super::{Place, number, on_all_cores, own_address};
use crate::simulation::Fate;
use std::fs;
use std::time::Duration;

/// How many stops are tried, if these are to be more or fewer than by default: at most all.
const STOPS: &str = "PCC_STOPS";
/// Of the addresses of this process, the first of those here.
const ADDRESSES: u64 = 200;

/// On a path that loses packets now and then.
fn run(place: &Place, thread: u64, number: u64, fates: [Vec<Fate>; 2]) -> Result<Course, String> {
    let to = place.disk().join(number.to_string());
    let plan = Plan { seed: 0, delay: Duration::from_millis(10), loss: 0.01, fates };
    let course = transfer(place, &to, own_address(ADDRESSES + thread), plan, |_| {})?;
    check_end(&place.missing(&to), &to)?;
    fs::remove_dir_all(to).unwrap();
    Ok(course)
}

#[test]
fn stopped_at_each_moment() {
    let place = Place::new();
    let [receiver, sender] = run(&place, 0, 0, [vec![], vec![]]).unwrap().acts;
    let both = |acts| [Fate::IsKilled(acts), Fate::IsInterrupted(acts)];
    let receivers = (0..receiver).flat_map(both).map(|fate| [vec![fate], vec![]]);
    let all: Vec<_> = receivers.chain((0..sender).flat_map(both).map(|fate| [vec![], vec![fate]])).collect();
    let stops = number(STOPS).unwrap_or(200).min(all.len() as u64);
    let tried = on_all_cores(0..stops, |thread, number| {
        // Evenly over all.
        let fates = &all[(number * all.len() as u64 / stops) as usize];
        run(&place, thread, number, fates.clone()).map(drop).map_err(|why| format!("{why}\nwith {fates:?}"))
    });
    tried.unwrap_or_else(|why| panic!("{why}"));
    println!("{stops} stops of {}", all.len());
}
