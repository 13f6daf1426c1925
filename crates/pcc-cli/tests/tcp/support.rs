//! What the tests share.

use pcc_tcp::kernel::{Controller, Error, Registered, load};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::thread::CapabilitySet;
use std::os::fd::OwnedFd;
use std::path::Path;

/// While it lives no other test of this machine has one.
pub struct Alone {
    _lock: OwnedFd,
}

/// Waits until no other test uses the kernel's controllers; `None`, with a line that says why, where this process can't
/// load any.
pub fn alone() -> Option<Alone> {
    if let Some(missing) = missing() {
        println!("skipped: PCC in the kernel needs {missing}");
        return None;
    }
    let path = std::env::temp_dir().join("pcc-tcp-tests.lock");
    let lock =
        open(path, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).expect("a lock file");
    flock(&lock, FlockOperation::LockExclusive).expect("the lock");
    Some(Alone { _lock: lock })
}

fn missing() -> Option<&'static str> {
    let capabilities = rustix::thread::capabilities(None).expect("capabilities").effective;
    let needed = CapabilitySet::BPF | CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN | CapabilitySet::PERFMON;
    if !rustix::process::geteuid().is_root() || !capabilities.contains(needed) {
        Some("root with all its capabilities")
    } else if !Path::new("/dev/net/tun").exists() {
        Some("/dev/net/tun")
    } else {
        None
    }
}

/// All controllers, registered while it lives.
pub struct Loaded {
    registered: Option<Registered>,
    _alone: Alone,
}

impl Loaded {
    /// Unregisters them.
    pub fn unload(&mut self) {
        self.registered = None;
    }
}

/// Registers all controllers when no other test uses them; `None`, with a line that says why, where that can't be.
pub fn loaded() -> Option<Loaded> {
    let alone = alone()?;
    match load(&Controller::ALL) {
        Ok(registered) => Some(Loaded { registered: Some(registered), _alone: alone }),
        Err(error @ (Error::OldKernel { .. } | Error::NoTypes | Error::NoStructOps)) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
