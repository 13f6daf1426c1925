use super::*;
use crate::peer::credentials::SenderId;
use crate::transfer::manifest::{Entry, Manifest, Mtime, What};
use crate::transfer::rules::Rules;
use crate::transfer::staging::{Holder, Staging};
use crate::transfer::store::Admitted;
use crate::transfer::tests::RULES;
use blocks::BLOCK;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

const NOW: Mtime = Mtime { secs: 1_700_000_000, nanos: 5 };
const CHECKSUM: Rules = Rules { overwrite: true, sync: true, checksum: true, ..RULES };

/// A store for a file `f` of this size, after a look at what is there.
fn store(path: &Path, size: u64) -> Store {
    let what = What::File { size, mode: 0o644, mtime: NOW };
    let mut store = bind(path, Manifest::new(vec![Entry { path: b"f".to_vec(), what }]).unwrap(), CHECKSUM);
    store.take_what_is_there(true, |_, _| {});
    store
}

fn bind(path: &Path, manifest: Manifest, rules: Rules) -> Store {
    let holder = Holder { sender: SenderId([1; 32]), transfer: manifest.transfer() };
    let staging = Staging::open(path).unwrap();
    let admitted = Admitted::bind(&staging, holder, &manifest.encode().unwrap(), rules).unwrap();
    Store::new(staging, admitted)
}

fn data(size: u64) -> Vec<u8> {
    (0..size).map(|n| (n % 251) as u8).collect()
}

#[test]
fn what_stays_gets_the_permissions_of_the_sender() {
    let modes = |rules: Rules| {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join("d"), dir.path().join("d/f"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, data(500)).unwrap();
        let then = UNIX_EPOCH + Duration::new(NOW.secs as u64, NOW.nanos);
        fs::File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
        for (path, mode) in [(&folder, 0o755), (&file, 0o644)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let entries = vec![
            Entry { path: b"d".to_vec(), what: What::Dir { mode: 0o700, mtime: NOW } },
            Entry { path: b"d/f".to_vec(), what: What::File { size: 500, mode: 0o500, mtime: NOW } },
        ];
        let mut store = bind(dir.path(), Manifest::new(entries).unwrap(), rules);
        store.take_what_is_there(rules.checksum, |_, _| {});
        if rules.checksum {
            store.put_same(1, *blake3::hash(&data(500)).as_bytes()).unwrap();
        }
        assert!(store.is_complete());
        store.commit(rules).unwrap();
        assert_eq!(folder.metadata().unwrap().modified().unwrap(), then);
        [folder, file].map(|path| path.metadata().unwrap().permissions().mode() & 0o777)
    };
    let by_time = Rules { checksum: false, ..CHECKSUM };
    for rules in [CHECKSUM, by_time] {
        assert_eq!(modes(rules), [0o700, 0o500]);
        assert_eq!(modes(Rules { permissions: false, ..rules }), [0o755, 0o644]);
    }
}

#[test]
fn a_sender_cannot_claim_what_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let (size, there) = (2 * BLOCK + 9, dir.path().join("f"));
    fs::write(&there, data(size)).unwrap();
    let mut store = store(dir.path(), size);
    let offers = store.offers();
    assert_eq!(offers.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [0, 1, 2]);
    let root = *blake3::hash(&data(size)).as_bytes();
    let refused = |done: Result<()>| assert_eq!(done.unwrap_err().kind, Kind::Corrupt);
    refused(store.put_same(0, [1; 32]));
    refused(store.put_same(1, root));
    refused(store.put_copy(0, 0, offers[1].1));
    refused(store.put_copy(0, 3, offers[0].1));
    refused(store.put_copy(7, 0, offers[0].1));
    assert_eq!((store.stored(), store.is_complete()), (0, false));
    store.put_copy(0, 1, offers[1].1).unwrap();
    store.put_same(0, root).unwrap();
    assert_eq!((store.stored(), store.moved(), store.is_complete()), (size, 0, true));
    store.commit(CHECKSUM).unwrap();
    assert!(fs::read(&there).unwrap() == data(size), "a part that was copied before does not replace it");
    assert_eq!(there.metadata().unwrap().modified().unwrap(), UNIX_EPOCH + Duration::new(NOW.secs as u64, NOW.nanos));
}

#[test]
fn what_changes_after_it_was_hashed_is_not_relied_on() {
    let dir = tempfile::tempdir().unwrap();
    let (size, there) = (2 * BLOCK, dir.path().join("f"));
    fs::write(&there, data(size)).unwrap();
    let mut store = store(dir.path(), size);
    let offers = store.offers();
    fs::write(&there, data(size)).unwrap();
    assert_eq!(store.put_copy(0, 0, offers[0].1).unwrap_err().kind, Kind::Exists);
    store.put_same(0, *blake3::hash(&data(size)).as_bytes()).unwrap();
    assert_eq!(store.commit(CHECKSUM).unwrap_err().kind, Kind::Exists);
}

#[test]
fn only_files_are_compared() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("f"), data(500)).unwrap();
    symlink(outside.path().join("f"), dir.path().join("f")).unwrap();
    assert!(store(dir.path(), 500).offers().is_empty());
}

#[test]
fn a_file_of_another_length_is_never_the_same() {
    for (here, comes, offered) in
        [(BLOCK, BLOCK + 1, 0), (3 * BLOCK, 2 * BLOCK, 1), (2 * BLOCK, 3 * BLOCK, 1), (0, 5, 0), (9 * BLOCK, 5, 0)]
    {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), data(here)).unwrap();
        let mut store = store(dir.path(), comes);
        assert_eq!(store.offers().len(), offered, "{here} and {comes}");
        let root = *blake3::hash(&data(comes)).as_bytes();
        assert_eq!(store.put_same(0, root).unwrap_err().kind, Kind::Corrupt);
    }
}

#[test]
fn an_unfinished_file_does_not_replace_one_that_appeared() {
    let dir = tempfile::tempdir().unwrap();
    let (size, there) = (2 * BLOCK, dir.path().join("f"));
    let mut store = store(dir.path(), size);
    let first = vec![9; BLOCK as usize];
    store.put_block(0, 0, blocks::hash(size, 0, &first), &first).unwrap();
    fs::write(&there, data(size)).unwrap();
    let then = UNIX_EPOCH + Duration::new(NOW.secs as u64, NOW.nanos);
    fs::File::options().write(true).open(&there).unwrap().set_modified(then).unwrap();
    store.take_what_is_there(false, |_, _| {});
    assert!(store.is_complete());
    store.commit(CHECKSUM).unwrap();
    assert!(fs::read(&there).unwrap() == data(size));
}
