//! What came of a run.

use super::clock::BIN;
use super::fate::Fates;
use crate::link::Counters;
use hdrhistogram::Histogram;
use pcc::{Rate, Time};
use std::time::Duration;

/// What came of a simulation, or of a run on the emulator.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What came of each flow, in the order of the simulation.
    pub flows: Vec<FlowOutcome>,
    /// What came of each link, in the order of the simulation.
    pub links: Vec<LinkOutcome>,
}

/// What came of a flow. Totals count from the beginning of the measurement on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// When it began to send.
    pub start: Time,
    /// When it was complete, was stopped, or the run ended.
    pub end: Time,
    /// Whether a transfer is complete; `None` for what isn't a transfer.
    pub complete: Option<bool>,
    /// Packets sent, with those sent again.
    pub sent: u64,
    /// Packets that the sender declared lost; on the emulator, where senders aren't asked, those that links lost.
    pub lost: u64,
    /// Packets declared lost that arrived.
    pub spurious: u64,
    /// What the network did with its packets; `None` on the emulator.
    pub fates: Option<Fates>,
    /// Packets that came back as marked; `None` if its packets can't be marked.
    pub marked: Option<u64>,
    /// Bytes on the wire of packets whose data was new to the receiver.
    pub delivered_bytes: u64,
    /// Round-trip times as the sender saw them.
    pub rtt: Distribution,
    /// The time that delivered packets waited in queues.
    pub queueing: Distribution,
    /// The share of time in which a video stalled.
    pub stall_ratio: Option<f64>,
    /// Delivered bytes per [`BIN`], from the run's beginning on.
    pub bins: Vec<u64>,
    /// The state at the end of each [`BIN`], where the simulation records.
    pub samples: Vec<Sample>,
}

/// The state of a flow at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The rate that the controller wants, in Mbit/s.
    pub rate_mbps: f64,
    /// The newest round-trip time in ms; 0 before there is one.
    pub rtt_ms: f64,
}

/// What came of a link.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkOutcome {
    /// Its packets from the beginning of the measurement on.
    pub counters: Counters,
    /// Bytes in the queue at the end of each [`BIN`], where the simulation records.
    pub queue: Vec<u64>,
}

impl FlowOutcome {
    /// A flow from `start` to `end` of which nothing has been counted; `complete` is `Some(false)` for a transfer.
    pub fn new(start: Time, end: Time, complete: Option<bool>) -> FlowOutcome {
        FlowOutcome {
            start,
            end,
            complete,
            sent: 0,
            lost: 0,
            spurious: 0,
            fates: None,
            marked: None,
            delivered_bytes: 0,
            rtt: Default::default(),
            queueing: Default::default(),
            stall_ratio: None,
            bins: Vec::new(),
            samples: Vec::new(),
        }
    }

    /// Counts `bytes` of new data that arrive at `now`.
    pub fn deliver(&mut self, now: Time, bytes: u64) {
        self.delivered_bytes += bytes;
        let bin = (now.as_nanos() / BIN.as_nanos() as u64) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes;
    }

    /// Forgets the totals: what is counted from now on is the measurement.
    pub fn begin_measurement(&mut self) {
        (self.sent, self.lost, self.spurious, self.delivered_bytes) = (0, 0, 0, 0);
        // Of a flow that has ended; one that runs counts them elsewhere.
        self.marked = self.marked.map(|_| 0);
        self.fates = self.fates.map(|_| Fates::default());
        self.rtt = Default::default();
        self.queueing = Default::default();
    }

    /// The goodput between two instants, to the [`BIN`]: data that is new to the receiver, with its headers, so that a full link shows its rate.
    pub fn goodput_between(&self, from: Duration, to: Duration) -> Rate {
        let [first, last] = [from, to].map(|time| (time.as_nanos() / BIN.as_nanos()) as usize);
        let bytes = self.bins.iter().take(last).skip(first).sum();
        Rate::from_bytes_over(bytes, BIN * last.saturating_sub(first) as u32)
    }

    /// The share of sent packets that was declared lost.
    pub fn loss(&self) -> f64 {
        if self.sent > 0 { self.lost as f64 / self.sent as f64 } else { 0.0 }
    }
}

/// Durations, to a microsecond or 1 %, the mean exact.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    histogram: Option<Histogram<u32>>,
    sum: Duration,
    count: u64,
}

/// Longer durations count as this.
const MAX_DURATION: Duration = Duration::from_secs(1000);

impl Distribution {
    /// Adds one value.
    pub fn add(&mut self, value: Duration) {
        if self.histogram.is_none() {
            self.histogram = Histogram::new_with_max(MAX_DURATION.as_micros() as u64, 2).ok();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(value.as_micros() as u64);
        }
        self.sum += value;
        self.count += 1;
    }

    /// The values of both together.
    #[must_use]
    pub fn with(mut self, other: &Distribution) -> Distribution {
        match (&mut self.histogram, &other.histogram) {
            (Some(all), Some(other)) => all.add(other).unwrap_or_default(),
            (None, Some(other)) => self.histogram = Some(other.clone()),
            (_, None) => {}
        }
        self.sum += other.sum;
        self.count += other.count;
        self
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The mean; zero if there is no value.
    pub fn mean(&self) -> Duration {
        let nanos = self.sum.as_nanos().checked_div(self.count.into()).unwrap_or_default();
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The value that a share `quantile` of all doesn't exceed; zero if there is none.
    pub fn quantile(&self, quantile: f64) -> Duration {
        self.histogram.as_ref().map_or(Duration::ZERO, |h| Duration::from_micros(h.value_at_quantile(quantile)))
    }
}
