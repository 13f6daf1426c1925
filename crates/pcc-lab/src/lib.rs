//! Path model and experiments.

pub mod baselines;
pub mod link;
pub mod relay;
pub mod sim;
pub mod virtual_quic;
