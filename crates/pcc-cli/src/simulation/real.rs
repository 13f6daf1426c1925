//! What simulated processes have of the real world, their ports and locks, beside real processes that are started.
//!
//! A real process that is started holds all that this one has open until it runs its own program. A simulated process that
//! is killed and started again meanwhile would find its port in use, and its folder locked.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command};
use std::sync::{RwLock, RwLockReadGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Held for reading while a simulated process runs, and for writing while a real one is started.
static STARTING: RwLock<()> = RwLock::new(());

/// How long a port may be in use by somebody else.
const IN_USE: Duration = Duration::from_secs(20);

/// Starts a real process while no simulated one runs.
pub fn start(command: &mut Command) -> io::Result<Child> {
    let _alone = STARTING.write().expect("nobody panics with it");
    command.spawn()
}

/// Keeps real processes from being started.
pub(super) fn runs() -> RwLockReadGuard<'static, ()> {
    STARTING.read().expect("nobody panics with it")
}

/// Binds a socket of a simulated process. The kernel may give a port that it had, and wants again, to somebody else for a while.
pub(super) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let until = Instant::now() + IN_USE;
    loop {
        match UdpSocket::bind(address) {
            Err(e) if e.kind() == ErrorKind::AddrInUse => assert!(Instant::now() < until, "{address} stays in use"),
            result => return result,
        }
        sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Fate, Machine, Network, Step};
    use std::net::Ipv4Addr;

    #[test]
    fn no_real_process_is_started_while_a_simulated_one_runs() {
        let network = Network::new(0, Duration::from_millis(1), 0.0);
        let mut machine = Machine::start(&network, 0, Fate::Ends, async { STARTING.try_write().is_err() });
        assert!(matches!(machine.step(Duration::from_millis(1)), Step::Ended(true)));
    }

    #[test]
    fn a_port_that_becomes_free_is_waited_for() {
        let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = other.local_addr().unwrap();
        let closing = std::thread::spawn(move || {
            sleep(Duration::from_millis(50));
            drop(other);
        });
        assert_eq!(bind(address).unwrap().local_addr().unwrap(), address);
        closing.join().unwrap();
    }
}
