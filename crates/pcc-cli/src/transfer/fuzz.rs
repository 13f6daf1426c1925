//! Whatever bytes come from the network or lie on the disk, they are taken, or refused with an error.
//!
//! Each test runs what `__fuzz__` beside this file has for it, and some random bytes. A fuzzer that watches which code is
//! reached finds more; CONTRIBUTING.md says how to run it.

use super::bitmap::Bitmap;
use super::blocks::{self, BLOCK};
use super::journal::Journal;
use super::manifest::{Entry, Manifest, Mtime, What};
use super::protocol::{Answer, Hello, RECORD_LEN, Record};
use super::rules::Rules;
use super::staging::{Holder, Staging};
use super::store::{Admitted, Store};
use super::tests::RULES;
use crate::peer::credentials::SenderId;
use crate::peer::ticket::{MAX_ADDRESSES, PREFIX, Ticket};
use bolero::check;
use data_encoding::BASE32_NOPAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::{Path, PathBuf};

#[test]
fn tickets() {
    check!().for_each(|bytes: &[u8]| {
        // As it is, and with what a ticket needs around it.
        let _ = String::from_utf8_lossy(bytes).parse::<Ticket>();
        let content = [bytes, &blake3::hash(bytes).as_bytes()[..4]].concat();
        if let Ok(ticket) = format!("{PREFIX}{}", BASE32_NOPAD.encode(&content)).parse::<Ticket>() {
            assert!((1..=MAX_ADDRESSES).contains(&ticket.addresses.len()));
            assert_eq!(ticket.to_string().parse::<Ticket>().unwrap(), ticket);
        }
    });
}

#[test]
fn lists_of_files() {
    check!().for_each(|bytes: &[u8]| {
        let Ok(manifest) = Manifest::decode(bytes) else { return };
        let again = Manifest::decode(&manifest.encode().unwrap()).unwrap();
        assert_eq!(manifest.entries, again.entries);
        let mut next = 0;
        for (file, entry) in (0u32..).zip(&manifest.entries) {
            let path = Path::new(std::str::from_utf8(&entry.path).unwrap_or("not UTF-8"));
            assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))), "{path:?}");
            assert!(!entry.path.contains(&0) && entry.staged_name().len() == 32);
            assert!(!entry.shown().contains(char::is_control), "{:?}", entry.shown());
            let count = blocks::count(entry.size());
            assert_eq!(manifest.block_id(file, 0), (count > 0).then_some(next));
            assert_eq!(manifest.block_id(file, count), None);
            next += count;
        }
        assert_eq!(manifest.blocks, next);
    });
}

/// What was read can be written and is then read as the same.
fn same_again<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let message: T = postcard::from_bytes(bytes).ok()?;
    let written = postcard::to_stdvec(&message).unwrap();
    let again: T = postcard::from_bytes(&written).unwrap();
    assert_eq!(postcard::to_stdvec(&again).unwrap(), written);
    Some(message)
}

#[test]
fn messages() {
    check!().for_each(|bytes: &[u8]| {
        same_again::<Hello>(bytes);
        if let Some(Answer::Have { blocks, files, .. }) = same_again(bytes) {
            for runs in [blocks, files] {
                if let Some(bits) = Bitmap::from_runs(10_000, &runs) {
                    let count = |runs: &[(u64, u64)]| runs.iter().map(|(_, count)| count).sum::<u64>();
                    assert_eq!(count(&bits.runs()), count(&runs));
                }
            }
        }
        if let Some(bytes) = bytes.first_chunk::<RECORD_LEN>() {
            let record = Record::decode(bytes);
            assert_eq!(Record::decode(&record.encode()), record);
        }
    });
}

/// A folder in memory where there is one: no disk is needed.
fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.exists() { memory.to_owned() } else { std::env::temp_dir() }
}

#[test]
fn journals() {
    check!().for_each(|bytes: &[u8]| {
        let mut file = tempfile::NamedTempFile::new_in(memory()).unwrap();
        file.write_all(bytes).unwrap();
        let appended = std::fs::File::options().read(true).append(true).open(file.path()).unwrap();
        let mut journal = Journal::new(appended, "a test".to_owned());
        let records = |journal: &mut Journal| {
            let mut records = Vec::new();
            let keep = |record| {
                records.push(record);
                Ok(())
            };
            journal.read(keep).unwrap();
            records
        };
        let before = records(&mut journal);
        let more = Record::Block { file: 1, block: 2, hash: [3; 32] };
        journal.append(more).unwrap();
        assert_eq!(records(&mut journal), [before, vec![more]].concat(), "what is added is read, whatever was there");
    });
}

