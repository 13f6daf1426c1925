//! Somebody renames, replaces and links at random in the folders of both sides while they are at work. Nothing outside of
//! these is read or written, what has a name in the end is a file that was there, and both sides end by themselves.

use crate::common::{CONFIG, Pcc, receiver_command, sender_command, start};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Transfers for each user.
const ROUNDS: u64 = 4;
const FILES: usize = 8;
/// More than a block.
const SIZE: usize = 300_000;
/// What nobody is to read.
const SECRET: u8 = b's';
/// The user `nobody`, if this is root's test.
pub const NOBODY: u32 = 65534;

/// Folders of one transfer: `from`, `to`, what is `outside` of both, and `spare` things of the adversary's.
struct Scene {
    dir: tempfile::TempDir,
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scene = Self { dir };
        open_to_all(scene.dir.path());
        for folder in ["from/tree/below", "to", "outside", "spare", "config"] {
            fs::create_dir_all(scene.at(folder)).unwrap();
            open_to_all(&scene.at(folder));
        }
        for n in 0..FILES {
            let content = vec![b'a' + n as u8; SIZE + n];
            fs::write(scene.at("from/tree").join(format!("f{n}")), &content).unwrap();
            fs::write(scene.at("from/tree/below").join(format!("f{n}")), &content).unwrap();
            fs::write(scene.at("outside").join(format!("f{n}")), vec![SECRET; SIZE + n]).unwrap();
        }
        fs::write(scene.at("spare/file"), vec![b'z'; SIZE]).unwrap();
        fs::create_dir(scene.at("spare/empty")).unwrap();
        symlink(scene.at("outside/f0"), scene.at("spare/link")).unwrap();
        symlink(scene.at("outside"), scene.at("spare/folder link")).unwrap();
        mknodat(CWD, scene.at("spare/fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        scene
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// A place in the folders of one of the sides that may or may not be there.
    fn place(&self, rng: &mut fastrand::Rng) -> PathBuf {
        let side = self.at(["from", "to"][rng.usize(..2)]);
        let staging = || {
            let names = fs::read_dir(&side).into_iter().flatten().flatten().map(|entry| entry.path());
            names.into_iter().find(|path| path.to_string_lossy().contains(".pcc-"))
        };
        match rng.usize(..5) {
            0 => side.join("tree"),
            1 => side.join("tree/below"),
            2 => staging().unwrap_or_else(|| side.join("tree")),
            3 => side.join(format!("tree/f{}", rng.usize(..FILES))),
            _ => side.join(format!("tree/below/f{}", rng.usize(..FILES))),
        }
    }

    /// Puts something else in the place of files and folders all the time, for a moment.
    fn disturb(&self, rng: &mut fastrand::Rng, stop: &AtomicBool) -> u64 {
        let mut done = 0;
        while !stop.load(Ordering::Relaxed) {
            let place = self.place(rng);
            // A link that the command line names is followed: who may put one there decides what is sent.
            let others = if place == self.at("from/tree") { 3 } else { 5 };
            let other = ["file", "fifo", "empty", "link", "folder link"][rng.usize(..others)];
            let other = self.at("spare").join(other);
            let exchange = || renameat_with(CWD, &other, CWD, &place, RenameFlags::EXCHANGE);
            if exchange().is_ok() {
                done += 1;
                thread::sleep(Duration::from_micros(rng.u64(..2000)));
                // The receiver may have put its own there meanwhile, or taken this away.
                let _ = exchange();
            } else {
                thread::sleep(Duration::from_micros(50));
            }
        }
        done
    }

    /// Every file outside.
    fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.at("outside")).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    /// Every file below `to` has a content that a file had, and that is no secret.
    fn check(&self) {
        for entry in walkdir::WalkDir::new(self.at("to")).into_iter().flatten() {
            let path = entry.path();
            let is_staged = path.to_string_lossy().contains("/.pcc-");
            if entry.file_type().is_file() && !is_staged {
                let content = fs::read(path).unwrap();
                let is_whole = content.iter().all(|byte| *byte == content[0]) && content.len() >= SIZE;
                assert!(is_whole && content[0] != SECRET, "{}: {:?}...", path.display(), &content[..1]);
            }
        }
    }
}

/// Starts a command as this user.
fn start_as(user: Option<u32>, mut command: Command, scene: &Scene) -> Pcc {
    command.env(CONFIG, scene.at("config")).current_dir(scene.at("."));
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    start(command)
}

/// One transfer under attack; how often something was exchanged, and how both ended.
fn round(user: Option<u32>, seed: u64) -> (u64, [Option<i32>; 2]) {
    let scene = Scene::new();
    let before = scene.outside();
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut codes = [None; 2];
    thread::scope(|scope| {
        // Also when something here fails.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(&stop);
        let patience = ["--timeout", "5"];
        let options = [&["--from", "anyone", "--overwrite"], &patience[..]].concat();
        let mut recv = start_as(user, receiver_command(&scene.at("to"), &options), &scene);
        let ticket = recv.ticket();
        let (disturbed, stopped, counter) = (&scene, &stop, &done);
        scope.spawn(move || {
            let times = disturbed.disturb(&mut fastrand::Rng::with_seed(seed), stopped);
            counter.store(times, Ordering::Relaxed);
        });
        let mut command = sender_command(&[&scene.at("from/tree")], &patience);
        command.args(["--max-rate", "100mbit"]).env("PCC_TICKET", ticket);
        let mut send = start_as(user, command, &scene);
        codes[0] = send.wait().code();
        // One that the sender has left waits for it to come back.
        let end = std::time::Instant::now() + Duration::from_secs(2);
        while recv.is_running() && std::time::Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        if recv.is_running() {
            recv.interrupt();
        }
        codes[1] = recv.wait().code();
        for side in [&send, &recv] {
            assert!(!side.stderr().contains("panicked"), "{}", side.stderr());
        }
    });
    assert!(scene.outside() == before, "what is outside has changed");
    scene.check();
    (done.into_inner(), codes)
}

#[test]
fn nothing_outside_is_touched_and_nothing_hangs() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let is_root = rustix::process::geteuid().is_root();
    let users = if is_root { &[None, Some(NOBODY)][..] } else { &[None] };
    if !is_root {
        println!("skipped: this is not root, so that only one user was tried");
    }
    for &user in users {
        if user.is_some() && !may_run(user) {
            println!("skipped: that user may not run what is under test");
            continue;
        }
        let mut total = 0;
        for n in 0..ROUNDS {
            let (done, codes) = round(user, seed.wrapping_add(n));
            println!("{user:?}: {done} exchanges, exit codes {codes:?}");
            // No signal, and no panic.
            assert!(codes.iter().all(|code| code.is_some_and(|code| code < 100 || code == 130)), "{codes:?}");
            total += done;
        }
        assert!(total > 0, "there was no adversary");
    }
}

/// Whether this user may run the program.
pub fn may_run(user: Option<u32>) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
    command.arg("--version").stdout(std::process::Stdio::null()).current_dir("/");
    user.into_iter().for_each(|user| {
        command.uid(user).gid(user);
    });
    command.status().is_ok_and(|status| status.success())
}
