//! Why an emulation with real traffic fails.

use std::io;

/// Why an emulation can't begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// The kernel gave no network namespace.
    #[error("can't have a network namespace: {0}{remedy}", remedy = remedy(.0))]
    Namespace(io::Error),
    /// This process isn't root, and can't become it in a user namespace either.
    #[error("networks of its own need root ({error}): {remedy}")]
    Privileges {
        /// What the kernel said.
        error: io::Error,
        /// What the user can do about it.
        remedy: String,
    },
    /// The kernel gave no TUN device.
    #[error(
        "can't make the TUN device {name}: {error}; this needs root (sudo) and a kernel with TUN (/dev/net/tun, modprobe tun)"
    )]
    Tun {
        /// The name of the device.
        name: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A network interface can't be set up.
    #[error("can't set up the network interface {name}: {reason}")]
    Interface {
        /// The name of the interface.
        name: String,
        /// Which step failed, and why.
        reason: String,
    },
    /// The kernel refused a setting of its TCP/IP.
    #[error("can't set {name} to {value}: {error}")]
    Setting {
        /// The name of the setting, as in sysctl(8).
        name: String,
        /// The value that was refused.
        value: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A route names a link that isn't there.
    #[error("flow {flow} passes link {link}, but there are {links} links, counted from 0")]
    Route {
        /// The index of the flow, from 0 on.
        flow: usize,
        /// The index of the link that its route names.
        link: usize,
        /// How many links there are.
        links: usize,
    },
    /// Super-packets can't be handed to a device that doesn't know them.
    #[error("one TUN device offloads segmentation and the other doesn't; both must, or neither")]
    Offload,
    /// A flow asks for something that real stacks can't do.
    #[error("flow.{flow}.{key}: {reason}")]
    Flow {
        /// Which `[[flow]]`, from 0 on.
        flow: usize,
        /// The key of the `[[flow]]`.
        key: &'static str,
        /// What is wrong with its value.
        reason: String,
    },
    /// A flow's program isn't there.
    #[error("flow.{flow}.{key}: there is no program \"{program}\"; it must be in the PATH, or its path be given")]
    NoProgram {
        /// Which `[[flow]]`, from 0 on.
        flow: usize,
        /// The key of the `[[flow]]`.
        key: &'static str,
        /// The program as the scenario names it.
        program: String,
    },
    /// The scenario can't run on real traffic.
    #[error(transparent)]
    Scenario(#[from] pcc_lab::scenario::ScenarioError),
    /// Something else that the operating system refused.
    #[error("{doing}: {error}")]
    System {
        /// What was tried, such as "starting the emulator's thread".
        doing: &'static str,
        /// What the operating system said.
        error: io::Error,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied { "; this needs root (sudo)" } else { "" }
}
