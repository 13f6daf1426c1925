//! Processes that run in virtual time on one thread, over a virtual network, and can be killed at any moment.
//!
//! A [`Machine`] runs a process: a future with a tokio runtime of its own, whose clock is virtual. What a process has others
//! notice is what it sends and what it does on the disk. These acts are counted, and so a process can be killed between any
//! two of them: what it would do later never happens. It can also be asked to end there. Where the commands ask for a thread,
//! for a network, or for a signal, they get those of the process that runs; everything else is what it always is.
//!
//! A seed decides which packets there are, when, and how long they are, and what is done to the disk. Keys, certificates, ports,
//! tokens and connection IDs are new in each run, but always as long. They decide only what noq-proto makes of packets before it
//! knows whether they are genuine:
//!
//! - An end that was restarted reads the header of an Initial packet of an earlier connection with keys that are made from the ID
//!   in it, which are the wrong ones, and answers if two bits happen to be zero (`handle_first_packet`).
//! - A connection that is closed takes the token of a Retry packet for frames, of which one may look like the end.

mod machine;
mod network;
mod real;

pub use machine::{Fate, Machine, Step, process};
pub use network::Network;
pub use real::start;
