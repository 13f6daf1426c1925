//! Why real traffic can't be had.

use std::io;

/// Why an emulation can't begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The kernel gave no network namespace.
    #[error("can't make a network namespace: {0}; this needs root (sudo)")]
    Namespace(#[source] io::Error),
    /// The kernel gave no TUN device.
    #[error(
        "can't make the TUN device {name}: {error}; this needs root (sudo) and a kernel with TUN (/dev/net/tun, modprobe tun)"
    )]
    Tun {
        /// The device.
        name: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A network interface can't be set up.
    #[error("can't set up the network interface {name}: {reason}")]
    Interface {
        /// The interface.
        name: String,
        /// What failed.
        reason: String,
    },
    /// Something else that the operating system refused.
    #[error("{doing}: {error}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the operating system said.
        error: io::Error,
    },
}
