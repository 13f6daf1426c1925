//! Path model and experiments.

pub mod baselines;
pub mod controller;
pub mod emulator;
pub mod expression;
pub mod figure;
pub mod link;
pub mod plot;
mod pool;
pub mod program;
pub mod quantity;
pub mod quic;
pub mod realtime;
pub mod relay;
pub mod report;
pub mod scenario;
pub mod sim;
pub mod virtual_quic;
