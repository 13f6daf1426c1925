//! PCC as congestion controls of the running kernel, through eBPF (struct_ops).
//!
//! ```no_run
//! use pcc_tcp::kernel::{Controller, load};
//!
//! // For as long as `registered` lives, any program may say setsockopt(TCP_CONGESTION, "pcc_vivace").
//! let registered = load(&[Controller::Vivace])?;
//! # Ok::<(), pcc_tcp::kernel::Error>(())
//! ```

mod connection;
mod controller;
mod error;
mod flows;
mod layout;
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
mod support;
mod watch;

pub use connection::Connection;
pub use controller::{Controller, UnknownController};
pub use error::Error;
pub use flows::{Flow, Flows};
pub use load::{Registered, load};
pub use pins::{PINS, pin, pinned, unpin};
pub use watch::{Ack, Event, EventKind, Interval, Record, Watch};
