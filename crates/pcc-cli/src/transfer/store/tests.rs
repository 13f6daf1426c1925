use super::*;
use crate::peer::credentials::SenderId;
use crate::transfer::blocks::BLOCK;
use crate::transfer::commit;
use crate::transfer::disk::{Disk, RealDisk};
use crate::transfer::manifest::{Mtime, What};
use crate::transfer::tests::RULES;
use cap_std::fs::Dir;
use std::os::fd::BorrowedFd;

const NOW: Mtime = Mtime { secs: 1_700_000_000, nanos: 5 };

/// Whoever sends this.
fn holder(encoded: &[u8]) -> Holder {
    Holder { sender: SenderId([1; 32]), transfer: Manifest::decode(encoded).unwrap().transfer() }
}

/// Where the data of a file is until it has its name.
fn staged(store: &Store, file: usize) -> std::path::PathBuf {
    let name = store.manifest.entries[file].staged_name();
    std::path::Path::new(&store.staging.shown()).join("data").join(name)
}

fn data(size: u64) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    fastrand::Rng::with_seed(size).fill(&mut bytes);
    bytes
}

fn encoded(sizes: &[u64]) -> Vec<u8> {
    let file = |(n, size): (usize, &u64)| Entry {
        path: format!("f{n}").into_bytes(),
        what: What::File { size: *size, mode: 0o644, mtime: NOW },
    };
    Manifest::new(sizes.iter().enumerate().map(file).collect()).unwrap().encode().unwrap()
}

fn bind(path: &std::path::Path, encoded: &[u8]) -> Store {
    let staging = Staging::open(path).unwrap();
    let admitted = Admitted::bind(&staging, holder(encoded), encoded, RULES).unwrap();
    Store::new(staging, admitted)
}

fn resume(path: &std::path::Path) -> Store {
    let staging = Staging::open(path).unwrap();
    let encoded = staging.bound().unwrap().unwrap().manifest;
    Store::resume(staging, &encoded, |_, _| {}).unwrap()
}

fn put(store: &mut Store, file: u32, block: u32, whole: &[u8]) -> Result<()> {
    let (size, at) = (whole.len() as u64, block as usize * BLOCK as usize);
    let part = &whole[at..at + blocks::length(size, block.into())];
    store.put_block(file, block, blocks::hash(size, block.into(), part), part)
}

fn root(whole: &[u8]) -> [u8; 32] {
    *blake3::hash(whole).as_bytes()
}

#[test]
fn a_cut_journal_loses_only_its_last_line() {
    let dir = tempfile::tempdir().unwrap();
    let whole = data(5 * BLOCK + 7);
    let mut store = bind(dir.path(), &encoded(&[whole.len() as u64, 0]));
    for block in [4, 0, 3] {
        put(&mut store, 0, block, &whole).unwrap();
    }
    let journal =
        std::path::Path::new(&store.staging.shown()).join(format!("journal-{}", &store.manifest_hash.to_hex()[..32]));
    drop(store);
    let journal = std::fs::File::options().write(true).open(journal).unwrap();
    journal.set_len(journal.metadata().unwrap().len() - 1).unwrap();

    let mut store = resume(dir.path());
    assert_eq!(store.block_runs(), [(0, 1), (4, 1)]);
    assert!(store.finished_runs().is_empty(), "the empty file was not here before: {:?}", store.finished_runs());
    assert_eq!(store.stored(), 2 * BLOCK);
    for block in [1, 2, 3, 5] {
        put(&mut store, 0, block, &whole).unwrap();
    }
    assert!(!store.is_complete(), "the hash of the whole file is missing");
    drop(store);

    let mut store = resume(dir.path());
    assert_eq!(store.stored(), whole.len() as u64);
    store.put_root(0, root(&whole)).unwrap();
    assert!(store.is_complete());
    store.commit(RULES).unwrap();
    store.into_staging().remove().unwrap();
    assert_eq!(std::fs::read(dir.path().join("f0")).unwrap(), whole);
    assert_eq!(std::fs::read(dir.path().join("f1")).unwrap(), b"");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_damaged_journal_without_a_list_is_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let whole = data(100);
    let list = encoded(&[100]);
    let staging = Staging::open(dir.path()).unwrap();
    let shown = std::path::PathBuf::from(staging.shown());
    // What a loss of power may leave of the first session.
    std::fs::write(shown.join(format!("journal-{}", &blake3::hash(&list).to_hex()[..32])), [0; 60]).unwrap();
    drop(staging);

    let mut store = bind(dir.path(), &list);
    put(&mut store, 0, 0, &whole).unwrap();
    store.commit(RULES).unwrap();
    drop(store);
    assert!(resume(dir.path()).is_committed());
}

