//! PCC as congestion controls of the running kernel, through eBPF (struct_ops).
//!
//! ```no_run
//! use pcc_tcp::kernel::{Controller, load};
//!
//! // For as long as `registered` lives, any program may say setsockopt(TCP_CONGESTION, "pcc_vivace").
//! let registered = load(&[Controller::Vivace])?;
//! # Ok::<(), pcc_tcp::kernel::Error>(())
//! ```

mod controller;
mod error;
mod holders;
mod load;
mod pins;
#[allow(missing_docs, unsafe_code, clippy::all, clippy::pedantic, reason = "made by libbpf-cargo")]
mod programs;
mod statistics;
mod support;
#[allow(unsafe_code, reason = "calls the library's C")]
mod update;

pub use controller::{Controller, UnknownController};
pub use error::Error;
pub use holders::{Holder, available, holders};
pub use load::{Registered, load};
pub use pins::{PINS, pin, pinned, replace, unpin};
pub use statistics::{Statistics, statistics};
pub use support::{Requirement, release, requirements};
