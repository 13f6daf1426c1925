//! What a hostile peer can make the other side keep in memory. That other side is a process of its own.

#![cfg(target_os = "linux")]

use super::blocks::BLOCK;
use super::choice::Welcome;
use super::hostile_receiver::{Hostile, Victim, send};
use super::progress::Reporter;
use super::protocol::{Answer, MAX_STREAMS, Record};
use super::receiver::{Options, Receiver};
use super::tests::{RULES, file, offer, raw};
use crate::peer::ticket::Ticket;
use crate::simulation;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep, timeout};

/// Names the folder in which one side finds what it needs, to its process.
const PLACE: &str = "PCC_MEMORY_PLACE";
/// Nothing here takes that long, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MIB: u64 = 1 << 20;

fn place() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
#[ignore = "runs in a process of its own, which the others watch"]
fn receives() {
    let Some(place) = place() else { return };
    runtime().block_on(async {
        let (dir, listen) = (place.join("to"), Some("127.0.0.1:0".parse().unwrap()));
        let options = Options { dir, listen, advertise: Vec::new(), welcome: Welcome::Anyone, rules: RULES };
        let (receiver, ticket) = Receiver::open(options, Arc::new(Reporter::new(false))).await.unwrap();
        fs::write(place.join("ticket.new"), ticket.to_string()).unwrap();
        fs::rename(place.join("ticket.new"), place.join("ticket")).unwrap();
        let _ = receiver.receive(crate::signals::interrupted()).await;
    });
}

#[test]
#[ignore = "runs in a process of its own, which the others watch"]
fn sends() {
    let Some(place) = place() else { return };
    let ticket = fs::read_to_string(place.join("ticket")).unwrap().parse().unwrap();
    let _ = runtime().block_on(send(&place.join("file"), &ticket));
}

/// One side; killed when it goes out of scope.
struct Side(Child);

impl Side {
    fn start(name: &str, place: &Path) -> Self {
        let test = format!("{}::{name}", module_path!().split_once("::").unwrap().1);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", &test]).env(PLACE, place);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(simulation::start(&mut command).unwrap())
    }

    /// The most that it ever had in memory, in bytes; `None` once it has ended.
    fn peak(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).ok()?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?;
        Some(kib.parse::<u64>().unwrap() * 1024)
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_that_never_end_fill_no_more_than_the_streams_hold() {
    let dir = tempfile::tempdir().unwrap();
    let receiver = Side::start("receives", dir.path());
    let ticket: Ticket = loop {
        match fs::read_to_string(dir.path().join("ticket")) {
            Ok(ticket) => break ticket.parse().unwrap(),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    };
    let before = receiver.peak().expect("it runs");
    let mut sender = offer(&ticket, &raw(&[file(b"large", u64::from(2 * MAX_STREAMS) * BLOCK)])).await;
    assert!(matches!(sender.answer().await, Answer::Have { .. }));
    let mut open = Vec::new();
    while let Ok(stream) = timeout(Duration::from_secs(1), sender.connection.open_uni()).await {
        let (mut stream, block) = (stream.unwrap(), open.len() as u32);
        let head = Record::Block { file: 0, block, hash: [0; 32] }.encode();
        let data = vec![1; BLOCK as usize - 1];
        timeout(PATIENCE, stream.write_all(&[&head[..], &data].concat())).await.expect("room").unwrap();
        open.push(stream);
    }
    assert!(open.len() <= MAX_STREAMS as usize, "{} streams", open.len());
    let held = open.len() as u64 * BLOCK;
    // Until all has arrived, or as good as all.
    let deadline = Instant::now() + PATIENCE;
    while receiver.peak().expect("it runs") < before + held / 10 * 9 && Instant::now() < deadline {
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_millis(500)).await;
    let peak = receiver.peak().expect("it runs");
    println!("{} MiB before, {} MiB with {} MiB of unfinished blocks", before / MIB, peak / MIB, held / MIB);
    assert!(peak < before + held + 64 * MIB, "{} MiB", peak / MIB);
}

/// A sender of a large file to a receiver that takes none of it, in a process of its own.
struct Sending {
    sender: Side,
    victim: Victim,
    size: u64,
    _dir: tempfile::TempDir,
}

async fn sending() -> Sending {
    let dir = tempfile::tempdir().unwrap();
    let size = 300 * MIB;
    fs::write(dir.path().join("file"), vec![1; size as usize]).unwrap();
    let hostile = Hostile::listen();
    fs::write(dir.path().join("ticket"), hostile.ticket.to_string()).unwrap();
    let sender = Side::start("sends", dir.path());
    let mut victim = timeout(PATIENCE, hostile.greet()).await.expect("a sender");
    let nothing = Answer::Have { bytes: 0, blocks: Vec::new(), files: Vec::new() };
    victim.say(&nothing).await.unwrap();
    Sending { sender, victim, size, _dir: dir }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_does_not_read_fills_no_memory() {
    let Sending { sender, victim, size, _dir } = sending().await;
    let mut peak = 0;
    let closed = victim.connection.closed();
    tokio::pin!(closed);
    let deadline = Instant::now() + PATIENCE;
    while timeout(Duration::from_millis(20), &mut closed).await.is_err() {
        assert!(Instant::now() < deadline, "it never gives up");
        peak = sender.peak().unwrap_or(peak);
    }
    println!("{} MiB at most, of a file of {} MiB", peak / MIB, size / MIB);
    assert!((MIB..100 * MIB).contains(&peak), "{} MiB", peak / MIB);
}

/// So little opens no window, and so does not count as movement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_reads_a_byte_now_and_then_is_given_up() {
    let Sending { sender, victim, size, _dir } = sending().await;
    let (mut streams, mut taken, mut peak) = (Vec::new(), 0, 0);
    let deadline = Instant::now() + PATIENCE;
    while victim.connection.close_reason().is_none() {
        assert!(Instant::now() < deadline, "it never gives up");
        if let Ok(Ok(stream)) = timeout(Duration::from_millis(10), victim.connection.accept_uni()).await {
            streams.push(stream);
        }
        for stream in &mut streams {
            taken += stream.read_chunk(1).await.map_or(0, |chunk| chunk.map_or(0, |chunk| chunk.len()));
        }
        peak = sender.peak().unwrap_or(peak);
    }
    println!("{taken} bytes taken, {} MiB at most, of a file of {} MiB", peak / MIB, size / MIB);
    assert!((1..100_000).contains(&taken), "{taken} bytes taken");
    assert!((MIB..100 * MIB).contains(&peak), "{} MiB", peak / MIB);
}