#[test]
fn whatever_does_not_match_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let whole = data(2 * BLOCK);
    let mut store = bind(dir.path(), &encoded(&[whole.len() as u64, 10]));
    let half = &whole[..BLOCK as usize];
    let hash = blocks::hash(2 * BLOCK, 0, half);
    for (file, block) in [(0, 1), (0, 2), (1, 0), (2, 0), (0, u32::MAX - 1), (u32::MAX, 0)] {
        assert_eq!(store.put_block(file, block, hash, half).unwrap_err().kind, Kind::Corrupt, "{file} {block}");
    }
    assert_eq!(store.put_root(1, [1; 32]).unwrap_err().kind, Kind::Corrupt);
    assert_eq!(store.put_root(9, [1; 32]).unwrap_err().kind, Kind::Corrupt);
    assert_eq!(store.put_root(0, RESET).unwrap_err().kind, Kind::Corrupt);
    assert_eq!(store.stored(), 0);
    store.put_block(0, 0, hash, half).unwrap();
    store.put_block(0, 0, hash, half).unwrap();
    assert_eq!(store.stored(), BLOCK, "twice counts once");
}

#[test]
fn a_hole_is_verified_and_takes_no_room() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let size = 4 * BLOCK + 9;
    let mut whole = data(size);
    let mut store = bind(dir.path(), &encoded(&[size]));
    // What an earlier attempt left in the place of a hole does not stay.
    std::fs::write(staged(&store, 0), data(3 * BLOCK)).unwrap();
    for (from, len) in [(0, 3 * BLOCK), (4 * BLOCK, 9)] {
        whole[from as usize..(from + len) as usize].fill(0);
    }
    let hash = |block| blocks::hash(size, block, &vec![0; blocks::length(size, block)]);
    assert_eq!(store.put_hole(0, 0, hash(1)).unwrap_err().kind, Kind::Corrupt);
    assert_eq!(store.put_hole(0, 9, hash(0)).unwrap_err().kind, Kind::Corrupt);
    for block in [0, 1, 2, 4] {
        store.put_hole(0, block, hash(block.into())).unwrap();
    }
    drop(store);
    let mut store = resume(dir.path());
    assert_eq!(store.stored(), 3 * BLOCK + 9);
    put(&mut store, 0, 3, &whole).unwrap();
    store.put_root(0, root(&whole)).unwrap();
    store.commit(RULES).unwrap();
    let there = dir.path().join("f0");
    assert!(std::fs::read(&there).unwrap() == whole);
    assert!(there.metadata().unwrap().blocks() * 512 < 2 * BLOCK, "{:?}", there.metadata());
}

#[test]
fn a_mixed_file_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (data(2 * BLOCK), data(2 * BLOCK + 1)[1..].to_vec());
    let mut store = bind(dir.path(), &encoded(&[2 * BLOCK, 3]));
    put(&mut store, 1, 0, &data(3)).unwrap();
    put(&mut store, 0, 0, &old).unwrap();
    put(&mut store, 0, 1, &new).unwrap();
    let failure = store.put_root(0, root(&new)).unwrap_err();
    assert_eq!(failure.kind, Kind::Source);
    assert!(failure.message.contains("\"f0\""), "{failure}");
    assert_eq!(store.stored(), 3);
    drop(store);

    let mut store = resume(dir.path());
    assert_eq!(store.stored(), 3);
    store.put_root(0, root(&new)).unwrap();
    put(&mut store, 0, 0, &new).unwrap();
    put(&mut store, 0, 1, &new).unwrap();
    assert!(store.is_complete());
}

#[test]
fn a_cut_while_names_are_given_can_be_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (data(10), data(20));
    let mut store = bind(dir.path(), &encoded(&[10, 20]));
    put(&mut store, 0, 0, &a).unwrap();
    put(&mut store, 1, 0, &b).unwrap();
    // The second name is taken: the first file has its name by then.
    std::fs::write(dir.path().join("f1"), "mine").unwrap();
    assert_eq!(store.commit(RULES).unwrap_err().kind, Kind::Exists);
    assert!(!store.is_published());
    drop(store);
    assert_eq!(std::fs::read(dir.path().join("f0")).unwrap(), a);
    assert_eq!(std::fs::read(dir.path().join("f1")).unwrap(), b"mine");

    let mut store = resume(dir.path());
    assert!(store.is_complete());
    std::fs::remove_file(dir.path().join("f1")).unwrap();
    store.commit(RULES).unwrap();
    assert!(store.is_published());
    assert_eq!(std::fs::read(dir.path().join("f1")).unwrap(), b);
}

