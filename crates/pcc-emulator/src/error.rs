//! Why real traffic can't be had.

use std::io;

/// Why an emulation can't begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The kernel gave no network namespace.
    #[error("can't have a network namespace: {0}{remedy}", remedy = remedy(.0))]
    Namespace(io::Error),
    /// This process isn't root and can't be, be it in a namespace of its own.
    #[error("networks of its own need root ({error}): {remedy}")]
    Privileges {
        /// What the kernel said.
        error: io::Error,
        /// What would help.
        remedy: String,
    },
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
    /// The kernel's TCP/IP isn't to be set so.
    #[error("can't set {name} to {value}: {error}")]
    Setting {
        /// The setting.
        name: String,
        /// What it was to be.
        value: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A route names a link that isn't there.
    #[error("flow {flow} passes link {link}, but there are {links} links, counted from 0")]
    Route {
        /// The flow.
        flow: usize,
        /// The link that it names.
        link: usize,
        /// How many there are.
        links: usize,
    },
    /// Super-packets can't be handed to a device that doesn't know them.
    #[error("one TUN device offloads segmentation and the other doesn't; both must, or neither")]
    Offload,
    /// A flow that can't be had on real stacks.
    #[error("flow.{flow}.{key}: {reason}")]
    Flow {
        /// Which `[[flow]]`, from 0 on.
        flow: usize,
        /// Which key of it.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A flow's program isn't there.
    #[error("flow.{flow}.{key}: there is no program \"{program}\"; it must be in the PATH, or its path be given")]
    NoProgram {
        /// Which `[[flow]]`, from 0 on.
        flow: usize,
        /// Which key of it.
        key: &'static str,
        /// The program.
        program: String,
    },
    /// The scenario can't be had on real traffic.
    #[error(transparent)]
    Scenario(#[from] pcc_lab::scenario::ScenarioError),
    /// Something else that the operating system refused.
    #[error("{doing}: {error}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the operating system said.
        error: io::Error,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied { "; this needs root (sudo)" } else { "" }
}
