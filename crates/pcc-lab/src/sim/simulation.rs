//! What to simulate.

use super::host::{ReceiverHost, SenderHost};
use super::receiver::AckPolicy;
use super::source::App;
use super::wire::PACKET_BYTES;
use crate::link::PathConfig;
use pcc::{CongestionControl, Time};
use std::time::Duration;

/// A simulation: links, and flows over them.
#[derive(Debug)]
pub struct Simulation {
    /// The links; flows name them by index.
    pub links: Vec<PathConfig>,
    /// The flows, which all begin and end at times of their own.
    pub flows: Vec<FlowConfig>,
    /// How long it lasts, in virtual time.
    pub duration: Duration,
    /// What happens before this isn't counted in the totals.
    pub measure_from: Duration,
    /// Bytes of a full packet on the wire, more than [`HEADER_BYTES`](super::HEADER_BYTES).
    pub packet_bytes: u32,
    /// The seed of all random choices but those of the controllers.
    pub seed: u64,
    /// Whether a [`Sample`](super::Sample) of each flow and the length of each queue are kept at the end of each [`BIN`](super::BIN).
    pub record: bool,
}

impl Simulation {
    /// One bottleneck that `flows` share, whose acknowledgements take `reverse_delay`.
    pub fn dumbbell(bottleneck: PathConfig, flows: Vec<FlowConfig>, duration: Duration, seed: u64) -> Simulation {
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
}

/// A flow to simulate.
#[derive(Debug)]
pub struct FlowConfig {
    /// The sender's controller.
    pub control: Box<dyn CongestionControl>,
    /// Whether its hosts have ECN turned on: packets can be marked if they have, and the controller [has a use for
    /// it](pcc::Ecn), or if the controller can't do without.
    pub ecn: bool,
    /// What there is to send.
    pub app: App,
    /// When it begins to send.
    pub start: Time,
    /// When it ends; with the simulation if it is `None`.
    pub stop: Option<Time>,
    /// The links that its packets pass, in order.
    pub route: Vec<usize>,
    /// The link that its acknowledgements pass, if any.
    pub reverse: Option<usize>,
    /// The delay of the acknowledgements, besides that of `reverse`. Whatever else delays this flow alone, such as an access
    /// link, is added here, too.
    pub reverse_delay: Duration,
    /// When its receiver acknowledges.
    pub acks: AckPolicy,
    /// The host that sends; perfect unless said otherwise.
    pub sender: SenderHost,
    /// The host that receives; perfect unless said otherwise.
    pub receiver: ReceiverHost,
}

impl FlowConfig {
    /// A bulk flow over the first link from the beginning to the end.
    pub fn bulk(control: Box<dyn CongestionControl>, reverse_delay: Duration) -> FlowConfig {
        FlowConfig {
            control,
            ecn: false,
            app: App::Bulk,
            start: Time::ZERO,
            stop: None,
            route: vec![0],
            reverse: None,
            reverse_delay,
            acks: AckPolicy::default(),
            sender: SenderHost::default(),
            receiver: ReceiverHost::default(),
        }
    }
}