/// What is not here in the end.
fn missing(store: &Store) -> Vec<String> {
    store.missing().map(|(entry, _)| entry.shown()).collect()
}

#[test]
fn what_somebody_removed_is_named_and_the_rest_gets_its_names() {
    for restarts in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = bind(dir.path(), &encoded(&[10, 20, 0, 30, 40]));
        for (file, size) in [(0, 10), (1, 20), (3, 30), (4, 40)] {
            put(&mut store, file, 0, &data(size)).unwrap();
        }
        store.complete_last(RULES);
        if restarts {
            store.seal(&RealDisk, RULES).unwrap();
            // Before the cut these two got their names. Somebody has written to the second since.
            for file in [1, 3] {
                std::fs::rename(staged(&store, file), dir.path().join(format!("f{file}"))).unwrap();
            }
            std::fs::write(dir.path().join("f3"), "changed").unwrap();
            std::fs::remove_file(staged(&store, 2)).unwrap();
        }
        std::fs::remove_file(staged(&store, 4)).unwrap();
        if restarts {
            drop(store);
            store = resume(dir.path());
        }
        store.commit(RULES).unwrap();
        assert!(store.is_published() && store.is_complete());
        let (lacks, runs) = match restarts {
            false => (vec!["f4"], vec![(4, 1)]),
            true => (vec!["f2", "f3", "f4"], vec![(2, 3)]),
        };
        assert_eq!(
            (missing(&store), store.missing_runs()),
            (lacks.iter().map(|name| name.to_string()).collect(), runs)
        );
        assert_eq!(std::fs::read(dir.path().join("f0")).unwrap(), data(10));
        assert_eq!(std::fs::read(dir.path().join("f1")).unwrap(), data(20));
        store.into_staging().remove().unwrap();
        let left = if restarts { 3 } else { 4 };
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), left, "nothing is stuck");
    }
}

#[test]
fn a_removed_folder_is_no_completion() {
    for whole in [false, true] {
        let outer = tempfile::tempdir().unwrap();
        let to = outer.path().join("to");
        let mut store = bind(&to, &encoded(&[10]));
        put(&mut store, 0, 0, &data(10)).unwrap();
        store.complete_last(RULES);
        let removed = if whole { to.clone() } else { store.staging.shown().into() };
        std::fs::remove_dir_all(removed).unwrap();
        let failure = store.commit(RULES).unwrap_err();
        assert!(failure.message.contains("was removed before"), "{failure}");
    }
}

#[test]
fn the_rest_of_a_removed_file_is_not_taken_for_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let whole = data(2 * BLOCK);
    let mut store = bind(dir.path(), &encoded(&[2 * BLOCK, 10]));
    store.put_root(0, root(&whole)).unwrap();
    put(&mut store, 0, 0, &whole).unwrap();
    put(&mut store, 1, 0, &data(10)).unwrap();
    std::fs::remove_file(staged(&store, 0)).unwrap();
    let failure = put(&mut store, 0, 1, &whole).unwrap_err();
    assert!(failure.message.contains("\"f0\" was removed"), "{failure}");
    drop(store);
    let mut store = resume(dir.path());
    assert_eq!(store.stored(), 10);
    for block in [0, 1] {
        put(&mut store, 0, block, &whole).unwrap();
    }
    store.commit(RULES).unwrap();
    assert!(std::fs::read(dir.path().join("f0")).unwrap() == whole);
}

#[test]
fn two_receivers_do_not_share_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let first = Staging::open(dir.path()).unwrap();
    let second = Staging::open(dir.path()).unwrap();
    assert_ne!(first.identity.secret, second.identity.secret);
    let secret = second.identity.secret;
    drop(second);
    assert_eq!(Staging::open(dir.path()).unwrap().identity.secret, secret);
}

#[test]
fn folders_of_others_are_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let planted = Staging::open(dir.path()).unwrap();
    let (secret, path) = (planted.identity.secret, planted.shown());
    drop(planted);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o770)).unwrap();
    let staging = Staging::open(dir.path()).unwrap();
    assert_ne!(staging.identity.secret, secret);
    assert_eq!(staging.skipped.len(), 1);
    assert!(staging.skipped[0].contains(&path), "{:?}", staging.skipped);
}

