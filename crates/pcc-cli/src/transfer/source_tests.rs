//! A source that somebody else changes while it is sent.

use super::*;
use crate::failure::Kind;
use crate::transfer::manifest::MAX_DEPTH;
use crate::transfer::selection::Links;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use std::fs::{self, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

const INSIDE: &[u8] = &[b'i'; 500];
const SECRET: &[u8] = &[b's'; 500];
const FILES: usize = 12;

/// A file with a time that says nothing about it: whoever changes files can set that.
fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    let then = FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    fs::File::options().write(true).open(path).unwrap().set_times(then).unwrap();
}

/// All that would be sent of these paths, without what could not be read.
fn sent(paths: &[PathBuf]) -> Option<Vec<u8>> {
    let mut source = find(paths, Links::Keep, &[]).ok()?;
    let (out, mut queue) = mpsc::channel(10_000);
    source.read(&Had::default(), false, &out);
    drop(out);
    let mut all = Vec::new();
    while let Some(batch) = queue.blocking_recv() {
        batch.iter().for_each(|bytes| all.extend_from_slice(bytes));
    }
    Some(all)
}

fn find(paths: &[PathBuf], links: Links, exclude: &[&str]) -> Result<Source> {
    let exclude: Vec<_> = exclude.iter().map(|pattern| pattern.to_string()).collect();
    Source::find(paths, &Selection::new(links, &exclude).unwrap())
}

fn paths(source: &Source) -> Vec<String> {
    source.manifest.entries.iter().map(Entry::shown).collect()
}

fn contains(all: &[u8], what: &[u8]) -> bool {
    all.windows(what.len()).any(|window| window == what)
}

/// Puts something else in the place of files and folders all the time, whole or back again.
fn disturb(tree: &Path, outside: &Path, spare: &Path, stop: &AtomicBool, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    fs::create_dir(spare).unwrap();
    write(&spare.join("file"), INSIDE);
    symlink(outside.join("f0"), spare.join("link")).unwrap();
    symlink(outside, spare.join("folder link")).unwrap();
    mknodat(CWD, spare.join("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    while !stop.load(Ordering::Relaxed) {
        let other = ["file", "link", "folder link", "fifo"][rng.usize(..4)];
        let place = match rng.usize(..3) {
            0 => tree.join("below"),
            1 => tree.join(format!("f{}", rng.usize(..FILES))),
            _ => tree.join("below").join(format!("f{}", rng.usize(..FILES))),
        };
        // One after the other, as it may not be a folder just now; nothing outside is to change.
        if fs::canonicalize(place.parent().unwrap()).is_ok_and(|folder| folder.starts_with(tree)) {
            let exchange = || renameat_with(CWD, spare.join(other), CWD, &place, RenameFlags::EXCHANGE);
            if exchange().is_ok() {
                thread::sleep(Duration::from_micros(rng.u64(..300)));
                exchange().unwrap();
            }
        }
    }
}

/// What was left out, and why.
fn reasons(source: &Source) -> Vec<String> {
    let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    source.left_out.iter().map(|left_out| format!("{}: {}", shown(&left_out.path), left_out.why)).collect()
}

#[test]
fn nothing_from_outside_is_sent_and_nothing_hangs() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().canonicalize().unwrap();
    let (tree, outside, spare) = (folder.join("tree"), folder.join("outside"), folder.join("spare"));
    for (place, content) in [(&tree, INSIDE), (&tree.join("below"), INSIDE), (&outside, SECRET)] {
        fs::create_dir(place).unwrap();
        (0..FILES).for_each(|n| write(&place.join(format!("f{n}")), content));
    }
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let stop = AtomicBool::new(false);
    let (sends, whole, alive) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| disturb(&tree, &outside, &spare, &stop, seed));
        let (done, finished) = std::sync::mpsc::channel();
        let paths = [tree.clone()];
        let (sends, whole, alive) = (&sends, &whole, &alive);
        scope.spawn(move || {
            for _ in 0..3000 {
                if let Some(all) = sent(&paths) {
                    assert!(!contains(&all, SECRET), "something from outside");
                    sends.fetch_add(1, Ordering::Relaxed);
                    whole.fetch_add(usize::from(contains(&all, INSIDE)), Ordering::Relaxed);
                }
                alive.fetch_add(1, Ordering::Relaxed);
            }
            let _ = done.send(());
        });
        // A thread that hangs cannot be ended, but opening the other end of what it waits for lets it go on.
        let mut last = 0;
        let hung = loop {
            match finished.recv_timeout(Duration::from_secs(20)) {
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) if alive.load(Ordering::Relaxed) == last => break true,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => last = alive.load(Ordering::Relaxed),
                _ => break false,
            }
        };
        stop.store(true, Ordering::Relaxed);
        if hung {
            println!("it hangs");
            std::process::abort();
        }
    });
    println!("{} of 3000 could be listed, of {} something was sent", sends.into_inner(), whole.load(Ordering::Relaxed));
    assert!(whole.into_inner() > 0, "the adversary left nothing to send");
}

