//! A link in a scenario.

use super::text::{FromText, Share, Short, Size, Span, Speed};
use crate::link::{self, Aggregation, Capacity, Limit, PathConfig, Policer, Reordering, Trace};
use pcc::Time;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// `[[link]]`: one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Link {
    /// What routes call it.
    pub name: Option<String>,
    /// Its rate; without `rate`, `trace` and `lte` it takes no time.
    pub rate: Option<Speed>,
    /// A file in Mahimahi's format, relative to the scenario, instead of a rate.
    pub trace: Option<PathBuf>,
    /// A generated trace like that of an LTE link with this mean rate, instead of a rate.
    pub lte: Option<Speed>,
    /// Propagation delay, one way.
    pub delay: Span,
    /// The queue: a size for a drop-tail queue, or a table. The default has no limit.
    pub queue: Option<Short<Queue>>,
    /// A rate limit without a queue.
    pub policer: Option<PolicerTable>,
    /// Random loss: a probability, or a table for bursts.
    pub loss: Option<Short<Loss>>,
    /// The most that is randomly added to the delay; order is kept.
    pub jitter: Span,
    /// Packets that others overtake.
    pub reordering: Option<ReorderingTable>,
    /// Packets leave only at multiples of this.
    pub aggregation: Option<Span>,
    /// Changes at given times.
    pub schedule: Vec<Change>,
    /// Random changes at regular times.
    pub vary: Option<Vary>,
}

/// `queue = { kind = "codel", limit = "100kB" }`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum Queue {
    /// First in, first out.
    DropTail {
        /// Its room.
        limit: QueueLimit,
    },
    /// CoDel (RFC 8289) with a target of 5 ms and an interval of 100 ms.
    Codel {
        /// Its room.
        limit: QueueLimit,
    },
    /// Deficit round robin between flows.
    FairQueue {
        /// The room for each flow.
        limit: QueueLimit,
    },
    /// FQ-CoDel (RFC 8290), with the same.
    FqCodel {
        /// The room for all flows.
        limit: QueueLimit,
    },
}

/// The room of a queue: `"75kB"` or `"50 packets"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueLimit(pub Limit);

impl FromText for QueueLimit {
    const EXPECTED: &'static str = "a queue limit such as \"75kB\" or \"50 packets\"";

    fn from_text(text: &str) -> Result<QueueLimit, String> {
        let packets = text.trim().strip_suffix("packets").or_else(|| text.trim().strip_suffix("packet"));
        match packets {
            Some(number) => number
                .trim()
                .parse()
                .map(|packets| QueueLimit(Limit::Packets(packets)))
                .map_err(|_| "this is no number of packets; write for example 50 packets".to_owned()),
            None => Size::from_text(text).map(|size| QueueLimit(Limit::Bytes(size.0))),
        }
    }
}
super::text::deserialize_from_text!(QueueLimit);

impl Queue {
    fn limit(&self) -> QueueLimit {
        match self {
            Queue::DropTail { limit }
            | Queue::Codel { limit }
            | Queue::FairQueue { limit }
            | Queue::FqCodel { limit } => *limit,
        }
    }

    fn build(&self) -> link::Queue {
        match self {
            Queue::DropTail { limit } => link::Queue::DropTail(limit.0),
            Queue::Codel { limit } => link::Queue::CoDel(limit.0),
            Queue::FairQueue { limit } => link::Queue::Drr(limit.0),
            Queue::FqCodel { limit } => link::Queue::fq_codel(limit.0),
        }
    }
}

impl FromText for Queue {
    const EXPECTED: &'static str = QueueLimit::EXPECTED;

    fn from_text(text: &str) -> Result<Queue, String> {
        QueueLimit::from_text(text).map(|limit| Queue::DropTail { limit })
    }
}

/// `policer = { rate = "10mbit", burst = "30kB" }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerTable {
    /// What passes in the long run.
    pub rate: Speed,
    /// What may pass at once.
    pub burst: Size,
}

