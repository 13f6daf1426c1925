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
mod controller;
mod error;
#[allow(unsafe_code, reason = "asks the kernel what the library doesn't")]
mod links;
mod load;
mod pins;
#[allow(missing_docs, unsafe_code, clippy::all, clippy::pedantic, reason = "made by libbpf-cargo")]
mod programs;
mod scope;
mod support;

pub use controller::{Controller, UnknownController};
pub use error::Error;
pub use load::{Registered, load};
pub use pins::{PINS, pin, pinned, unpin};
pub use scope::Scope;
