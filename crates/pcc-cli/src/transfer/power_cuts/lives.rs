//! Both ends live through kills, lost packets and cuts of the power, in virtual time: a transfer as a seed has it runs in a
//! process that is watched; then come cuts at moments of it, and after each both ends once more.

use super::both_ends::{Event, transfer};
use super::cut::Cut;
use super::restart::Left;
use super::{INVITED, PLACE, Place, RECEIVED, SEED, SENT, own_address, skipped};
use fastrand::Rng;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many lives are tried in all, if that is to be more than by default, and from which seed on.
const LIVES: &str = "PCC_LIVES";
const FIRST: &str = "PCC_LIVES_SEED";
/// How often the power is cut in each of these, always at another moment.
const CUTS: u64 = 10;

/// Notes on the disk what happened.
fn note(place: &Place, event: Event<'_>) {
    let name = match event {
        Event::Invited(ticket) => {
            fs::write(place.ticket(), ticket).unwrap();
            INVITED
        }
        Event::Sent => SENT,
        Event::Received => RECEIVED,
    };
    fs::write(place.disk().join(name), "").unwrap();
}

#[test]
#[ignore = "runs in a process of its own, which the others watch"]
fn transfers_in_virtual_time() {
    let (Some(folder), Ok(seed)) = (std::env::var_os(PLACE), std::env::var(SEED)) else { return };
    let place = Place { folder: folder.into(), _temporary: None };
    let to = place.disk().join("to");
    transfer(&place, &to, own_address(0), seed.parse().unwrap(), |event| note(&place, event)).unwrap();
}

/// Both ends run as this seed has it, at some moments the power is cut, and both ends go on.
fn try_lives(seed: u64, thread: u64) -> Result<(), String> {
    let place = Place::new();
    let trace = place.watch_test("lives::transfers_in_virtual_time", &seed.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for cut_seed in 0..CUTS {
        let rng = &mut Rng::with_seed(seed.wrapping_mul(CUTS) + cut_seed);
        let ops = rng.usize(..=trace.ops.len());
        let cut = Cut::after(&trace, ops, rng);
        let left = Left::by(&cut, &place, &trace.ops[..ops], &trace.before);
        let result = left.check().and_then(|starts| match starts {
            // A sender would be told that all is there.
            true if left.missing().is_empty() => runtime.block_on(left.restart()),
            true => transfer(&place, &left.to(), own_address(thread + 1), rng.u64(..), |_| {}).map(drop),
            false => Ok(()),
        });
        if let Err(why) = result.and_then(|()| left.check_end()) {
            panic!("{why}\nafter this, seed {seed}, cut {cut_seed}:\n{cut}");
        }
    }
    Ok(())
}

/// All but the order in which tokio asks the branches of a `select!`.
#[test]
fn a_seed_decides_nearly_all() {
    const SEEDS: u64 = 20;
    let place = Place::new();
    let runs = |seed| {
        let run = || {
            let to = place.disk().join("to");
            let mut events = transfer(&place, &to, own_address(0), seed, |_| {}).unwrap();
            fs::remove_dir_all(to).unwrap();
            // The last one is of all packets.
            events.pop()
        };
        (run(), run())
    };
    let same = (0..SEEDS).filter(|&seed| matches!(runs(seed), (first, second) if first == second)).count() as u64;
    assert!(same >= SEEDS * 3 / 4, "{same} of {SEEDS} seeds led to the same packets twice");
}

#[test]
fn both_ends_in_virtual_time() {
    let lives: u64 = std::env::var(LIVES).map_or(1000, |lives| lives.parse().expect("a number of lives"));
    let next = AtomicU64::new(std::env::var(FIRST).map_or(0, |seed| seed.parse().expect("a seed")));
    let end = next.load(Ordering::Relaxed) + lives.div_ceil(CUTS);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let next = &next;
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    if let Err(why) = try_lives(seed, thread) {
                        return skipped(&why);
                    }
                }
            });
        }
    });
    println!("{lives} lives");
}