/// `loss = { to-bad = 0.01, to-good = 0.2, loss-bad = 0.5 }`: bursts after Gilbert and Elliott.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Loss {
    /// Probability of turning bad after a packet in the good state.
    pub to_bad: Share,
    /// Probability of turning good after a packet in the bad state.
    pub to_good: Share,
    /// Probability of loss in the good state.
    #[serde(default)]
    pub loss_good: Share,
    /// Probability of loss in the bad state.
    pub loss_bad: Share,
}

impl FromText for Loss {
    const EXPECTED: &'static str = Share::EXPECTED;

    fn from_text(text: &str) -> Result<Loss, String> {
        Share::from_text(text).map(Loss::independent)
    }

    fn from_number(number: f64) -> Option<Loss> {
        Share::from_number(number).map(Loss::independent)
    }
}

impl Loss {
    /// The same probability always: a chain that never leaves its good state.
    fn independent(probability: Share) -> Loss {
        Loss { to_bad: Share(0.0), to_good: Share(1.0), loss_good: probability, loss_bad: probability }
    }

    fn build(self) -> link::Loss {
        match self.to_bad.0 {
            0.0 => link::Loss::Bernoulli(self.loss_good.0),
            to_bad => link::Loss::GilbertElliott {
                to_bad,
                to_good: self.to_good.0,
                loss_good: self.loss_good.0,
                loss_bad: self.loss_bad.0,
            },
        }
    }
}

/// `reordering = { probability = "1%", delay = "5ms" }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderingTable {
    /// The share of packets that are held back.
    pub probability: Share,
    /// For how long.
    pub delay: Span,
}

/// `schedule = [{ at = "10s", rate = "20mbit" }]`; what isn't given stays.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at: Span,
    /// The rate from then on.
    pub rate: Option<Speed>,
    /// The propagation delay from then on.
    pub delay: Option<Span>,
    /// The loss from then on.
    pub loss: Option<Share>,
}

/// `vary = { every = "5s", rate = ["10mbit", "100mbit"] }`: what is given is drawn anew, uniformly, each time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vary {
    /// How often, the first time at the start.
    pub every: Span,
    /// From the first to the second.
    pub rate: Option<[Speed; 2]>,
    /// From the first to the second.
    pub delay: Option<[Span; 2]>,
    /// From the first to the second.
    pub loss: Option<[Share; 2]>,
}

impl Vary {
    fn changes(&self, duration: Duration, rng: &mut fastrand::Rng) -> Vec<link::Change> {
        let mut changes = Vec::new();
        let mut at = Duration::ZERO;
        while at < duration {
            let mut draw = |[low, high]: [f64; 2]| low + (high - low) * rng.f64();
            changes.push(link::Change {
                at: Time::ZERO + at,
                rate: self.rate.map(|range| pcc::Rate::from_mbps(draw(range.map(|speed| speed.0.mbps())))),
                delay: self.delay.map(|range| Duration::from_secs_f64(draw(range.map(|span| span.0.as_secs_f64())))),
                loss: self.loss.map(|range| draw(range.map(|share| share.0))),
            });
            at += self.every.0;
        }
        changes
    }
}

impl Link {
    /// What is wrong with it, if anything: the key and the reason.
    pub(super) fn check(&self, folder: &Path) -> Result<(), (&'static str, String)> {
        if let Some(file) = &self.trace {
            read_trace(&folder.join(file))?;
        }
        let rates = [self.rate.is_some(), self.trace.is_some(), self.lte.is_some()];
        if rates.into_iter().filter(|given| *given).count() > 1 {
            return Err(("rate", "a link has one of rate, trace and lte".to_owned()));
        }
        if self.queue.is_some() && !self.has_rate() {
            return Err(("queue", "a queue needs a rate, a trace or lte".to_owned()));
        }
        if self.vary.is_some_and(|vary| vary.every.0 < Duration::from_millis(1)) {
            return Err(("vary.every", "this must be at least 1ms".to_owned()));
        }
        if self.vary.is_some() && !self.schedule.is_empty() {
            return Err(("vary", "a link has either vary or a schedule".to_owned()));
        }
        if !self.schedule.is_sorted_by(|before, after| before.at.0 <= after.at.0) {
            return Err(("schedule", "the changes must be in the order of time".to_owned()));
        }
        Ok(())
    }

