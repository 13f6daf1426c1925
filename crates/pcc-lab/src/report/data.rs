//! What a report consists of. Rates are in Mbit/s, times in ms unless the name says otherwise, shares are fractions.

use crate::link::PathConfig;
use crate::sim::{Fates, Outcome};
use pcc::Event;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run showed. Rates are in Mbit/s, times in ms unless the name says otherwise, shares are fractions.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// Per sweep, its name and the label of its value.
    pub case: Vec<(String, String)>,
    /// What the sweeps set in this case, by the key: of a `draw`, the values that were drawn.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, toml::Value>,
    /// The seed of its random choices.
    pub seed: u64,
    /// Jain's index of the goodputs of all flows, while all of them ran; `None` with less than two.
    pub jain: Option<f64>,
    /// Goodput of all flows together.
    pub goodput: f64,
    /// A report for each `[[flow]]`.
    pub flows: Vec<FlowReport>,
    /// A report for each `[[link]]`.
    pub links: Vec<LinkReport>,
    /// How the emulator did, if the traffic was real.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulator: Option<EmulatorReport>,
    /// The events of each flow's controller, where the run recorded; none for a baseline.
    #[serde(skip)]
    pub events: Vec<Vec<Event>>,
    /// Everything that was counted.
    #[serde(skip)]
    pub outcome: Outcome,
}

/// What the flows of one `[[flow]]` showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FlowReport {
    /// The name of the flow in tables.
    pub name: String,
    /// The name of its congestion controller.
    pub controller: String,
    /// How many flows it stands for.
    pub count: usize,
    /// Goodput of all of them while they ran: data new to the receiver with its headers.
    pub goodput: f64,
    /// Goodput in the second half of that time; `None` if that is shorter than what goodput is counted by, 0.1 s.
    pub second_half: Option<f64>,
    /// The goodput as a share of what the slowest link of the route, or its policer, could let through; `None` if nothing limits it.
    pub share: Option<f64>,
    /// The share of packets that links lost at random or dropped.
    pub lost: f64,
    /// The share of packets that the sender declared lost; on the emulator the same as `lost`.
    pub loss: f64,
    /// The share of packets that was declared lost but arrived.
    pub spurious: f64,
    /// The counts behind these shares; `None` on the emulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketCounts>,
    /// The share of packets that came back marked (ECN); `None` if none of the flows asks for marks, or none sent anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<f64>,
    /// Mean round-trip time; `None` if no packet was acknowledged.
    pub rtt_mean: Option<f64>,
    /// 95th percentile of the round-trip time.
    pub rtt_p95: Option<f64>,
    /// Mean time that packets waited in queues.
    pub queueing_mean: f64,
    /// 95th percentile of it: the self-inflicted delay, where no other flow fills the queue.
    pub queueing_p95: f64,
    /// `queueing_p95` as a share of the delay of a full queue.
    pub inflation: Option<f64>,
    /// Power: goodput in Mbit/s over the mean round-trip time in seconds.
    pub power: f64,
    /// Jain's index among them; `None` if there is one.
    pub jain: Option<f64>,
    /// Transfers that began in the measurement: how many there are.
    pub transfers: Option<usize>,
    /// How many of them are complete.
    pub completed: Option<usize>,
    /// Mean completion time of the complete ones, from the start to the arrival of the last byte.
    pub fct_mean: Option<f64>,
    /// Median completion time, where one that isn't complete lasts longer than it had so far; `None` if too few are complete to tell.
    pub fct_median: Option<f64>,
    /// 95th percentile of the completion time, in the same way.
    pub fct_p95: Option<f64>,
    /// Videos: the share of time in which it stalled.
    pub stalled: Option<f64>,
    /// Seconds from the start until the goodput stayed within 25 % of the fair share for 5 s; the longest of the flows.
    /// `None` if it never did, or there is no other flow.
    pub convergence: Option<f64>,
    /// Standard deviation of the goodput of 1 s bins in the 60 s after that; the largest of the flows.
    pub deviation: Option<f64>,
    /// What is measured of real traffic only; `None` in the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<RealReport>,
}

/// Packets of data in the measurement: `on_the_way_at_start + sent` are `arrived + lost + on_the_way_at_end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PacketCounts {
    /// Packets sent, with those sent again.
    pub sent: u64,
    /// What the network did with them.
    #[serde(flatten)]
    pub fates: Fates,
    /// Packets that the senders declared lost.
    pub declared_lost: u64,
    /// Packets that were declared lost but arrived.
    pub spurious: u64,
}

/// What is measured of real traffic only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealReport {
    /// Data that the receiving program got, in Mbit/s, without any headers; `None` if it doesn't say.
    pub payload: Option<f64>,
    /// Processor time of the sending end in seconds for each 10^9 bytes of delivered packets: that of its thread or program, without what
    /// the kernel does in interrupts.
    pub sender_cpu_per_gb: Option<f64>,
    /// The same of the receiving end.
    pub receiver_cpu_per_gb: Option<f64>,
    /// The median of how far what was sent in 30 ms is from the rate that the controller wanted; `None` if that is not known.
    pub pacing_error: Option<f64>,
    /// 99 % of the bursts, packets that come to the first link within 10 us of each other, have at most so many packets.
    pub burst_p99: u64,
    /// Why flows ended early, if some did.
    pub errors: Vec<String>,
}

/// How the emulator did in a run. Times in microseconds.
#[derive(Clone, Debug, Serialize)]
pub struct EmulatorReport {
    /// Half of all packets left it at most so long after they were due.
    pub lateness_p50: f64,
    /// 99 % of all packets left it at most so long after they were due.
    pub lateness_p99: f64,
    /// The packet that left it latest did so this long after it was due.
    pub lateness_max: f64,
    /// The share of a processor that it took, the receiving hosts' protocol processing included.
    pub cpu: f64,
    /// Packets that the kernel lost at the emulator's devices: losses that no link asked for.
    pub interface_drops: u64,
    /// Processor time of the whole machine in seconds for each 10^9 bytes of delivered packets.
    pub system_cpu_per_gb: Option<f64>,
    /// Why this run doesn't count, if it doesn't.
    pub doubt: Option<String>,
}

/// What was measured of a link.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LinkReport {
    /// Its name, or its index if it has none.
    pub name: String,
    /// Bytes delivered as a share of what it, or its policer, could let through; `None` if nothing limits it.
    pub utilisation: Option<f64>,
    /// The share of packets that was lost at random.
    pub lost: f64,
    /// The share of packets that the queue or the policer dropped.
    pub dropped: f64,
    /// The link as it was built for this run.
    #[serde(skip)]
    pub config: PathConfig,
}

impl RunReport {
    /// The same without what only plots over time need.
    #[must_use]
    pub fn without_details(self) -> RunReport {
        RunReport { events: Vec::new(), outcome: Outcome::default(), ..self }
    }

    /// Why it says more about the machine than about what ran, if it does.
    pub fn doubt(&self) -> Option<&str> {
        self.emulator.as_ref()?.doubt.as_deref()
    }

    /// Whether it counts: in the simulator each run does.
    pub fn counts(&self) -> bool {
        self.doubt().is_none()
    }
}
