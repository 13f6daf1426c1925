//! A link in a scenario.

use super::fault::Fault;
use super::queue::QueueLimit;
use crate::link::{
    Aggregation, Capacity, Change, Limit, Loss, PathConfig, Policer, QueueConfig, QueueKind, Reordering, Trace,
};
use crate::quantity::{Quantity, read, read_option, read_or_table, read_range};
use crate::stall::{Stalling, Stalls};
use pcc::{Rate, Time};
use serde::{Deserialize, Deserializer};
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
    #[serde(deserialize_with = "read_rate")]
    pub rate: Option<Rate>,
    /// A file in Mahimahi's format, relative to the scenario, instead of a rate.
    pub trace: Option<PathBuf>,
    /// A generated trace like that of an LTE link with this mean rate, instead of a rate.
    #[serde(deserialize_with = "read_option")]
    pub lte: Option<Rate>,
    /// Propagation delay, one way.
    #[serde(deserialize_with = "read")]
    pub delay: Duration,
    /// The queue: a size for a drop-tail queue, or a table. The default has no limit.
    #[serde(deserialize_with = "read_or_table")]
    pub queue: Option<QueueConfig<QueueLimit>>,
    /// A rate limit without a queue.
    pub policer: Option<Policer>,
    /// Random loss: a probability, or a table for bursts.
    #[serde(deserialize_with = "read_or_table")]
    pub loss: Option<Loss>,
    /// The most that is randomly added to the delay; order is kept.
    #[serde(deserialize_with = "read")]
    pub jitter: Duration,
    /// Packets that others overtake.
    pub reordering: Option<Reordering>,
    /// Packets leave only at multiples of this.
    #[serde(deserialize_with = "read_option")]
    pub aggregation: Option<Duration>,
    /// Times in which nothing comes out.
    pub stalls: Option<Stalls>,
    /// Times in which the bottleneck serves nothing: its queue fills, and what it could have carried is gone.
    pub pauses: Option<Stalls>,
    /// Changes at given times.
    pub schedule: Vec<Change>,
    /// Random changes at regular times.
    pub vary: Option<Vary>,
}

/// A rate from the start on.
struct LinkRate(Rate);

impl Quantity for LinkRate {
    const EXPECTED: &'static str = Rate::EXPECTED;

    fn from_text(text: &str) -> Result<LinkRate, String> {
        Rate::from_text(text).map(LinkRate).map_err(|error| match text.parse() {
            Ok(Rate::ZERO) => {
                format!("{error}; an outage is a change in the schedule, such as {{ at = \"10s\", rate = \"0mbit\" }}")
            }
            _ => error,
        })
    }
}

fn read_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
    Ok(read_option(deserializer)?.map(|LinkRate(rate)| rate))
}

/// `vary = { every = "5s", rate = ["10mbit", "100mbit"] }`: what is given is drawn anew, uniformly, each time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { every = \"5s\", rate = [\"10mbit\", \"100mbit\"] }")]
pub struct Vary {
    /// How often, the first time at the start.
    #[serde(deserialize_with = "read")]
    pub every: Duration,
    /// The rate is drawn from the first to the second.
    #[serde(default, deserialize_with = "read_range")]
    pub rate: Option<[Rate; 2]>,
    /// The propagation delay is drawn from the first to the second.
    #[serde(default, deserialize_with = "read_range")]
    pub delay: Option<[Duration; 2]>,
    /// The probability of loss is drawn from the first to the second.
    #[serde(default, deserialize_with = "read_range")]
    pub loss: Option<[f64; 2]>,
}

impl Vary {
    fn changes(&self, duration: Duration, rng: &mut fastrand::Rng) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut at = Duration::ZERO;
        while at < duration {
            let mut draw = |[low, high]: [f64; 2]| low + (high - low) * rng.f64();
            changes.push(Change {
                at: Time::ZERO + at,
                rate: self.rate.map(|range| Rate::from_mbps(draw(range.map(Rate::mbps)))),
                delay: self.delay.map(|range| Duration::from_secs_f64(draw(range.map(|delay| delay.as_secs_f64())))),
                loss: self.loss.map(draw),
            });
            at += self.every;
        }
        changes
    }
}

impl Link {
    /// What is wrong with it, if anything: the key and the reason.
    pub(super) fn check(&self, folder: &Path) -> Result<(), Fault> {
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
        if let Some(queue) = &self.queue {
            check_marking(queue)?;
        }
        if self.vary.is_some_and(|vary| vary.every < Duration::from_millis(1)) {
            return Err(("vary.every", "this must be at least 1ms".to_owned()));
        }
        if self.vary.is_some_and(|vary| vary.rate.is_none() && vary.delay.is_none() && vary.loss.is_none()) {
            return Err(("vary", "this needs a rate, a delay or a loss, from the smallest to the largest".to_owned()));
        }
        if self.vary.is_some() && !self.schedule.is_empty() {
            return Err(("vary", "a link has either vary or a schedule".to_owned()));
        }
        if let Some(Err((key, reason))) = self.stalls.as_ref().map(Stalls::check) {
            return Err((if key == "every" { "stalls.every" } else { "stalls.length" }, reason));
        }
        if let Some(Err((key, reason))) = self.pauses.as_ref().map(Stalls::check) {
            return Err((if key == "every" { "pauses.every" } else { "pauses.length" }, reason));
        }
        if self.pauses.is_some() && (self.rate.is_none() || self.vary.is_some() || !self.schedule.is_empty()) {
            return Err(("pauses", "this needs a rate, and neither vary nor a schedule".to_owned()));
        }
        if !self.schedule.is_sorted_by(|before, after| before.at <= after.at) {
            return Err(("schedule", "the changes must be in the order of time".to_owned()));
        }
        Ok(())
    }

