//! How late things were done: percentiles.

use std::time::Duration;

/// Percentiles of the time between when something was due and when it was done; to the microsecond, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Half was at most this late.
    pub p50: Duration,
    /// 99 % was at most this late.
    pub p99: Duration,
    /// The largest lateness.
    pub max: Duration,
}

impl Lateness {
    /// How late 1 % may be on a path with this round-trip time before it is no longer that path: lateness acts as jitter, and matters by how
    /// large it is beside the delays of the path.
    pub fn tolerable(rtt: Duration) -> Duration {
        (rtt / 50).clamp(Duration::from_micros(500), Duration::from_millis(10))
    }
}

/// Counts latenesses in steps of a microsecond up to 20 ms; what is later counts as the latest.
#[derive(Debug)]
pub struct LatenessHistogram {
    steps: Vec<u64>,
    beyond: u64,
    max: Duration,
}

impl LatenessHistogram {
    const STEPS: usize = 20_000;

    /// An empty histogram.
    pub fn new() -> LatenessHistogram {
        LatenessHistogram { steps: vec![0; LatenessHistogram::STEPS], beyond: 0, max: Duration::ZERO }
    }

    /// Adds a sample.
    pub fn record(&mut self, lateness: Duration) {
        match self.steps.get_mut(lateness.as_micros() as usize) {
            Some(count) => *count += 1,
            None => self.beyond += 1,
        }
        self.max = self.max.max(lateness);
    }

    /// The percentiles; zero of none.
    pub fn summary(&self) -> Lateness {
        Lateness { p50: self.percentile(50), p99: self.percentile(99), max: self.max }
    }

    fn percentile(&self, percent: u64) -> Duration {
        let total = self.steps.iter().sum::<u64>() + self.beyond;
        let rank = (total * percent).div_ceil(100);
        let mut below = 0;
        let step = self.steps.iter().position(|count| {
            below += count;
            below >= rank
        });
        step.map_or(self.max, |step| Duration::from_micros(step as u64 + 1).min(self.max))
    }
}

impl Default for LatenessHistogram {
    fn default() -> LatenessHistogram {
        LatenessHistogram::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_rank() {
        let mut histogram = LatenessHistogram::new();
        assert_eq!(histogram.summary(), Lateness::default());
        (0..98).for_each(|_| histogram.record(Duration::from_nanos(4500)));
        histogram.record(Duration::from_micros(77));
        histogram.record(Duration::from_secs(1));
        let us = Duration::from_micros;
        assert_eq!(histogram.summary(), Lateness { p50: us(5), p99: us(78), max: us(1_000_000) });
        (0..100).for_each(|_| histogram.record(Duration::from_millis(30)));
        assert_eq!(histogram.summary().p99, Duration::from_secs(1));
    }
}
