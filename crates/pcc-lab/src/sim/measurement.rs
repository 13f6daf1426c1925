//! What is noted of a run: from when on it is measured, and the state at the end of each bin.

use super::{BIN, LinkOutcome};
use crate::link::{Counters, Path, PathConfig};
use pcc::Time;
use std::time::Duration;

/// When something is to be noted.
#[derive(Debug)]
pub(crate) struct Clock {
    measure_from: Time,
    record: bool,
    samples: u32,
}

impl Clock {
    /// A measurement that begins at `measure_from`, with samples if they are to be recorded.
    pub fn new(measure_from: Duration, record: bool) -> Clock {
        Clock { measure_from: Time::ZERO + measure_from, record, samples: 0 }
    }

    /// When something is to be noted next.
    pub fn next_event(&self, now: Time) -> Option<Time> {
        let begin = Some(self.measure_from).filter(|time| *time > now);
        begin.into_iter().chain(self.record.then(|| self.next_sample())).min()
    }

    /// Whether the measurement begins at `now`.
    pub fn begins(&self, now: Time) -> bool {
        now == self.measure_from
    }

    /// Whether a bin ends at `now`, and samples are to be taken.
    pub fn samples(&mut self, now: Time) -> bool {
        let ends = self.record && now == self.next_sample();
        self.samples += u32::from(ends);
        ends
    }

    fn next_sample(&self) -> Time {
        Time::ZERO + BIN * (self.samples + 1)
    }
}

/// A link and what is noted of it.
#[derive(Debug)]
pub(crate) struct Link<P> {
    pub path: Path<P>,
    before_measurement: Counters,
    queue: Vec<u64>,
}

impl<P> Link<P> {
    /// An empty link; its random choices come from `seed`.
    pub fn new(config: &PathConfig, seed: u64) -> Link<P> {
        Link { path: Path::new(config, seed), before_measurement: Counters::default(), queue: Vec::new() }
    }

    /// Forgets what was counted so far.
    pub fn begin_measurement(&mut self) {
        self.before_measurement = self.path.counters();
    }

    /// Notes how long the queue is.
    pub fn sample(&mut self) {
        self.queue.push(self.path.queued_bytes());
    }

    /// What came of it so far.
    pub fn outcome(&self) -> LinkOutcome {
        LinkOutcome { counters: self.path.counters() - self.before_measurement, queue: self.queue.clone() }
    }
}
