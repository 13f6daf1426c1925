//! Path model and experiments.

pub mod link;
pub mod relay;
pub mod sim;