/// What became of a file that was listed and changed before it was read: why it was not sent, and the first that was.
fn after(change: impl FnOnce(&Path)) -> (Option<String>, Option<Record>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    write(&file, INSIDE);
    let mut source = find(std::slice::from_ref(&file), Links::Keep, &[]).unwrap();
    // Time stamps may be as coarse as a tick of the kernel.
    thread::sleep(Duration::from_millis(20));
    change(&file);
    let (out, mut queue) = mpsc::channel(100);
    source.read(&Had::default(), true, &out);
    let first = queue.try_recv().ok().and_then(|batch| batch[0].first_chunk().map(Record::decode));
    (source.trouble.remove(&0), first)
}

#[test]
fn a_file_that_is_no_longer_the_one_listed_is_not_sent() {
    assert!(matches!(after(|_| {}), (None, Some(Record::Block { file: 0, block: 0, .. }))));
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("same size and time", |file| write(file, SECRET)),
        ("another file", |file| {
            write(&file.with_extension("new"), SECRET);
            fs::rename(file.with_extension("new"), file).unwrap();
        }),
        ("a FIFO", |file| {
            fs::remove_file(file).unwrap();
            mknodat(CWD, file, FileType::Fifo, Mode::RUSR, 0).unwrap();
        }),
        ("a folder", |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
        ("nothing", |file| fs::remove_file(file).unwrap()),
    ];
    for (what, change) in changes {
        let (trouble, first) = after(change);
        let why = if what == "nothing" { GONE } else { CHANGED };
        assert_eq!(trouble.as_deref(), Some(why), "{what}");
        assert_eq!(first, Some(Record::Skip { file: 0 }), "{what}");
    }
}

#[test]
fn a_transfer_that_is_being_received_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    for folder in ["below/.pcc-0123456789ab", "below/.pcc-notes"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
        write(&tree.join(folder).join("receiver"), INSIDE);
    }
    let source = find(&[tree], Links::Keep, &[]).unwrap();
    assert_eq!(paths(&source), ["tree", "tree/below", "tree/below/.pcc-notes", "tree/below/.pcc-notes/receiver"]);
    assert!(
        matches!(&source.left_out[..], [why] if String::from_utf8_lossy(&why.path).contains(".pcc-0123456789ab")),
        "{:?}",
        source.left_out
    );
}

#[test]
fn links_that_no_receiver_takes_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    let deep = tree.join(["d"; MAX_DEPTH - 1].join("/"));
    fs::create_dir_all(&deep).unwrap();
    symlink("x", deep.join("too-deep")).unwrap();
    symlink("x", tree.join(".pcc-0123456789ab")).unwrap();
    let source = find(&[tree], Links::Keep, &[]).unwrap();
    assert_eq!(source.manifest.entries.len(), MAX_DEPTH);
    assert_eq!(source.left_out.len(), 2, "{:?}", source.left_out);
}

#[test]
fn files_whose_length_is_not_known_are_refused() {
    let Err(failure) = find(&["/proc/self/status".into()], Links::Keep, &[]) else { panic!("it would arrive empty") };
    assert!(failure.message.contains("as in /proc"), "{failure}");
    // Nothing is at its beginning, and that it is empty would be wrong.
    let Err(failure) = find(&["/proc/self/mem".into()], Links::Keep, &[]) else { panic!("it would arrive empty") };
    assert_eq!(failure.kind, Kind::Source, "{failure}");
}

#[test]
fn links_do_not_lead_into_an_unfinished_transfer() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, unfinished) = (dir.path().join("tree"), dir.path().join("elsewhere/.pcc-0123456789ab"));
    fs::create_dir_all(unfinished.join("data")).unwrap();
    fs::create_dir(&tree).unwrap();
    write(&unfinished.join("receiver"), INSIDE);
    symlink("../elsewhere/.pcc-0123456789ab", tree.join("folder")).unwrap();
    symlink("folder", tree.join("by-another-link")).unwrap();
    symlink("folder/receiver", tree.join("secret")).unwrap();
    symlink("folder/data", tree.join("data")).unwrap();
    let source = find(std::slice::from_ref(&tree), Links::Follow, &[]).unwrap();
    assert_eq!(paths(&source), ["tree"]);
    assert_eq!(source.left_out.len(), 4, "{:?}", source.left_out);
    let named = find(&[tree.join("folder")], Links::Follow, &[]);
    assert!(named.is_err_and(|failure| failure.message.contains("unfinished transfer")));
}