const NOW: Mtime = Mtime { secs: 1_700_000_000, nanos: 5 };
/// An empty one, one of one block, two of several.
const SIZES: [u64; 4] = [0, 100, BLOCK + 1, 2 * BLOCK];

fn list() -> Vec<u8> {
    let dir = Entry { path: b"d".into(), what: What::Dir { mode: 0o755, mtime: NOW } };
    let file = |(n, size): (usize, &u64)| Entry {
        path: format!("d/{n}").into_bytes(),
        what: What::File { size: *size, mode: 0o644, mtime: NOW },
    };
    let files = SIZES.iter().enumerate().map(file);
    Manifest::new([dir].into_iter().chain(files).collect()).unwrap().encode().unwrap()
}

/// What is there before: nothing of the first, one version of the second, both in the third, one in the fourth.
fn fill(dir: &Path) {
    std::fs::create_dir(dir.join("d")).unwrap();
    std::fs::write(dir.join("d/1"), vec![1; SIZES[1] as usize]).unwrap();
    let mut both = vec![0; SIZES[2] as usize];
    both[BLOCK as usize..].fill(1);
    std::fs::write(dir.join("d/2"), both).unwrap();
    std::fs::write(dir.join("d/3"), vec![0; SIZES[3] as usize]).unwrap();
}

/// Does what three bytes say: what a sender may do.
fn step(store: &mut Store, [what, file, block]: [u8; 3]) {
    let (file, block) = (u32::from(file % 6), u32::from(block % 3));
    let size = store.manifest.entries.get(file as usize).map_or(0, Entry::size);
    let len = if u64::from(block) < blocks::count(size) { blocks::length(size, block.into()) } else { 5 };
    // One version of the file, and another.
    let data = vec![what & 1; len];
    let hash = blocks::hash(size, block.into(), &data);
    let root = || *blake3::hash(&vec![what & 1; size as usize]).as_bytes();
    let _ = match what / 2 % 8 {
        0 => store.put_block(file, block, hash, &data),
        1 => store.put_hole(file, block, hash),
        2 => store.put_root(file, root()),
        3 => store.give_up(file),
        4 => {
            store.hope_again();
            Ok(())
        }
        5 => store.put_copy(file, block, hash),
        6 => store.put_same(file, root()),
        _ => store.put_block(file, block, [what; 32], &data),
    };
}

#[test]
fn what_senders_do() {
    check!().with_iterations(100).for_each(|bytes: &[u8]| {
        let dir = tempfile::tempdir_in(memory()).unwrap();
        fill(dir.path());
        let rules = Rules { overwrite: true, sync: true, checksum: true, ..RULES };
        let (encoded, staging) = (list(), Staging::open(dir.path()).unwrap());
        let transfer = Manifest::decode(&encoded).unwrap().transfer();
        let holder = Holder { sender: SenderId([1; 32]), transfer };
        let admitted = Admitted::bind(&staging, holder, &encoded, rules).unwrap();
        let mut store = Store::new(staging, admitted);
        store.take_what_is_there(true, |_, _| {});
        for bytes in bytes.as_chunks::<3>().0.iter().take(100) {
            if bytes[0] > 250 {
                store = Store::resume(store.into_staging(), &encoded, |_, _| {}).unwrap();
                store.take_what_is_there(true, |_, _| {});
            } else {
                step(&mut store, *bytes);
                store.complete_last(rules);
            }
            check_store(&store);
        }
        if store.is_complete() {
            store.commit(rules).unwrap();
            for (n, size) in SIZES.iter().enumerate().filter(|&(n, _)| !given_up(&store, n as u64 + 1)) {
                let there = std::fs::read(dir.path().join(format!("d/{n}"))).unwrap();
                assert_eq!(there.len() as u64, *size);
                assert!(there.windows(2).all(|pair| pair[0] == pair[1]), "two versions in one file");
            }
        }
    });
}

fn given_up(store: &Store, file: u64) -> bool {
    store.missing_runs().iter().any(|(first, count)| (*first..first + count).contains(&file))
}

/// What is counted is what is there.
fn check_store(store: &Store) {
    let files = 0..store.manifest.entries.len() as u32;
    let counted = |file: u32| match given_up(store, file.into()) {
        true => store.manifest.entries[file as usize].size(),
        false => store.stored_of(file),
    };
    assert_eq!(store.stored(), files.map(counted).sum::<u64>());
    let finished: u64 = store.finished_runs().iter().map(|(_, count)| count).sum();
    // Of which nothing can be missing.
    let empty = store.manifest.entries.iter().filter(|entry| entry.is_file() && entry.size() == 0).count() as u64;
    let missing = store.manifest.entries.len() as u64 - finished - empty;
    assert_eq!(store.is_complete(), missing == store.missing().count() as u64);
}