    /// The largest packet that fits through its queue and its policer, and which of them is the narrower.
    pub(super) fn room(&self) -> (&'static str, u64) {
        let queue = self.queue.as_ref().map_or(u64::MAX, |queue| match queue.0.limit().0 {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => packets.saturating_mul(u64::MAX),
        });
        let burst = self.policer.map_or(u64::MAX, |policer| policer.burst.0);
        if burst < queue { ("policer.burst", burst) } else { ("queue", queue) }
    }

    /// How often it changes at random.
    pub(super) fn changes_in(&self, duration: Duration) -> u128 {
        self.vary.map_or(0, |vary| duration.as_nanos() / vary.every.0.as_nanos().max(1))
    }

    /// Whether it has a rate, from the start or later.
    fn has_rate(&self) -> bool {
        self.rate.is_some()
            || self.trace.is_some()
            || self.lte.is_some()
            || self.vary.is_some_and(|vary| vary.rate.is_some())
            || self.schedule.iter().any(|change| change.rate.is_some())
    }

    /// Whether anything limits what passes.
    pub(super) fn is_limited(&self) -> bool {
        self.has_rate() || self.policer.is_some()
    }

    /// The link for a run, with random choices from `rng`; `folder` is where the scenario's trace files are.
    ///
    /// # Errors
    ///
    /// The key and the reason, when a trace can't be read.
    pub fn build(
        &self,
        folder: &Path,
        duration: Duration,
        rng: &mut fastrand::Rng,
    ) -> Result<PathConfig, (&'static str, String)> {
        let capacity = match (&self.trace, self.rate, self.lte) {
            (Some(file), ..) => Capacity::Trace(Arc::new(read_trace(&folder.join(file))?)),
            (None, Some(rate), _) => Capacity::Constant(rate.0),
            (None, None, Some(mean)) => Capacity::Trace(Arc::new(Trace::lte(rng.u64(..), mean.0, duration))),
            (None, None, None) => Capacity::Unlimited,
        };
        let schedule = match &self.vary {
            Some(vary) => vary.changes(duration, rng),
            None => self.schedule.iter().map(Change::build).collect(),
        };
        Ok(PathConfig {
            capacity,
            delay: self.delay.0,
            queue: self.queue.as_ref().map_or(link::Queue::from(u64::MAX), |queue| queue.0.build()),
            policer: self.policer.map(|policer| Policer { rate: policer.rate.0, burst: policer.burst.0 }),
            loss: self.loss.as_ref().map_or(link::Loss::from(0.0), |loss| loss.0.build()),
            jitter: self.jitter.0,
            reordering: self.reordering.map(|r| Reordering { probability: r.probability.0, delay: r.delay.0 }),
            aggregation: self.aggregation.map(|period| Aggregation { period: period.0 }),
            schedule: schedule.into(),
        })
    }
}

impl Change {
    fn build(&self) -> link::Change {
        link::Change {
            at: Time::ZERO + self.at.0,
            rate: self.rate.map(|rate| rate.0),
            delay: self.delay.map(|delay| delay.0),
            loss: self.loss.map(|loss| loss.0),
        }
    }
}

fn read_trace(file: &Path) -> Result<Trace, (&'static str, String)> {
    let text =
        std::fs::read_to_string(file).map_err(|error| ("trace", format!("can't read {}: {error}", file.display())))?;
    Trace::parse(&text).map_err(|error| ("trace", format!("{}: {error}", file.display())))
}
