//! PCC congestion control for QUIC connections of noq (and so iroh).

mod algorithm;
mod controller;
mod factory;
mod pacing;
pub mod precise;
mod runtime;
mod spaces;
mod transport;
pub mod windows;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use factory::{Factory, Start};
pub use runtime::PreciseRuntime;
pub use transport::Transport;