#[test]
fn what_cannot_be_sent_is_left_out_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir_all(tree.join("below")).unwrap();
    for name in ["system-systemd\\x2dfsck.slice", "a.tmp", "below/file"] {
        write(&tree.join(name), INSIDE);
    }
    symlink("/usr/bin/python3", tree.join("python")).unwrap();
    symlink("nowhere", tree.join("below/dangling")).unwrap();
    symlink("..", tree.join("below/up")).unwrap();
    symlink("a.tmp", tree.join("near")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
    let found = |links, exclude: &[&str]| {
        let source = find(std::slice::from_ref(&tree), links, exclude).unwrap();
        let short: Vec<_> = paths(&source)[1..].iter().map(|path| path["tree/".len()..].to_owned()).collect();
        (short, reasons(&source))
    };
    let backslash = "system-systemd\\x2dfsck.slice";
    let (kept, left_out) = found(Links::Keep, &[]);
    let all = ["a.tmp", "below", "below/dangling", "below/file", "below/up", "near", "python", backslash];
    assert_eq!(kept, all);
    assert_eq!(left_out, ["tree/socket: it is neither a file nor a folder nor a link"]);

    let (kept, left_out) = found(Links::Skip, &["*.tmp", "tree/soc*"]);
    assert_eq!(kept, ["below", "below/file", backslash]);
    assert!(left_out.is_empty());

    let (kept, left_out) = found(Links::Follow, &["python", "socket"]);
    assert_eq!(kept, ["a.tmp", "below", "below/file", "near", backslash]);
    assert!(left_out[0].starts_with("tree/below/dangling:") && left_out[1].contains("leads back"), "{left_out:?}");
    assert_eq!(left_out.len(), 2);
    let followed = find(&[tree], Links::Follow, &[]).unwrap();
    let near = followed.manifest.entries.iter().find(|entry| entry.path == b"tree/near").unwrap();
    assert_eq!(near.size(), INSIDE.len() as u64);
}

/// In memory, where a file may be as long as it likes.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_too_long_takes_nothing_with_it() {
    let made = tempfile::tempdir_in("/dev/shm").and_then(|dir| {
        fs::create_dir(dir.path().join("tree"))?;
        fs::File::create(dir.path().join("tree/long"))?.set_len((1 << 46) + 1)?;
        fs::write(dir.path().join("tree/short"), "short")?;
        Ok(dir)
    });
    let Ok(dir) = made else { return println!("skipped: there is no /dev/shm for long files") };
    let source = find(&[dir.path().join("tree")], Links::Keep, &[]).unwrap();
    assert_eq!(paths(&source), ["tree", "tree/short"]);
    assert_eq!(reasons(&source), ["tree/long: it is longer than 64 TiB"]);
}

/// Each folder leads to the next one a thousand times, so that there are 10^15 ways.
#[test]
fn links_that_multiply_have_an_end() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..5 {
        let folder = dir.path().join(n.to_string());
        fs::create_dir(&folder).unwrap();
        (0..1000).for_each(|name| symlink(format!("../{}", n + 1), folder.join(name.to_string())).unwrap());
    }
    fs::write(dir.path().join("5"), "in the end").unwrap();
    let failure = find(&[dir.path().join("0")], Links::Follow, &[]).err().unwrap();
    assert!(failure.message.contains("more than 1000000 files and folders"), "{failure}");
}

#[test]
fn an_access_control_list_grants_the_group_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    write(&file, INSIDE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    // Version 2; tag, permissions and ID of the owner, of a user who may read, of the group, of the mask and of others.
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in
        [(1u16, 6u16, u32::MAX), (2, 4, 1000), (4, 0, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)]
    {
        list.extend([&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&file, "system.posix_acl_access", &list, flags).is_err() {
        return println!("skipped: this file system has no access control lists");
    }
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let source = find(&[file], Links::Keep, &[]).unwrap();
    assert!(matches!(source.manifest.entries[0].what, What::File { mode: 0o600, .. }), "{:?}", source.manifest.entries);
}