#[test]
fn a_folder_that_is_half_removed_is_no_obstacle() {
    for gone in ["receiver", "data"] {
        let dir = tempfile::tempdir().unwrap();
        let first = Staging::open(dir.path()).unwrap();
        let gone = std::path::Path::new(&first.shown()).join(gone);
        let secret = first.identity.secret;
        drop(first);
        if gone.is_dir() {
            std::fs::remove_dir(gone).unwrap()
        } else {
            std::fs::remove_file(gone).unwrap()
        }
        assert_ne!(Staging::open(dir.path()).unwrap().identity.secret, secret);
    }
}

#[test]
fn a_second_name_is_not_in_the_way_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = bind(dir.path(), &encoded(&[10]));
    put(&mut store, 0, 0, &data(10)).unwrap();
    let staged = staged(&store, 0);
    std::fs::hard_link(&staged, dir.path().join("f0")).unwrap();
    store.commit(RULES).unwrap();
    assert!(!staged.exists());
    assert_eq!(std::fs::read(dir.path().join("f0")).unwrap(), data(10));
}

#[test]
fn what_is_published_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = bind(dir.path(), &encoded(&[0]));
    store.commit(RULES).unwrap();
    std::fs::remove_file(dir.path().join("f0")).unwrap();
    store.commit(RULES).unwrap();
    assert!(!dir.path().join("f0").exists());
}

/// The disk of this machine, and what it found in the destination whenever it was asked to sync.
#[derive(Default)]
struct Watched(std::cell::RefCell<Vec<String>>);

impl Watched {
    fn note(&self, what: &str, path: &std::path::Path) {
        let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with(".pcc-")).collect();
        names.sort();
        let name = path.file_name().unwrap().to_string_lossy();
        self.0.borrow_mut().push(format!("{what} {name}: {}", names.join(" ")));
    }
}

impl Disk for Watched {
    fn sync_files(&self, folder: &Dir, handle: BorrowedFd<'_>, path: &std::path::Path) -> Result<()> {
        self.note("files", path);
        RealDisk.sync_files(folder, handle, path)
    }

    fn sync_folder(&self, folder: &std::fs::File, path: &std::path::Path) -> Result<()> {
        self.note("folder", path);
        RealDisk.sync_folder(folder, path)
    }
}

fn tree() -> Vec<u8> {
    let dir = |path: &str| Entry { path: path.into(), what: What::Dir { mode: 0o755, mtime: NOW } };
    let file = |path: &str| Entry { path: path.into(), what: What::File { size: 3, mode: 0o644, mtime: NOW } };
    let entries = vec![dir("d"), file("d/a"), dir("d/e"), file("d/e/b"), file("d/e/c"), file("f")];
    Manifest::new(entries).unwrap().encode().unwrap()
}

fn fill(store: &mut Store) {
    for file in [1, 3, 4, 5] {
        put(store, file, 0, b"abc").unwrap();
    }
}

#[test]
fn contents_are_on_disk_before_names_and_each_folder_once_after_them() {
    let outer = tempfile::tempdir().unwrap();
    let to = outer.path().join("to");
    let mut store = bind(&to, &tree());
    fill(&mut store);
    let disk = Watched::default();
    store.commit_on(&disk, RULES).unwrap();
    assert_eq!(disk.0.take(), ["files to: ", "folder e: b c", "folder d: a e", "folder to: d f"]);
    store.commit_on(&disk, RULES).unwrap();
    assert!(disk.0.take().is_empty(), "all is done");
}

#[test]
fn what_a_cut_left_undone_is_made_good() {
    let outer = tempfile::tempdir().unwrap();
    let to = outer.path().join("to");
    let mut store = bind(&to, &tree());
    fill(&mut store);
    store.seal(&RealDisk, RULES).unwrap();
    // A cut in the middle of giving names, before any folder is complete.
    std::fs::create_dir_all(to.join("d/e")).unwrap();
    std::fs::rename(staged(&store, 3), to.join("d/e/b")).unwrap();
    drop(store);
    let mut store = resume(&to);
    assert!(store.is_committed() && store.is_complete());
    let disk = Watched::default();
    store.commit_on(&disk, RULES).unwrap();
    assert_eq!(disk.0.take(), ["folder e: b c", "folder d: a e", "folder to: d f"]);
    let then = std::time::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 5);
    for name in ["d", "d/e", "d/a", "d/e/b", "d/e/c", "f"] {
        assert_eq!(to.join(name).metadata().unwrap().modified().unwrap(), then, "{name}");
    }
}

#[test]
fn folders_that_were_there_keep_their_times() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("d")).unwrap();
    let mut store = bind(dir.path(), &tree());
    fill(&mut store);
    store.seal(&RealDisk, RULES).unwrap();
    drop(store);
    resume(dir.path()).commit(RULES).unwrap();
    let modified = |name| dir.path().join(name).metadata().unwrap().modified().unwrap();
    assert_ne!(modified("d"), modified("d/a"));
    assert_eq!(modified("d/e"), modified("d/a"));
}

fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

/// A folder and a file with these permissions at the sender; what they have here.
fn published(sent: u32, rules: Rules, at_once: bool) -> [u32; 2] {
    let outer = tempfile::tempdir().unwrap();
    let dir = Entry { path: b"d".into(), what: What::Dir { mode: sent, mtime: NOW } };
    let file = Entry { path: b"d/f".into(), what: What::File { size: 3, mode: sent, mtime: NOW } };
    let encoded = Manifest::new(vec![dir, file]).unwrap().encode().unwrap();
    let mut store = bind(outer.path(), &encoded);
    put(&mut store, 1, 0, b"abc").unwrap();
    assert_eq!(mode(&staged(&store, 1)), 0o600);
    if at_once {
        store.complete_last(rules);
    } else {
        let Store { staging, manifest, given_up, in_place, completed, .. } = &store;
        commit::prepare(staging, manifest, given_up, in_place, completed, rules).unwrap();
    }
    let before = mode(&staged(&store, 1));
    drop(store);
    // A cut here must not make it unreadable for the next attempt.
    let mut store = resume(outer.path());
    assert!(store.is_complete());
    store.commit(rules).unwrap();
    let modes = ["d", "d/f"].map(|name| mode(&outer.path().join(name)));
    assert_eq!(before, modes[1]);
    std::fs::set_permissions(outer.path().join("d"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    modes
}

#[test]
fn nobody_may_do_more_than_at_the_sender() {
    for sent in [0o777, 0o755, 0o750, 0o700, 0o555, 0o644, 0o600, 0o500, 0o444, 0o400] {
        // A folder in which nobody may search would hide the file from this test.
        let of_folder = sent | 0o100;
        for umask in [0, 0o022, 0o027, 0o077] {
            let rules = Rules { umask, ..RULES };
            for at_once in [true, false] {
                let modes = published(of_folder, rules, at_once);
                assert_eq!(modes, [of_folder & !umask; 2], "{of_folder:o} {umask:o} {at_once}");
            }
        }
    }
    let open = Rules { permissions: false, ..RULES };
    assert_eq!(published(0o700, open, true), [0o755, 0o755]);
    assert_eq!(published(0o600, open, true), [0o755, 0o644]);
}

/// A disk on which the second folder can't be made to last.
#[derive(Default)]
struct Failing(std::cell::Cell<u32>);

impl Disk for Failing {
    fn sync_files(&self, folder: &Dir, handle: BorrowedFd<'_>, path: &std::path::Path) -> Result<()> {
        RealDisk.sync_files(folder, handle, path)
    }

    fn sync_folder(&self, folder: &std::fs::File, path: &std::path::Path) -> Result<()> {
        self.0.set(self.0.get() + 1);
        if self.0.get() == 2 { Err(Failure::new(Kind::Other, "cut")) } else { RealDisk.sync_folder(folder, path) }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_cut_among_folders_that_their_owner_may_not_enter_is_made_good() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    // From now on permissions hold for this thread, also if root runs it.
    let mut now = capabilities(None).unwrap();
    now.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_capabilities(None, now).unwrap();
    let outer = tempfile::tempdir().unwrap();
    let dir = |path: &str| Entry { path: path.into(), what: What::Dir { mode: 0o055, mtime: NOW } };
    let file = |path: &str| Entry { path: path.into(), what: What::File { size: 3, mode: 0o644, mtime: NOW } };
    let entries = vec![dir("d"), file("d/a"), dir("d/e"), file("d/e/b"), dir("d/f"), file("d/f/c")];
    let mut store = bind(outer.path(), &Manifest::new(entries).unwrap().encode().unwrap());
    for file in [1, 3, 5] {
        put(&mut store, file, 0, b"abc").unwrap();
    }
    assert_eq!(store.commit_on(&Failing::default(), RULES).unwrap_err().message, "cut");
    assert_eq!([mode(&outer.path().join("d/e")), mode(&outer.path().join("d/f"))], [0o055; 2]);
    drop(store);
    resume(outer.path()).commit(RULES).unwrap();
    assert_eq!(mode(&outer.path().join("d")), 0o055);
    for folder in ["d", "d/e", "d/f"] {
        std::fs::set_permissions(outer.path().join(folder), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
    }
    assert_eq!(std::fs::read(outer.path().join("d/e/b")).unwrap(), b"abc");
}
