//! Both ends live through kills, lost packets and cuts of the power, in virtual time: a transfer as a seed has it runs in a
//! process that is watched; then come cuts at moments of it, and after each both ends once more.

use super::both_ends::{Event, Plan, transfer};
use super::cut::Cut;
use super::disk::Op;
use super::restart::{Left, sent_in};
use super::{INVITED, PLACE, Place, RECEIVED, SEED, SENT, number, on_all_cores, own_address, skipped};
use crate::transfer::manifest::STAGING_PREFIX;
use fastrand::Rng;
use std::fs;

/// How many lives are tried in all, if that is to be more than by default, and from which seed on.
const LIVES: &str = "PCC_LIVES";
const FIRST: &str = "PCC_LIVES_SEED";
/// Of the addresses of this process, one for who is not watched.
const UNWATCHED: u64 = 100;
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
    let place = Place::at(folder.into());
    let plan = Plan::drawn(seed.parse().unwrap());
    transfer(&place, &place.to(), own_address(0), plan, |event| note(&place, event)).unwrap();
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
            true => transfer(&place, &left.to(), own_address(thread + 1), Plan::drawn(rng.u64(..)), |_| {}).map(drop),
            false => Ok(()),
        });
        if let Err(why) = result.and_then(|()| left.check_end()) {
            panic!("{why}\nafter this, seed {seed}, cut {cut_seed}:\n{cut}");
        }
    }
    Ok(())
}

#[test]
fn both_ends_in_virtual_time() {
    let first: u64 = std::env::var(FIRST).map_or(0, |seed| seed.parse().expect("a seed"));
    let lives = number(LIVES).unwrap_or(10_000);
    match on_all_cores(first..first + lives.div_ceil(CUTS), |thread, seed| try_lives(seed, thread)) {
        Ok(()) => println!("{lives} lives"),
        Err(why) => skipped(&why),
    }
}

/// Whatever has a value of its own in each run, such as keys, ports and names of temporary folders, decides nothing, but for what
/// `simulation` names, which comes up in few seeds.
#[test]
fn a_seed_decides_nearly_all() {
    let course = |seed| {
        let place = Place::new();
        let course = transfer(&place, &place.to(), own_address(UNWATCHED), Plan::drawn(seed), |_| {}).unwrap();
        (course, sent_in(&place.to()))
    };
    let took_two: Vec<u64> = (0..50).filter(|&seed| course(seed) != course(seed)).collect();
    assert!(took_two.len() <= 3, "seeds {took_two:?} took two courses");
}

/// An operation; the staging folder without the part of its name that is made from the secret.
fn shown(op: &Op) -> String {
    const RANDOM: usize = 12;
    let op = format!("{op:?}");
    match op.split_once(STAGING_PREFIX) {
        Some((before, name)) => format!("{before}{STAGING_PREFIX}{}", &name[RANDOM..]),
        None => op,
    }
}

/// The same of every operation on the disk.
#[test]
fn a_seed_decides_what_is_done_to_the_disk() {
    let ops = |seed: u64| {
        let trace = Place::new().watch_test("lives::transfers_in_virtual_time", &seed.to_string())?;
        Ok::<_, String>(trace.ops.iter().map(shown).collect::<Vec<_>>())
    };
    for seed in 0..5 {
        match (ops(seed), ops(seed)) {
            (Ok(first), Ok(second)) => assert_eq!(first, second, "seed {seed}"),
            (Err(why), _) | (_, Err(why)) => return skipped(&why),
        }
    }
}
