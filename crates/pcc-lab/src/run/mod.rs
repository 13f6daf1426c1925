//! Runs cases of scenarios in virtual time: one, or many on all cores.

mod batch;
mod pool;
mod simulate;

pub use batch::{in_turn, map, simulate_all};
pub(crate) use pool::{in_order, map as map_on_cores};
pub use simulate::simulate;
