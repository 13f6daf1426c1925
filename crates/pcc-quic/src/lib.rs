//! PCC congestion control for QUIC connections of noq (and so iroh).

mod algorithm;
mod transport;

pub use algorithm::{Algorithm, UnknownAlgorithm};
pub use transport::Transport;
