use super::*;
use crate::failure::Kind;
use crate::peer::credentials::SenderId;
use crate::transfer::blocks::{self, BLOCK};
use crate::transfer::manifest::{Entry, Mtime, What};
use crate::transfer::staging::Staging;
use crate::transfer::store::Admitted;
use crate::transfer::tests::RULES;
use std::path::Path;
use std::time::Duration;

/// A folder with files of these names, sizes and times.
fn list(files: &[(&str, u64, i64)]) -> (Holder, Vec<u8>) {
    let mtime = Mtime { secs: 0, nanos: 0 };
    let mut entries = vec![Entry { path: b"d".to_vec(), what: What::Dir { mode: 0o755, mtime } }];
    entries.extend(files.iter().map(|(name, size, secs)| Entry {
        path: format!("d/{name}").into_bytes(),
        what: What::File { size: *size, mode: 0o644, mtime: Mtime { secs: *secs, nanos: 0 } },
    }));
    let manifest = Manifest::new(entries).unwrap();
    (Holder { sender: SenderId([1; 32]), transfer: manifest.transfer() }, manifest.encode().unwrap())
}

fn bind(path: &Path, (holder, encoded): &(Holder, Vec<u8>)) -> Store {
    let staging = Staging::open(path).unwrap();
    let admitted = Admitted::bind(&staging, *holder, encoded, RULES).unwrap();
    Store::new(staging, admitted)
}

fn resume(path: &Path) -> Store {
    let staging = Staging::open(path).unwrap();
    let encoded = staging.bound().unwrap().unwrap().manifest;
    Store::resume(staging, &encoded, |_, _| {}).unwrap()
}

fn data(size: u64, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

fn put(store: &mut Store, file: u32, block: u32, whole: &[u8]) {
    let (size, at) = (whole.len() as u64, block as usize * BLOCK as usize);
    let part = &whole[at..at + blocks::length(size, block.into())];
    store.put_block(file, block, blocks::hash(size, block.into(), part), part).unwrap();
}

fn staged(store: &Store) -> usize {
    std::fs::read_dir(Path::new(&store.staging.shown()).join("data")).unwrap().count()
}

#[test]
fn what_both_lists_have_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (half, whole, log) = (data(2 * BLOCK, 1), data(10, 2), data(BLOCK + 5, 3));
    let old = list(&[("gone", 7, 1), ("half", 2 * BLOCK, 1), ("log", BLOCK + 5, 1), ("whole", 10, 1)]);
    // What stood behind a file that is gone stands somewhere else now.
    let new = list(&[("half", 2 * BLOCK, 1), ("log", BLOCK + 9, 2), ("new", 3, 1), ("whole", 10, 1)]);
    for restarts in [false, true] {
        let to = dir.path().join(restarts.to_string());
        let mut store = bind(&to, &old);
        put(&mut store, 1, 0, &data(7, 4));
        put(&mut store, 2, 1, &half);
        put(&mut store, 3, 0, &log);
        put(&mut store, 4, 0, &whole);
        if restarts {
            drop(store);
            store = resume(&to);
        }
        store.rebind(new.0, &new.1, RULES).unwrap();
        assert_eq!(store.stored(), BLOCK + 10);
        assert_eq!(staged(&store), 2, "the old versions take no room");
        if restarts {
            drop(store);
            store = resume(&to);
        }
        assert_eq!((store.block_runs(), store.finished_runs()), (vec![(1, 1), (5, 1)], vec![(0, 1), (4, 1)]));
        put(&mut store, 1, 0, &half);
        store.put_root(1, *blake3::hash(&half).as_bytes()).unwrap();
        let newer = data(BLOCK + 9, 5);
        (0..2).for_each(|block| put(&mut store, 2, block, &newer));
        store.put_root(2, *blake3::hash(&newer).as_bytes()).unwrap();
        put(&mut store, 3, 0, b"new");
        assert!(store.is_complete());
        store.commit(RULES).unwrap();
        for (name, content) in [("half", &half), ("log", &newer), ("new", &b"new".to_vec()), ("whole", &whole)] {
            assert_eq!(&std::fs::read(to.join("d").join(name)).unwrap(), content, "{name}");
        }
        assert_eq!(std::fs::read_dir(to.join("d")).unwrap().count(), 4);
    }
}

