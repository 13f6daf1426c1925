//! What arrives of a tree that has everything a tree can have, beside what `rsync -a` makes of it. The table in
//! docs/transfer.md says the same.

use crate::common::{Pcc, receiver_command, sender, start};
use crate::{Place, place};
use rustix::fs::{AtFlags, CWD, Gid, Mode, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;
const TEXT: &str = include_str!("../../../../docs/transfer.md");

fn odd_names() -> [PathBuf; 6] {
    let long = "x".repeat(255);
    [&b"-rf"[..], b"line\nbreak", b"\xff\xfe", b"back\\slash", b" *?[", long.as_bytes()]
        .map(|name| Path::new("odd").join(OsStr::from_bytes(name)))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn set_time(path: &Path, secs: i64) {
    let unchanged = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT as _ };
    let times =
        Timestamps { last_access: unchanged, last_modification: Timespec { tv_sec: secs, tv_nsec: 123_456_789 } };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

fn make(p: &Place) -> PathBuf {
    let root = p.from.join("tree");
    for folder in ["odd", "modes", "links", "empty", "shared"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    odd_names().iter().for_each(|name| fs::write(root.join(name), "odd").unwrap());
    for mode in [0o400, 0o444, 0o600, 0o644, 0o750, 0o755, 0o666, 0o777, 0o4755, 0o2755] {
        let file = root.join(format!("modes/{mode:o}"));
        fs::write(&file, "mode").unwrap();
        set_mode(&file, mode);
    }
    set_mode(&root.join("empty"), 0o700);
    set_mode(&root.join("shared"), 0o1777);
    for (name, target) in
        [("in", "../modes/644"), ("out", "../../elsewhere"), ("absolute", "/usr/bin/env"), ("none", "-")]
    {
        symlink(target, root.join("links").join(name)).unwrap();
    }
    fs::write(root.join("one"), "two names").unwrap();
    fs::hard_link(root.join("one"), root.join("other")).unwrap();
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.write_all_at(b"the end", 8 * MIB).unwrap();
    rustix::fs::mknodat(CWD, root.join("fifo"), rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    fs::write(root.join("attributes"), "").unwrap();
    let _ = rustix::fs::setxattr(root.join("attributes"), "user.pcc", b"x", XattrFlags::empty());
    if rustix::process::geteuid().is_root() {
        let (user, group) = (Uid::from_raw(1234), Gid::from_raw(1235));
        rustix::fs::chownat(CWD, root.join("one"), Some(user), Some(group), AtFlags::empty()).unwrap();
    }
    set_time(&root.join("one"), 1_000_000_000);
    set_time(&root.join("links/in"), 1_000_000_001);
    set_time(&root.join("empty"), -86_400);
    root
}

fn attribute(path: &Path) -> Option<Vec<u8>> {
    let mut value = [0; 16];
    let len = rustix::fs::getxattr(path.join("attributes"), "user.pcc", &mut value).ok()?;
    Some(value[..len].to_vec())
}

/// Whether two trees are the same in what this row of the table is about; `None` where this cannot be told here.
fn same(what: &str, a: &Path, b: &Path) -> Option<bool> {
    let look = |path: &Path, name: &str| path.join(name).symlink_metadata().ok();
    let all = |names: &[&str], of: fn(fs::Metadata) -> i64| {
        names.iter().all(|name| look(b, name).map(of).is_some_and(|there| look(a, name).map(of) == Some(there)))
    };
    let mode = |metadata: fs::Metadata| i64::from(metadata.mode());
    let time = |metadata: fs::Metadata| metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec();
    Some(match what {
        "contents" => ["one", "sparse", "modes/600"]
            .iter()
            .all(|name| fs::read(a.join(name)).unwrap() == fs::read(b.join(name)).unwrap_or_default()),
        "names, whatever bytes they are" => odd_names().iter().all(|name| b.join(name).exists()),
        "empty folders" => b.join("empty").is_dir(),
        "times of files and folders" => all(&["one", "empty"], time),
        "permissions that the umask allows" => {
            all(&["modes/400", "modes/444", "modes/600", "modes/644", "modes/750", "modes/755", "empty"], mode)
        }
        "permissions beyond the umask" => all(&["modes/666", "modes/777"], mode),
        "setuid, setgid, sticky" => all(&["modes/4755", "modes/2755", "shared"], mode),
        "symbolic links, wherever they lead" => ["in", "out", "absolute", "none"].iter().all(|name| {
            let target = |tree: &Path| tree.join("links").join(name).read_link().ok();
            target(a) == target(b)
        }),
        "times of links" => all(&["links/in"], time),
        "holes" if look(a, "sparse")?.blocks() * 512 > MIB => return None,
        "holes" => look(b, "sparse")?.blocks() * 512 < MIB,
        "hard links" => look(b, "one")?.ino() == look(b, "other")?.ino(),
        "owners and groups" if !rustix::process::geteuid().is_root() => return None,
        "owners and groups" => all(&["one"], |metadata| i64::from(metadata.uid()) << 32 | i64::from(metadata.gid())),
        "FIFOs" => b.join("fifo").symlink_metadata().is_ok(),
        "extended attributes" => attribute(a)? == attribute(b).unwrap_or_default(),
        other => panic!("no test of {other}"),
    })
}

const UMASK: u32 = 0o022;

fn receiver_with_umask(p: &Place) -> Pcc {
    let mut with_umask = Command::new("sh");
    let command = receiver_command(&p.to, &["--from", "anyone"]);
    let script = format!("umask {UMASK:o}; exec \"$@\"");
    with_umask.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    start(with_umask)
}

#[test]
fn what_is_kept_is_what_the_table_says() {
    if !Command::new("rsync").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return println!("skipped: there is no rsync");
    }
    let p = place();
    let root = make(&p);
    let beside = p.from.join("rsync");
    let rsync = Command::new("rsync").arg("-a").arg(&root).arg(&beside).status().unwrap();
    assert!(rsync.success());
    let mut recv = receiver_with_umask(&p);
    let mut send = sender(&[&root], &recv.ticket(), &[]);
    send.exits(15);
    assert!(send.stderr().contains("\"tree/fifo\" is left out"), "{}", send.stderr());
    recv.exits(0);

    let table = TEXT.split("| | `rsync -a` | `pcc send` |\n|---|---|---|\n").nth(1).expect("the table");
    let mut rows = 0;
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, what, rsync, pcc, _] = cells[..] else { panic!("{row}") };
        for (says, tree) in [(rsync, beside.join("tree")), (pcc, p.to.join("tree"))] {
            match same(what, &root, &tree) {
                Some(same) => assert_eq!(says.starts_with("kept"), same, "{what} in {}", tree.display()),
                None => println!("skipped: {what} cannot be told here"),
            }
        }
        rows += 1;
    }
    assert!(rows >= 14, "{rows} rows");
}

/// Compares everything in a folder with what arrived of it. Returns how much there is, and what is missing.
fn compare(folder: &Path, arrived: &Path, missing: &mut Vec<PathBuf>) -> usize {
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let there = arrived.join(path.file_name().unwrap());
        let (Ok(from), Ok(to)) = (path.symlink_metadata(), there.symlink_metadata()) else {
            missing.push(path);
            continue;
        };
        seen += 1;
        assert_eq!(from.file_type(), to.file_type(), "{path:?}");
        if from.is_symlink() {
            assert_eq!(path.read_link().unwrap(), there.read_link().unwrap(), "{path:?}");
            continue;
        }
        assert_eq!(to.mode() & 0o7777, from.mode() & 0o777 & !UMASK, "{path:?}");
        assert_eq!((to.mtime(), to.mtime_nsec()), (from.mtime(), from.mtime_nsec()), "{path:?}");
        if from.is_dir() {
            seen += compare(&path, &there, missing);
        } else {
            assert!(fs::read(&path).unwrap() == fs::read(&there).unwrap(), "{path:?}");
        }
    }
    seen
}

fn all_of_it_arrives(root: &Path) {
    let p = place();
    let mut recv = receiver_with_umask(&p);
    let mut send = sender(&[root], &recv.ticket(), &[]);
    let code = send.wait().code();
    recv.exits(0);
    let mut missing = Vec::new();
    let seen = compare(root, &p.to.join(root.file_name().unwrap()), &mut missing);
    println!("{}: {seen} files, folders and links, {} left out", root.display(), missing.len());
    assert!(seen > 10);
    assert_eq!(code, Some(if missing.is_empty() { 0 } else { 15 }), "{}", send.stderr());
    for path in missing {
        let name = path.strip_prefix(root.parent().unwrap()).unwrap().display().to_string();
        assert!(send.stderr().contains(&format!("\"{name}\" is left out")), "{name}: {}", send.stderr());
    }
}

#[test]
fn the_configuration_of_a_system_arrives() {
    all_of_it_arrives(Path::new("/etc"));
}

#[test]
fn a_virtual_environment_of_python_arrives() {
    let p = place();
    let root = p.from.join("venv");
    match Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&root).status() {
        Ok(status) if status.success() => all_of_it_arrives(&root),
        _ => println!("skipped: there is no python3 that makes virtual environments"),
    }
}
