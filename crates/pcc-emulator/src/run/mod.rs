//! A case of a scenario on real traffic, and what came of it.

mod case;
mod verdict;

pub use case::emulate;
