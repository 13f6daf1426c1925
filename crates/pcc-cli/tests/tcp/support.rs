//! What the tests share.

use pcc::Time;
use pcc_tcp::kernel::{Controller, Error, Registered, TcpFlow, TcpFlows, holders, load, now, requirements};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nothing takes that long, on however busy a machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// While it lives no other test of this machine has one.
pub struct Alone {
    _lock: OwnedFd,
}

/// Waits until no other test uses the kernel's controllers; `None`, with a line that says why, where this process can't
/// load any.
pub fn alone() -> Option<Alone> {
    let path = std::env::temp_dir().join("pcc-tcp-tests.lock");
    let lock =
        open(path, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).expect("a lock file");
    flock(&lock, FlockOperation::LockExclusive).expect("the lock");
    if let Some(reason) = obstacle() {
        println!("skipped: {reason}");
        return None;
    }
    Some(Alone { _lock: lock })
}

fn obstacle() -> Option<String> {
    if let Some(error) = requirements().into_iter().find_map(|requirement| requirement.met.err()) {
        return Some(error.to_string());
    }
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/net/tun").exists() {
        return Some("namespaces with TUN devices need root and /dev/net/tun".to_owned());
    }
    // What another test left goes in a moment.
    let start = Instant::now();
    while let Some((controller, holder)) = holders().pop_first() {
        if start.elapsed() > Duration::from_secs(5) {
            return Some(format!("{controller} is registered: {holder}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

/// All controllers, registered while it lives.
pub struct Loaded {
    registered: Option<Registered>,
    since: Time,
    _alone: Alone,
}

impl Loaded {
    /// Unregisters them.
    pub fn unload(&mut self) {
        self.registered = None;
    }

    /// How many connections the kernel keeps state for, those of older programs not counted; `None` where it lets nobody list them.
    pub fn connections(&self) -> Option<usize> {
        let flows = listed(&mut TcpFlows::default())?;
        Some(flows.iter().filter(|flow| flow.connection.began >= self.since).count())
    }
}

/// The connections under PCC; `None`, with a line that says why, where the kernel lets nobody list them.
pub fn listed(flows: &mut TcpFlows) -> Option<Vec<TcpFlow>> {
    match flows.list() {
        Ok(flows) => Some(flows),
        Err(Error::NotLoaded) => Some(Vec::new()),
        Err(error @ Error::Refused { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A test is over when the kernel keeps nothing of any connection.
impl Drop for Loaded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let start = Instant::now();
        while let Some(left @ 1..) = self.connections() {
            assert!(start.elapsed() < PATIENCE, "{left} connections are left");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Registers all controllers when no other test uses them; `None`, with a line that says why, where that can't be.
pub fn loaded() -> Option<Loaded> {
    let alone = alone()?;
    let since = now();
    Some(Loaded { registered: Some(load(&Controller::ALL).expect("the controllers")), since, _alone: alone })
}

/// What the kernel finds wrong with itself.
pub struct Complaints {
    log: File,
}

impl Complaints {
    pub fn from_now_on() -> Complaints {
        let log = open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
        let mut log = File::from(log.expect("the kernel's log"));
        log.seek(SeekFrom::End(0)).expect("its end");
        Complaints { log }
    }

    /// Lines since then.
    pub fn heard(&mut self) -> Vec<String> {
        let mut record = [0; 8192];
        let mut lines = Vec::new();
        loop {
            match self.log.read(&mut record) {
                Ok(bytes) => lines.push(String::from_utf8_lossy(&record[..bytes]).into_owned()),
                // Records that were overwritten.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => break,
            }
        }
        let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
        lines.retain(|line| {
            has(line, &["WARNING", "BUG", "refcount", "leak", "Oops"]) && has(line, &["tcp", "bpf", "sock", "net"])
        });
        lines
    }
}
