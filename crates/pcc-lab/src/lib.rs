//! Path model and experiments.

pub mod link;
