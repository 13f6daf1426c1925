//! The flows of a `[[flow]]`: what they run on, what they do, and what came of them.

use pcc::Event;
use pcc_lab::controller::ControllerConfig;
use pcc_lab::sim::App;
use pcc_quic::Algorithm;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Flows of one kind: a `[[flow]]` of a scenario.
#[derive(Clone, Debug)]
pub struct Group {
    /// The network stack that they run on.
    pub stack: TrafficStack,
    /// The flows of this group, in the order of their reports.
    pub flows: Vec<TrafficFlow>,
}

/// The network stack of a group of flows.
#[derive(Clone, Debug)]
pub enum TrafficStack {
    /// The TCP of the Linux kernel.
    Tcp {
        /// The name of a congestion control of the kernel, as of `TCP_CONGESTION` in tcp(7).
        controller: String,
    },
    /// QUIC, with packets of 1500 bytes.
    Quic {
        /// The congestion controller of the sender.
        control: QuicControl,
    },
    /// Outside programs. They decide what to send: [`TrafficFlow::app`] has no effect.
    ///
    /// Each command line is split as a shell splits words and quotes, and no shell is run unless it is the program. In the words
    /// `{server}` and `{client}` are the addresses of the two ends, and `{seconds}` is how long the flow lasts.
    Programs {
        /// Runs on the left from the start of a flow to its stop.
        client: String,
        /// Runs on the right before that, one for each flow. The last line `received N bytes` that it prints tells what it got.
        server: Option<String>,
    },
}

/// A congestion controller for QUIC.
#[derive(Clone, Debug, PartialEq)]
pub enum QuicControl {
    /// One by the lab's names: PCC with its constants, or a baseline.
    Lab(ControllerConfig),
    /// One by pcc-quic's names, among them those that come with noq.
    Noq(Algorithm),
}

/// A flow: when, from where to where, and what it sends.
#[derive(Clone, Debug)]
pub struct TrafficFlow {
    /// What there is to send; anything but a video.
    pub app: App,
    /// When it begins, counted from the origin of the run.
    pub start: Duration,
    /// When it ends, whatever there is to send; counted likewise.
    pub stop: Option<Duration>,
    /// The sender's address, one of the left side.
    pub sender: Ipv4Addr,
    /// The receiver's address, one of the right side.
    pub receiver: Ipv4Addr,
    /// The seed of the controller's random choices.
    pub seed: u64,
}

/// What a flow delivered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TrafficReport {
    /// Bytes of data that the receiving program got, if it tells.
    pub payload_bytes: Option<u64>,
    /// The same per [`BIN`](pcc_lab::sim::BIN) from the origin on, up to the last one in which there was some; empty if the receiver only tells the sum.
    pub payload_bins: Vec<u64>,
    /// How long after the flow's start a transfer's last byte arrived, if it did.
    pub completed: Option<Duration>,
    /// What PCC decided, in times since the origin, where this is recorded.
    pub events: Vec<Event>,
    /// Why the flow ended early, if it did.
    pub error: Option<String>,
}

/// What the flows of a group delivered, and what they cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupReport {
    /// A report for each flow, in the order of [`Group::flows`].
    pub flows: Vec<TrafficReport>,
    /// Processor time of the sending side.
    pub sender_cpu: Option<Duration>,
    /// Processor time of the receiving side.
    pub receiver_cpu: Option<Duration>,
    /// The median of |sent / commanded - 1| over windows of 30 ms in which the controller's rate alone limited a flow; `None` where
    /// there was no such window, or no such rate.
    pub pacing_error: Option<f64>,
}
