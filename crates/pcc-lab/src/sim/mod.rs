//! A network in virtual time: discrete events, packet by packet.
//!
//! Flows send over a route of [`link`](crate::link)s, through controllers of the one contract; each flow has a sender with
//! the loss detection of RFC 9002, a receiver that acknowledges what arrived, and an [application](App). Every random choice comes from the seed: the same
//! seed gives the same result, to the byte, on any machine.
//!
//! Cost: each link and each flow is an actor with one next wake-up on an agenda, so that an event costs O(log actors). With the
//! simulated time grow the series of [`BIN`]s, and what a simulation records.

mod agenda;
mod clock;
mod fate;
mod flow;
mod host;
mod network;
mod outcome;
mod pacer;
mod player;
mod receive_window;
mod receiver;
mod rtt;
mod sender;
mod simulation;
mod source;
#[cfg(test)]
mod tests;
mod wire;
mod world;

pub use clock::BIN;
pub use fate::Fates;
pub use host::{HostThread, ReceiverHost, SenderHost};
pub use network::{Due, Network, Tick};
pub use outcome::{Distribution, FlowOutcome, LinkOutcome, Outcome, Sample};
pub use pacer::Pacing;
pub use receiver::AckPolicy;
pub use simulation::{FlowConfig, Simulation};
pub use source::{App, Video};
pub use wire::{HEADER_BYTES, PACKET_BYTES};
