//! The power is cut at any moment of a transfer, and the disk has lost what was not synced: what is there, and what becomes
//! of it at the next start?
//!
//! A real receiver, in a process of its own, takes a transfer over loopback and is watched while it does: `tracer`. From
//! what it did to its disk follows everything that a cut may leave: `cut`. Such states are made real by the hundred, and the
//! receiver is started on each: `restart`. The same with both ends in virtual time, where either may be killed at any moment,
//! before a cut and after it: `both_ends`, `lives`. And either stopped at each moment, without a cut: `stops`. And a cut
//! while a key is made that others know this side by: `keys`.

// The registers of a process that is watched are those of this architecture.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod both_ends;
mod cut;
mod disk;
mod keys;
mod lives;
mod restart;
mod stops;
mod tracer;

use super::choice::Welcome;
use super::progress::Reporter;
use super::receiver::{Options, Receiver};
use super::rules::Rules;
use super::selection::{Links, Selection};
use super::sender;
use super::tests::RULES;
use crate::peer::credentials::Credentials;
use cut::Cut;
use disk::{Disk, Op};
use fastrand::Rng;
use pcc_quic::Transport;
use restart::{Left, sent_in};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracer::{Trace, record};
use walkdir::WalkDir;

/// How many states are tried in all, if that is to be more than by default.
const STATES: &str = "PCC_POWER_CUTS";
/// Name the folder of a transfer and the seed to the process that is watched.
const PLACE: &str = "PCC_POWER_CUTS_PLACE";
const SEED: &str = "PCC_POWER_CUTS_SEED";

/// What is sent.
const NAMES: [&str; 2] = ["tree", "file"];

/// A transfer that is watched: from the folder `from` to `disk/to`.
struct Place {
    folder: PathBuf,
    sent: OnceLock<Vec<String>>,
    _temporary: Option<tempfile::TempDir>,
}

/// Appears on the disk when `pcc recv` has printed the ticket.
const INVITED: &str = "invited";
/// Appears on the disk when `pcc send` would exit with 0.
const SENT: &str = "sent";
/// Appears on the disk when `pcc recv` would.
const RECEIVED: &str = "received";

/// A folder in memory where there is one: nothing here needs a disk.
fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("folder")
}

impl Place {
    fn new() -> Self {
        let temporary = temporary();
        let mut place = Self::at(temporary.path().to_owned());
        place._temporary = Some(temporary);
        place.fill();
        place
    }

    /// One that is there already.
    fn at(folder: PathBuf) -> Self {
        Self { folder, sent: OnceLock::new(), _temporary: None }
    }

