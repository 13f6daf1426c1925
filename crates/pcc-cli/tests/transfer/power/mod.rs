//! The power is cut at any moment while `pcc` works on a real file system: what is there when it comes back?
//!
//! The file system is on a `disk` that remembers all that it was told: `life`. From what it was told until some moment follows
//! what a cut at that moment may leave: `cut`. The kernel mounts it, as after a real cut: `mounted`.

mod cut;
mod disk;
mod image;
mod life;
mod sources;

use crate::common::{self, forge, receiver, sender};
use crate::mounted::{self, BTRFS, EXT4, Format, Mounted, XFS};
use disk::{Op, Record};
use fastrand::Rng;
use life::{Life, Note, TO};
use sources::Line;
use std::fs;
use std::path::Path;

/// How many states of each file system are tried, if that is to be more than by default.
const STATES: &str = "PCC_CRASHES";
/// Of one life.
const OF_A_LIFE: u64 = 200;
/// Of so many states, both ends go on from one.
const GO_ON: u64 = 10;

/// What had been said when the power was cut.
#[derive(Debug, Default)]
struct Said<'a> {
    /// Which version was on its way.
    version: usize,
    ticket: Option<&'a str>,
    sent: bool,
    received: bool,
}

impl<'a> Said<'a> {
    fn by(record: &'a Record<Note>, ops: usize) -> Self {
        let mut said = Self::default();
        for op in &record.ops[..ops] {
            match op {
                Op::Note(Note::Starts(version)) => said = Self { version: *version, ..Self::default() },
                Op::Note(Note::Invited(ticket)) => said.ticket = Some(ticket),
                Op::Note(Note::Sent) => said.sent = true,
                Op::Note(Note::Received) => said.received = true,
                Op::Write { .. } | Op::Flush => {}
            }
        }
        said
    }
}

/// What was received.
fn received(to: &Path) -> Vec<Line> {
    let tree = to.join("tree");
    if tree.exists() { common::tree(&tree) } else { Vec::new() }
}

fn is_folder(line: &Line) -> bool {
    line.1.starts_with("folder")
}

/// What is sent and not found. Folders that were there `before` keep what they had.
fn missing<'a>(sent: &'a [Line], before: &[Line], found: &[Line]) -> Vec<&'a Line> {
    let was_there = |line: &Line| before.iter().any(|(path, _)| *path == line.0);
    let expected = sent.iter().filter(|line| !is_folder(line) || !was_there(line));
    expected.filter(|line| !found.contains(line)).collect()
}

/// Checks what a cut left.
fn check(life: &Life, said: &Said<'_>, to: &Path) -> Result<(), String> {
    let (found, sent, before) = (received(to), life.sources.lines(said.version), life.before(said.version));
    let torn = |line: &&Line| !is_folder(line) && !sent.contains(line) && !before.contains(line);
    if let Some(torn) = found.iter().find(torn) {
        return Err(format!("torn: {torn:?}"));
    }
    if let Some((gone, _)) = before.iter().find(|(path, _)| !found.iter().any(|(found, _)| found == path)) {
        return Err(format!("gone: {gone:?}"));
    }
    let missing = missing(sent, before, &found);
    if said.sent && !missing.is_empty() {
        return Err(format!("pcc send said that all is there, but {missing:?} is not"));
    }
    match unfinished(to) {
        left if said.received && !left.is_empty() => Err(format!("pcc recv is done and left {left:?}")),
        _ => Ok(()),
    }
}