    /// The largest packet that fits through its queue, as it comes out, and its policer, after the key of the one that is narrower.
    pub(super) fn largest_packet(&self, queue: Option<QueueConfig>) -> (&'static str, u64) {
        let queue = queue.map_or(u64::MAX, |queue| match queue.limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => packets.saturating_mul(u64::MAX),
        });
        let burst = self.policer.map_or(u64::MAX, |policer| policer.burst);
        if burst < queue { ("policer.burst", burst) } else { ("queue", queue) }
    }

    /// How often it changes at random.
    pub(super) fn changes_in(&self, duration: Duration) -> u128 {
        let of = |every: Duration| duration.as_nanos() / every.as_nanos().max(1);
        self.vary.map_or(0, |vary| of(vary.every)) + self.pauses.as_ref().map_or(0, |pauses| 2 * of(pauses.every))
    }

    /// Its rate, if it has one that stays as it is.
    pub(super) fn constant_rate(&self) -> Option<Rate> {
        let changes = self.schedule.iter().any(|change| change.rate.is_some())
            || self.vary.is_some_and(|vary| vary.rate.is_some());
        self.rate.filter(|_| !changes)
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

    /// The link for a run, with this queue and random choices from `rng`; `folder` is where the scenario's trace files are.
    ///
    /// # Errors
    ///
    /// The key and the reason, when a trace can't be read.
    pub(super) fn build(
        &self,
        queue: Option<QueueConfig>,
        folder: &Path,
        duration: Duration,
        rng: &mut fastrand::Rng,
    ) -> Result<PathConfig, Fault> {
        let capacity = match (&self.trace, self.rate, self.lte) {
            (Some(file), ..) => Capacity::Trace(Arc::new(read_trace(&folder.join(file))?)),
            (None, Some(rate), _) => Capacity::Constant(rate),
            (None, None, Some(mean)) => Capacity::Trace(Arc::new(Trace::lte(rng.u64(..), mean, duration))),
            (None, None, None) => Capacity::Unlimited,
        };
        let schedule = match (&self.vary, &self.pauses, self.rate) {
            (Some(vary), ..) => vary.changes(duration, rng),
            (None, Some(pauses), Some(rate)) => changes_of(pauses, rate, duration, rng),
            _ => self.schedule.clone(),
        };
        Ok(PathConfig {
            capacity,
            delay: self.delay,
            queue: queue.unwrap_or(QueueConfig::from(u64::MAX)),
            policer: self.policer,
            loss: self.loss.unwrap_or(Loss::from(0.0)),
            jitter: self.jitter,
            reordering: self.reordering,
            aggregation: self.aggregation.map(|period| Aggregation { period }),
            stalls: self.stalls.clone(),
            schedule: schedule.into(),
        })
    }
}

/// Whether a queue of this kind can mark as it should.
fn check_marking(queue: &QueueConfig<QueueLimit>) -> Result<(), Fault> {
    let fault = |key, reason: &str| Err((key, reason.to_owned()));
    match (queue.kind, queue.ecn, queue.mark_above) {
        (QueueKind::DropTail, true, _) => fault(
            "queue.ecn",
            "a drop-tail queue marks from a length on; write mark-above = \"65 packets\", for example, instead",
        ),
        (QueueKind::CoDel | QueueKind::FqCoDel, _, Some(_)) => {
            fault("queue.mark-above", "this queue marks by time, where it would drop; write ecn = true instead")
        }
        (QueueKind::Drr, true, _) | (QueueKind::Drr, _, Some(_)) => fault(
            "queue.kind",
            "this queue can't mark; codel and fq-codel can with ecn = true, drop-tail with mark-above",
        ),
        _ => Ok(()),
    }
}

/// The pauses of a bottleneck with this rate.
fn changes_of(pauses: &Stalls, rate: Rate, duration: Duration, rng: &mut fastrand::Rng) -> Vec<Change> {
    let change = |at, rate| Change { at, rate: Some(rate), ..Change::default() };
    let pauses = Stalling::within(pauses.clone(), duration, rng.fork());
    pauses.flat_map(|(begins, ends)| [change(begins, Rate::ZERO), change(ends, rate)]).collect()
}

fn read_trace(file: &Path) -> Result<Trace, Fault> {
    let text =
        std::fs::read_to_string(file).map_err(|error| ("trace", format!("can't read {}: {error}", file.display())))?;
    Trace::parse(&text).map_err(|error| ("trace", format!("{}: {error}", file.display())))
}
