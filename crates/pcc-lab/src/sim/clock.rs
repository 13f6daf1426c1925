//! When a measurement begins, and when each bin ends.

use pcc::Time;
use std::time::Duration;

/// The time that each bin of a series spans: bytes are counted and samples taken for each.
pub const BIN: Duration = Duration::from_millis(100);

/// When something is to be noted.
#[derive(Debug)]
pub(super) struct Clock {
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