#[test]
fn a_list_that_may_not_be_received_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let old = list(&[("a", 10, 1), ("b", 10, 1)]);
    let mut store = bind(dir.path(), &old);
    put(&mut store, 1, 0, &data(10, 1));
    std::fs::create_dir(dir.path().join("d")).unwrap();
    std::fs::write(dir.path().join("d/c"), "mine").unwrap();
    let in_the_way = list(&[("a", 10, 1), ("c", 10, 1)]);
    assert_eq!(store.rebind(in_the_way.0, &in_the_way.1, RULES).unwrap_err().kind, Kind::Exists);
    drop(store);
    let mut store = resume(dir.path());
    assert_eq!((store.stored(), &*store.manifest.encode().unwrap()), (10, &old.1[..]));
    put(&mut store, 2, 0, &data(10, 1));
    assert!(store.is_complete());
}

#[test]
fn what_is_given_up_does_not_arrive_and_is_known_after_a_cut() {
    let dir = tempfile::tempdir().unwrap();
    let list = list(&[("a", 10, 1), ("log", 2 * BLOCK, 1)]);
    let mut store = bind(dir.path(), &list);
    assert_eq!(store.give_up(0).unwrap_err().kind, Kind::Corrupt, "a folder");
    assert_eq!(store.give_up(9).unwrap_err().kind, Kind::Corrupt);
    let log = data(2 * BLOCK, 1);
    put(&mut store, 2, 0, &log);
    store.give_up(2).unwrap();
    assert_eq!(store.stored(), 2 * BLOCK);
    // Blocks may overtake each other.
    put(&mut store, 2, 1, &log);
    // Another session starts anew.
    store.hope_again();
    assert_eq!(store.stored(), 2 * BLOCK);
    assert!(!store.is_complete());
    store.give_up(2).unwrap();
    put(&mut store, 1, 0, &data(10, 1));
    assert!(store.is_complete());
    store.commit(RULES).unwrap();
    assert!(dir.path().join("d/a").exists() && !dir.path().join("d/log").exists());
    drop(store);
    let mut store = resume(dir.path());
    assert!(store.is_committed() && store.is_complete());
    store.hope_again();
    assert_eq!(store.missing_runs(), [(2, 1)]);
    assert_eq!(store.missing().map(|(entry, _)| entry.shown()).collect::<Vec<_>>(), ["d/log"]);
}

#[test]
fn what_is_in_its_place_stays_there() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, size) = (data(BLOCK + 3, 1), BLOCK + 3);
    std::fs::create_dir(dir.path().join("d")).unwrap();
    let place = |name: &str, secs: u64| {
        let path = dir.path().join("d").join(name);
        std::fs::write(&path, &whole).unwrap();
        let time = std::time::UNIX_EPOCH + Duration::from_secs(secs);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    place("same", 1);
    place("older", 1);
    let rules = Rules { overwrite: true, sync: true, ..RULES };
    let (old, new) = (list(&[("same", size, 1)]), list(&[("older", size, 2), ("same", size, 1)]));
    let staging = Staging::open(dir.path()).unwrap();
    let admitted = Admitted::bind(&staging, old.0, &old.1, rules).unwrap();
    let mut store = Store::new(staging, admitted);
    store.take_what_is_there(false, |_, _| {});
    assert!(store.is_complete());
    store.rebind(new.0, &new.1, rules).unwrap();
    store.take_what_is_there(false, |_, _| {});
    assert_eq!((store.stored(), store.finished_runs()), (size, vec![(0, 1), (2, 1)]));
    let newer = data(size, 2);
    (0..2).for_each(|block| put(&mut store, 1, block, &newer));
    store.put_root(1, *blake3::hash(&newer).as_bytes()).unwrap();
    place("same", 3);
    assert_eq!(store.commit(rules).unwrap_err().kind, Kind::Exists, "what was relied on is not there");
    place("same", 1);
    store.commit(rules).unwrap();
    assert!(std::fs::read(dir.path().join("d/older")).unwrap() == newer);
    assert!(std::fs::read(dir.path().join("d/same")).unwrap() == whole);
}

#[test]
fn what_may_stay_needs_no_room() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("d")).unwrap();
    // Larger than any disk here.
    let (large, size) = (dir.path().join("d/large"), 1 << 43);
    if let Err(e) = std::fs::File::create(&large).and_then(|file| file.set_len(size)) {
        return println!("skipped: no large sparse file here: {e}");
    }
    let rules = Rules { overwrite: true, sync: true, checksum: true, ..RULES };
    let (old, new) = (list(&[("large", size, 1)]), list(&[("large", size, 1), ("more", 5, 1)]));
    let staging = Staging::open(dir.path()).unwrap();
    let admitted = Admitted::bind(&staging, old.0, &old.1, rules).unwrap();
    let mut store = Store::new(staging, admitted);
    store.rebind(new.0, &new.1, rules).unwrap();
    std::fs::remove_file(large).unwrap();
    assert_eq!(store.rebind(old.0, &old.1, rules).unwrap_err().kind, Kind::DiskFull);
}
