//! PCC congestion control for QUIC connections of noq (and so iroh).

mod algorithm;
pub mod precise;
mod runtime;
mod transport;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use runtime::PreciseRuntime;
pub use transport::Transport;