    fn fill(&self) {
        let tree = self.source().join("tree");
        fs::create_dir_all(tree.join("below/empty")).unwrap();
        fs::create_dir(self.disk()).unwrap();
        let key = postcard::to_stdvec(&Credentials::generate().unwrap()).unwrap();
        fs::write(self.folder.join("key"), key).unwrap();
        let mut rng = Rng::with_seed(1);
        for (name, size, mode) in
            [("nothing", 0, 0o644), ("one", 1, 0o600), ("below/some", 9000, 0o755), ("below/large", 530_000, 0o444)]
        {
            let mut data = vec![0; size];
            rng.fill(&mut data);
            fs::write(tree.join(name), data).unwrap();
            fs::set_permissions(tree.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let sparse = fs::File::create(tree.join("sparse")).unwrap();
        sparse.write_all_at(b"after a hole", 300_000).unwrap();
        symlink("below/some", tree.join("link")).unwrap();
        fs::write(self.source().join("file"), vec![3; 5000]).unwrap();
        for (name, mode) in [("below/empty", 0o700), ("below", 0o755), ("", 0o755)] {
            fs::set_permissions(tree.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        // Always the same, because a list of files is longer or shorter with them.
        let time = Timespec { tv_sec: 1_700_000_000, tv_nsec: 123_456_789 };
        for entry in WalkDir::new(self.source()) {
            let times = Timestamps { last_access: time, last_modification: time };
            utimensat(CWD, entry.unwrap().path(), &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        }
    }

    fn source(&self) -> PathBuf {
        self.folder.join("from")
    }

    fn paths(&self) -> Vec<PathBuf> {
        NAMES.iter().map(|name| self.source().join(name)).collect()
    }

    fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// Where files are received.
    fn to(&self) -> PathBuf {
        self.disk().join("to")
    }

    /// Lines of what is sent, which from now on does not change.
    fn sent(&self) -> &[String] {
        self.sent.get_or_init(|| sent_in(&self.source()))
    }

    /// Lines of what is sent and not in this folder.
    fn missing(&self, to: &Path) -> Vec<String> {
        let found = sent_in(to);
        self.sent().iter().filter(|line| !found.contains(line)).cloned().collect()
    }

    fn ticket(&self) -> PathBuf {
        self.folder.join("ticket")
    }

    fn rules(&self) -> Rules {
        Rules { overwrite: self.folder.join("overwrite").exists(), ..RULES }
    }

    fn sender(&self) -> Credentials {
        postcard::from_bytes(&fs::read(self.folder.join("key")).unwrap()).unwrap()
    }

    /// Transfers it, in a process that is watched.
    fn watch(&self) -> Result<Trace, String> {
        self.watch_test("transfers", "")
    }

    /// Watches this test, which takes a seed.
    fn watch_test(&self, name: &str, seed: &str) -> Result<Trace, String> {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = format!("{}::{name}", module_path!().split_once("::").unwrap().1);
        command.args(["--ignored", "--nocapture", "--exact", &name]).env(PLACE, &self.folder).env(SEED, seed);
        record(&mut command, &self.disk())
    }

    /// The same transfer once more, on a disk after a cut.
    fn restored(&self, cut: &Cut<'_>) {
        fs::remove_dir_all(self.disk()).unwrap();
        fs::create_dir(self.disk()).unwrap();
        cut.disk.store(&self.disk());
    }
}

#[test]
#[ignore = "runs in a process of its own, which the others watch"]
fn transfers() {
    let Some(folder) = std::env::var_os(PLACE) else { return };
    let place = Place::at(folder.into());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let listen = Some(own_address(0));
        let dir = place.to();
        let options = Options { dir, listen, advertise: Vec::new(), welcome: Welcome::Anyone, rules: place.rules() };
        let reporter = Arc::new(Reporter::new(false));
        let (receiver, ticket) = Receiver::open(options, reporter.clone()).await.unwrap();
        fs::write(place.ticket(), ticket.to_string()).unwrap();
        fs::write(place.disk().join(INVITED), "").unwrap();
        let receiving = tokio::spawn(receiver.receive(crate::signals::interrupted()));
        let options = sender::Options {
            paths: place.paths(),
            selection: Selection::new(Links::Keep, &[]).unwrap(),
            strict: false,
            ticket: ticket.to_string(),
            credentials: place.sender(),
            transport: Transport::default().config(),
            patience: Duration::from_secs(60),
        };
        sender::run(options, reporter).await.unwrap();
        fs::write(place.disk().join(SENT), "").unwrap();
        receiving.await.unwrap().unwrap();
        fs::write(place.disk().join(RECEIVED), "").unwrap();
    });
}

/// An address of its own for each process and number, where its port is free however often it is started.
fn own_address(n: u64) -> SocketAddr {
    let id = std::process::id().to_le_bytes();
    ([127, id[1], id[0], n as u8 % 254 + 1], 0).into()
}

/// A number that whoever runs the tests may set.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap_or_else(|_| panic!("{name} is to be a number")))
}

/// Does this for each of the numbers, which it gets after that of its thread, until one fails.
fn on_all_cores(
    numbers: std::ops::Range<u64>,
    work: impl Fn(u64, u64) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let next = AtomicU64::new(numbers.start);
    let one_after_the_other = |thread| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return Ok(());
            }
            work(thread, number)?;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || one_after_the_other(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Tries some of the states that cuts of this transfer may leave.
fn try_states(place: &Place, trace: &Trace, old: &Disk) {
    let states = number(STATES).unwrap_or(1000).div_ceil(TRANSFERS);
    let tried = on_all_cores(0..states, |_, seed| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Every moment, one after the other.
        let ops = seed as usize % (trace.ops.len() + 1);
        let cut = Cut::after(trace, ops, &mut Rng::with_seed(seed));
        let left = Left::by(&cut, place, &trace.ops[..ops], old);
        let result = left.check().and_then(|starts| match starts {
            true => runtime.block_on(left.restart()),
            false => Ok(()),
        });
        result.map_err(|why| format!("{why}\nafter this, state {seed}:\n{cut}"))
    });
    tried.unwrap_or_else(|why| panic!("{why}"));
    println!("{states} states of {} operations", trace.ops.len());
}

/// The tests below; each tries its share of the states.
const TRANSFERS: u64 = 5;

fn skipped(why: &str) {
    println!("skipped: {why}");
}

#[test]
fn a_transfer() {
    let place = Place::new();
    match place.watch() {
        Ok(trace) => try_states(&place, &trace, &trace.before),
        Err(why) => skipped(&why),
    }
}

#[test]
fn one_that_replaces_files() {
    let place = Place::new();
    fs::write(place.folder.join("overwrite"), "").unwrap();
    let there = place.disk().join("to/tree");
    fs::create_dir_all(there.join("below")).unwrap();
    for name in ["one", "nothing", "below/large"] {
        fs::write(there.join(name), "what was here before").unwrap();
    }
    match place.watch() {
        Ok(trace) => try_states(&place, &trace, &trace.before),
        Err(why) => skipped(&why),
    }
}

/// Watches a transfer that was cut after so many operations before.
fn continued(ops: impl Fn(&Trace) -> usize, change: impl Fn(&Path)) {
    let place = Place::new();
    let first = match place.watch() {
        Ok(trace) => trace,
        Err(why) => return skipped(&why),
    };
    let cut = Cut::after(&first, ops(&first), &mut Rng::with_seed(2));
    place.restored(&cut);
    change(&place.source().join("tree"));
    let second = place.watch().expect("as the first");
    try_states(&place, &second, &first.before);
}

/// Whether the marker of this name was put on the disk.
fn said(done: &[Op], name: &str) -> bool {
    done.iter().any(|op| matches!(op, Op::Make { at, .. } if at.name == name))
}

/// Whether this gives a file its final name.
fn publishes(op: &Op) -> bool {
    matches!(op, Op::Rename { to, .. } if to.name != "manifest")
}

#[test]
fn one_that_was_cut_before() {
    continued(|trace| trace.ops.iter().position(publishes).unwrap() / 2, |_| {});
}

#[test]
fn one_that_was_cut_while_names_were_given() {
    continued(|trace| trace.ops.iter().position(publishes).unwrap() + 3, |_| {});
}

#[test]
fn one_that_was_cut_and_whose_files_changed() {
    let change = |tree: &Path| fs::write(tree.join("below/some"), vec![7; 10_000]).unwrap();
    continued(|trace| trace.ops.iter().position(publishes).unwrap() / 2, change);
}
