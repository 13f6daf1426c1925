//! Path model and experiments.

pub mod controller;
pub mod expression;
pub mod link;
pub mod quantity;
pub mod relay;
pub mod sim;
pub mod virtual_quic;
