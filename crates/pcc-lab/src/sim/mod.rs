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
mod flow;
mod network;
mod outcome;
mod player;
mod receiver;
mod rtt;
mod sender;
mod source;
#[cfg(test)]
mod tests;
mod world;

pub use network::{Due, Network, Tick};
pub use outcome::{Distribution, FlowOutcome, LinkOutcome, Outcome, Sample};
pub use source::{App, Video};

use crate::link::PathConfig;
use pcc::{CongestionControl, Time};
use std::time::Duration;

/// Bytes of a full packet on the wire, unless said otherwise.
pub const PACKET_BYTES: u32 = 1500;
/// Bytes of headers in each packet, as of TCP over IPv4 without options.
pub const HEADER_BYTES: u32 = 40;
/// Bytes of an acknowledgement on the wire.
pub const ACK_BYTES: u64 = 64;
/// What the series of a run count by.
pub const BIN: Duration = Duration::from_millis(100);

/// A simulation.
#[derive(Debug)]
pub struct Simulation {
    /// The links; flows name them by index.
    pub links: Vec<PathConfig>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// How long it lasts.
    pub duration: Duration,
    /// What happens before this isn't counted in the totals.
    pub measure_from: Duration,
    /// Bytes of a full packet on the wire, more than [`HEADER_BYTES`].
    pub packet_bytes: u32,
    /// The seed of all random choices but those of the controllers.
    pub seed: u64,
    /// Whether [`Sample`]s are taken.
    pub record: bool,
}

impl Simulation {
    /// One bottleneck that `flows` share, whose acknowledgements take `reverse_delay`.
    pub fn dumbbell(bottleneck: PathConfig, flows: Vec<Flow>, duration: Duration, seed: u64) -> Simulation {
        Simulation {
            links: vec![bottleneck],
            flows,
            duration,
            measure_from: Duration::ZERO,
            packet_bytes: PACKET_BYTES,
            seed,
            record: false,
        }
    }

    /// Runs it.
    pub fn run(self) -> Outcome {
        world::World::new(self).run()
    }
}

/// A flow to simulate.
#[derive(Debug)]
pub struct Flow {
    /// The sender's controller.
    pub control: Box<dyn CongestionControl>,
    /// What there is to send.
    pub app: App,
    /// When it begins.
    pub start: Time,
    /// When it ends.
    pub stop: Option<Time>,
    /// The links that its packets pass, in order.
    pub route: Vec<usize>,
    /// The link that its acknowledgements pass, if any.
    pub reverse: Option<usize>,
    /// The delay of the acknowledgements, besides that of `reverse`. What else is long on this flow's way, such as an
    /// access link, is added here, too.
    pub reverse_delay: Duration,
    /// When its receiver acknowledges.
    pub acks: AckPolicy,
}

impl Flow {
    /// A bulk flow over the first link from the beginning to the end.
    pub fn bulk(control: Box<dyn CongestionControl>, reverse_delay: Duration) -> Flow {
        Flow {
            control,
            app: App::Bulk,
            start: Time::ZERO,
            stop: None,
            route: vec![0],
            reverse: None,
            reverse_delay,
            acks: AckPolicy::default(),
        }
    }
}

/// When a receiver acknowledges; what arrives out of order it acknowledges at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// As soon as this many packets have arrived, at least 1 ...
    pub every: u64,
    /// ... or one has waited for this long.
    pub max_delay: Duration,
}

impl Default for AckPolicy {
    /// Each packet, as in UDT and the authors' senders.
    fn default() -> Self {
        AckPolicy { every: 1, max_delay: Duration::from_millis(25) }
    }
}
