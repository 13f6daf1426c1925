//! PCC congestion control for QUIC connections of noq (and so iroh).
//!
//! [`Factory`] puts a controller under a connection by one line. [`Transport`] makes a whole noq configuration that suits
//! it. Endpoints that are made with [`PreciseRuntime`] send each packet when it is due. If a path may hold more than a few
//! megabytes, [`windows::follow_path`] keeps flow control from limiting it. [`Statistics`] tells a running connection's rate,
//! round-trip time and loss.
//!
//! Modules, each of which uses only those before it: `buffers`, `precise`, `waits`, `common_wait`, `socket`, `runtime`,
//! `queue`, `bursts`, `bucket`, `pacing`, `spaces`, `start`, `statistics`, `controller`, `factory`, `windows`, `algorithm`, `transport`.

mod algorithm;
mod bucket;
mod buffers;
mod bursts;
#[cfg(target_os = "linux")]
mod common_wait;
mod controller;
mod factory;
mod pacing;
pub mod precise;
mod queue;
mod runtime;
#[cfg(target_os = "linux")]
mod socket;
mod spaces;
mod start;
mod statistics;
mod transport;
mod waits;
pub mod windows;

pub use noq;
pub use pcc;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use buffers::enlarge_buffers;
pub use factory::Factory;
pub use runtime::PreciseRuntime;
pub use start::Start;
pub use statistics::Statistics;
pub use transport::Transport;

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
