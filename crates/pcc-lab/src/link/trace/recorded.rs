//! Recorded capacity, in the format of Mahimahi.

use crate::link::packet::MTU;
use pcc::{Rate, Time};
use std::time::Duration;

const NANOS_PER_MS: u64 = 1_000_000;

/// When a link could send: opportunities of one [`MTU`] each, to the millisecond, over and over again.
///
/// As in Mahimahi (Netravali et al., *Mahimahi: accurate record-and-replay for HTTP*, USENIX ATC 2015), an opportunity carries
/// up to 1,500 bytes of packets that wait; a packet may need several, and what isn't used is lost. The packet that is being
/// sent counts as queued, which it doesn't in Mahimahi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Milliseconds since the beginning, sorted; the last one, which is not 0, is the period.
    pub(super) opportunities: Box<[u32]>,
}

/// Why a text is not a trace. Lines count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The trace has no line.
    #[error("an empty trace: there must be at least one line, with a time in milliseconds")]
    Empty,
    /// A line isn't a whole number of milliseconds.
    #[error("line {line}: not a time in whole milliseconds, a number from 0 to 4294967295")]
    NotATime {
        /// The number of that line, from 1 on.
        line: usize,
    },
    /// A time is before the one in the line above.
    #[error("line {line}: {time} ms after {previous} ms; times must not decrease")]
    NotSorted {
        /// The number of that line, from 1 on.
        line: usize,
        /// The time in this line, in ms.
        time: u32,
        /// The time in the line above, in ms.
        previous: u32,
    },
    /// The last time, which is when the trace begins again, is zero.
    #[error("line {line}: the last time is 0 ms; it is the length of the trace and must be at least 1 ms")]
    NoLength {
        /// The number of the last line.
        line: usize,
    },
}

impl Trace {
    /// Reads a trace: in each line the time of an opportunity in milliseconds, sorted. The trace begins again at the last time.
    ///
    /// # Errors
    ///
    /// When the text is not such a list, or its last time is zero.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let (mut opportunities, mut previous) = (Vec::new(), 0);
        for (line, text) in (1..).zip(text.lines()) {
            let time = text.trim().parse().map_err(|_| TraceError::NotATime { line })?;
            if time < previous {
                return Err(TraceError::NotSorted { line, time, previous });
            }
            opportunities.push(time);
            previous = time;
        }
        match opportunities.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoLength { line: opportunities.len() }),
            Some(_) => Ok(Trace { opportunities: opportunities.into() }),
        }
    }

    /// After how long it begins again.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms())
    }

    /// The average rate, if every opportunity is used.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bytes_over(self.per_period() * MTU, self.period())
    }

    /// Bytes that the opportunities in `from..to` can carry.
    pub fn capacity_between(&self, from: Time, to: Time) -> u64 {
        self.before(to).saturating_sub(self.before(from)).saturating_mul(MTU)
    }

    /// Opportunities before `time`.
    fn before(&self, time: Time) -> u64 {
        time.as_nanos().checked_sub(1).map_or(0, |last| self.until(Time::from_nanos(last)))
    }

    /// Opportunities at or before `time`, which is the index of the first one after, counted through all repetitions.
    pub(super) fn until(&self, time: Time) -> u64 {
        let ms = time.as_nanos() / NANOS_PER_MS;
        let (periods, phase) = (ms / self.period_ms(), ms % self.period_ms());
        let passed = self.opportunities.partition_point(|at| u64::from(*at) <= phase);
        periods.saturating_mul(self.per_period()).saturating_add(passed as u64)
    }

    /// When the opportunity with this index comes.
    pub(super) fn time(&self, index: u64) -> Time {
        let (periods, index) = (index / self.per_period(), index % self.per_period());
        let ms = periods.saturating_mul(self.period_ms()).saturating_add(self.opportunities[index as usize].into());
        Time::from_nanos(ms.saturating_mul(NANOS_PER_MS))
    }

    fn per_period(&self) -> u64 {
        self.opportunities.len() as u64
    }

    fn period_ms(&self) -> u64 {
        self.opportunities.last().map_or(1, |last| (*last).into())
    }
}
