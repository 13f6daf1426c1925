//! PCC as congestion controls of the running kernel, through eBPF (struct_ops).
//!
//! ```no_run
//! use pcc_tcp::kernel::{Controller, load};
//!
//! // For as long as `registered` lives, any program may say setsockopt(TCP_CONGESTION, "pcc_vivace").
//! let registered = load(&[Controller::Vivace])?;
//! # Ok::<(), pcc_tcp::kernel::Error>(())
//! ```

mod cgroup;
mod connection;
mod error;
mod flows;
mod holder;
mod holders;
mod layout;
#[allow(unsafe_code, reason = "asks of the kernel what the library doesn't")]
mod links;
mod load;
mod loaded;
mod pins;
#[allow(
    dead_code,
    missing_docs,
    unsafe_code,
    unused_imports,
    clippy::all,
    clippy::pedantic,
    reason = "made by libbpf-cargo"
)]
mod programs;
mod scope;
mod statistics;
mod support;
mod watch;

pub use crate::controller::{Controller, UnknownController};
pub use connection::Connection;
pub use error::Error;
pub use flows::{TcpFlow, TcpFlows};
pub use holder::Holder;
pub use holders::{PINS, available, holders, pinned, versions};
pub use load::{Registered, load};
pub use pins::{pin, replace, unpin};
pub use scope::Scope;
pub use statistics::{KernelStatistics, statistics};
pub use support::{Requirement, release, requirements};
pub use watch::{Ack, EventKind, Interval, Record, SenderEvent, Watch, now};