/// Starts both ends on what a cut left.
fn go_on(life: &Life, said: &Said<'_>, to: &Path) -> Result<(), String> {
    let (sent, found) = (life.sources.lines(said.version), received(to));
    let is_complete = missing(sent, life.before(said.version), &found).is_empty();
    let mut recv = receiver(to, &["--json", life.replaces]);
    let ticket = recv.ticket();
    if let Some(printed) = said.ticket
        && !is_complete
    {
        // But for the addresses.
        let same = |ticket: &str| forge(ticket, |(_, _, addresses)| addresses.clear());
        if same(printed) != same(&ticket) {
            return Err("the ticket is no longer good".to_owned());
        }
    }
    let mut send = sender(&[&life.sources.version(said.version)], &ticket, &["--json"]);
    for (name, end) in [("send", &mut send), ("recv", &mut recv)] {
        if !end.wait().success() {
            return Err(format!("pcc {name} that goes on fails: {:?} {}", end.lines(), end.stderr()));
        }
    }
    let now = received(to);
    let (missing, left) = (missing(sent, &found, &now), unfinished(to));
    match missing.is_empty() && left.is_empty() {
        true => Ok(()),
        false => Err(format!("both that go on are done, but {missing:?} is missing, and {left:?} is left")),
    }
}

/// The staging folders that have all that a receiver takes up. Of one that was being made or removed there may be less.
fn unfinished(to: &Path) -> Vec<String> {
    let mut names = common::names(to);
    names.retain(|name| {
        let identity = fs::read(to.join(name).join("receiver")).unwrap_or_default();
        to.join(name).join("data").exists() && identity.iter().any(|byte| *byte != 0)
    });
    names
}

/// One state that a cut of this life may leave. The error says what is wrong with it.
fn try_state(life: &Life, number: u64, total: u64, folder: &Path, rng: &mut Rng) -> Result<(), String> {
    let ops = cut::place(&life.record, number, total, rng);
    let (image, left) = (cut::after(&life.record, ops, rng), folder.join("left"));
    image.store(&left).expect("an image");
    let said = Said::by(&life.record, ops);
    let tried = || {
        let mounted = Mounted::new(&left, folder.join("again"), &["-o", "loop"])?;
        let to = mounted.at.join(TO);
        check(life, &said, &to)?;
        if number.is_multiple_of(GO_ON) { go_on(life, &said, &to) } else { Ok(()) }
    };
    tried().map_err(|why| {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("power-cut.image");
        image.store(&kept).expect("an image");
        let (kept, of) = (kept.display(), life.record.ops.len());
        format!("{why}\nafter {ops} of {of} operations, {said:?}; the disk is kept in {kept}")
    })
}

/// Lives on a file system, and states of each. The error says why that is not possible here.
fn try_lives(format: &Format) -> Result<(), String> {
    mounted::alone()?;
    let total: u64 = std::env::var(STATES).map_or(12, |states| states.parse().expect("a number of states"));
    let (rng, name) = (&mut Rng::new(), format.name);
    let mut tried = 0;
    while tried < total {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("folder");
        let life = match life::record(format, folder.path(), rng) {
            Err(why) if tried > 0 => panic!("{name}: {why}"),
            life => life?,
        };
        let states = OF_A_LIFE.min(total - tried);
        let of = life.record.ops.len();
        let states_tried = (0..states).map(|number| try_state(&life, number, states, folder.path(), rng));
        let failures: Vec<String> = states_tried.filter_map(Result::err).collect();
        if let Some(last) = failures.last() {
            panic!("{name}: {} of {states} states of a life of {of} operations, the last: {last}", failures.len());
        }
        tried += states;
        println!("{name}: {tried} states, the last {states} of a life of {of} operations");
    }
    Ok(())
}

/// On a thread of its own, so that what it mounts is gone with it.
fn on(format: &'static Format) {
    let tried = std::thread::spawn(move || try_lives(format)).join();
    match tried {
        Ok(Ok(())) => {}
        Ok(Err(why)) => println!("skipped: {} cannot be made, mounted and watched here: {why}", format.name),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[test]
fn on_ext4() {
    on(&EXT4);
}

#[test]
fn on_xfs() {
    on(&XFS);
}

#[test]
fn on_btrfs() {
    on(&BTRFS);
}
