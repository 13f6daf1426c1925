//! Keys that others know this side by: once one is used, for a ticket say, no cut leaves another one or none.

use super::cut::Cut;
use super::{INVITED, PLACE, Place, SEED, STATES, TRANSFERS, number, on_all_cores, said, skipped, temporary};
use crate::failure::Result;
use crate::peer::identity::Identity;
use crate::peer::keeper::{Receiver, receiver};
use fastrand::Rng;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Where it is kept on the disk, in folders that are not there yet.
const KEY: &str = "config/pcc/receiver";

/// Who came before the process that is watched.
const NOBODY: &str = "nobody";
const KILLED: &str = "one that was killed as soon as the key had its name";

/// What `pcc recv --keep` does at its start.
fn find_or_make(key: &Path) -> Result<Receiver> {
    receiver(Some(key), || Ok(Receiver { identity: Identity::generate()?, port: 4433 }))
}

/// Leaves a key whose name nobody has synced.
fn leave(key: &Path, bytes: &[u8]) {
    let new = key.with_extension("new");
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).unwrap();
    file.write_all(bytes).and_then(|()| file.sync_all()).unwrap();
    fs::hard_link(&new, key).unwrap();
}

#[test]
#[ignore = "runs in a process of its own, which the others watch"]
fn uses_a_key() {
    let (Some(folder), Ok(before)) = (std::env::var_os(PLACE), std::env::var(SEED)) else { return };
    let place = Place::at(folder.into());
    let key = place.disk().join(KEY);
    if before == KILLED {
        let elsewhere = place.folder.join("elsewhere");
        find_or_make(&elsewhere).unwrap();
        leave(&key, &fs::read(elsewhere).unwrap());
    }
    fs::write(place.ticket(), find_or_make(&key).unwrap().identity.secret).unwrap();
    fs::write(place.disk().join(INVITED), "").unwrap();
}

/// Cuts the power at each moment while a key is made or found, and looks for it at the next start.
fn try_cuts(before: &str) {
    let place = Place::new();
    let trace = match place.watch_test("keys::uses_a_key", before) {
        Ok(trace) => trace,
        Err(why) => return skipped(&why),
    };
    let used = fs::read(place.ticket()).unwrap();
    let states = number(STATES).unwrap_or(1000).div_ceil(TRANSFERS);
    let tried = on_all_cores(0..states, |_, seed| {
        let ops = seed as usize % (trace.ops.len() + 1);
        let cut = Cut::after(&trace, ops, &mut Rng::with_seed(seed));
        let left = temporary();
        cut.disk.store(left.path());
        let result = match find_or_make(&left.path().join(KEY)) {
            Ok(found) if found.identity.secret[..] != used && said(&trace.ops[..ops], INVITED) => {
                Err("the key that was used is gone".to_owned())
            }
            Ok(_) => Ok(()),
            Err(failure) => Err(format!("the next start failed: {failure}")),
        };
        result.map_err(|why| format!("{why}\nafter this, state {seed}:\n{cut}"))
    });
    tried.unwrap_or_else(|why| panic!("{why}"));
    println!("{states} states of {} operations", trace.ops.len());
}

#[test]
fn a_key_that_is_made() {
    try_cuts(NOBODY);
}

#[test]
fn a_key_that_is_found() {
    try_cuts(KILLED);
}
