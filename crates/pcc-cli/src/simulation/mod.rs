//! Processes that run in virtual time on one thread, over a virtual network, and can be killed at any moment.
//!
//! A [`Machine`] runs a process: a future with a tokio runtime of its own, whose clock is virtual. What a process has others
//! notice is what it sends and what it does on the disk. These acts are counted, and so a process can be killed between any
//! two of them: what it would do later never happens. Where the commands ask for a thread, or for a network, they get those
//! of the process that runs; everything else is what it always is. A seed decides in which order all goes, but for the order in
//! which tokio asks the branches of a `select!`.

mod machine;
mod network;

pub use machine::{Machine, Step, process};
pub use network::Network;
