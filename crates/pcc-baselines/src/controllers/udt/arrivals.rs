//! What UDT's receiver measures: the speed of arrival and, from packet pairs, the capacity of the path (Gu, Grossman 2007,
//! section 3.3; draft-gg-udt-03, section 3.6).
//!
//! The contract has no clock at the receiver: the times at which acknowledgements arrive stand for those of the packets.

use pcc::Time;
use std::collections::VecDeque;

/// Every so many packets, two leave back to back.
pub(crate) const PAIR_INTERVAL: u64 = 16;
/// Intervals between arrivals that are kept; more than the minimum must be near their median.
const MAX_ARRIVALS: usize = 16;
const MIN_ARRIVALS: usize = 8;
/// Intervals of packet pairs that are kept (UDT4).
const MAX_PAIRS: usize = 64;
/// Intervals that differ from the median by more than this factor don't count.
const OUTLIER: f64 = 8.0;
/// The weight of a new value in the averages.
const GAIN: f64 = 1.0 / 8.0;

/// The latest intervals, in seconds.
#[derive(Clone, Debug, Default)]
struct Intervals(VecDeque<f64>);

impl Intervals {
    fn add(&mut self, seconds: f64, kept: usize) {
        if self.0.len() == kept {
            self.0.pop_front();
        }
        self.0.push_back(seconds);
    }

    /// How many each second, by the mean of those near the median; `None` unless more than `min_count` are near it.
    fn rate(&self, min_count: usize) -> Option<f64> {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = *sorted.get(sorted.len() / 2)?;
        let near = sorted.iter().filter(|i| **i < median * OUTLIER && **i > median / OUTLIER);
        let (count, sum) = near.fold((0, 0.0), |(count, sum), interval| (count + 1, sum + interval));
        (count > min_count && sum > 0.0).then(|| count as f64 / sum)
    }
}

/// Speeds in packets a second.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    last: Option<Time>,
    /// Packets that came since then.
    count: u32,
    intervals: Intervals,
    /// The first packet of the latest pair, with its time of arrival.
    pair: Option<(u64, Time)>,
    pairs: Intervals,
    /// The average speed of arrival.
    pub speed: f64,
    /// The average capacity of the path.
    pub capacity: f64,
}

impl Default for Arrivals {
    fn default() -> Self {
        Arrivals {
            last: None,
            count: 0,
            intervals: Intervals::default(),
            pair: None,
            pairs: Intervals::default(),
            speed: 16.0,   // UDT4
            capacity: 1.0, // UDT4
        }
    }
}

impl Arrivals {
    /// The packet with a sequence number has arrived.
    pub fn on_arrived(&mut self, sequence: u64, now: Time) {
        self.count += 1;
        if sequence.is_multiple_of(PAIR_INTERVAL) {
            self.pair = Some((sequence, now));
        } else if let Some((_, at)) = self.pair.take_if(|(first, _)| *first + 1 == sequence) {
            let seconds = now.since(at).as_secs_f64();
            if seconds > 0.0 {
                self.pairs.add(seconds, MAX_PAIRS);
            }
        }
    }

    /// All that came together has been reported.
    pub fn end_batch(&mut self, now: Time) {
        if self.count == 0 {
            return;
        }
        if let Some(last) = self.last {
            let seconds = now.since(last).as_secs_f64() / f64::from(self.count);
            if seconds > 0.0 {
                self.intervals.add(seconds, MAX_ARRIVALS);
            }
        }
        (self.last, self.count) = (Some(now), 0);
    }

    /// Takes what was measured into the averages, as the sender does with each of the receiver's reports.
    pub fn report(&mut self) {
        if let Some(speed) = self.intervals.rate(MIN_ARRIVALS) {
            self.speed += (speed - self.speed) * GAIN;
        }
        if let Some(capacity) = self.pairs.rate(0) {
            self.capacity += (capacity - self.capacity) * GAIN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn pairs_measure_the_capacity_and_arrivals_the_speed() {
        let mut arrivals = Arrivals::default();
        let mut now = Time::ZERO;
        for sequence in 0..320 {
            // 1 ms apart, but 100 us inside a pair.
            now += Duration::from_micros(if sequence % 16 == 1 { 100 } else { 1000 });
            arrivals.on_arrived(sequence, now);
            arrivals.end_batch(now);
        }
        for _ in 0..200 {
            arrivals.report();
        }
        assert!((arrivals.speed - 1000.0).abs() < 1e-6, "{}", arrivals.speed);
        assert!((arrivals.capacity - 10_000.0).abs() < 1e-6, "{}", arrivals.capacity);
    }

    #[test]
    fn a_pair_that_lost_a_packet_says_nothing() {
        let mut arrivals = Arrivals::default();
        for sequence in [1, 16, 18, 32] {
            arrivals.on_arrived(sequence, Time::from_nanos(sequence * 1_000_000));
        }
        assert!(arrivals.pairs.rate(0).is_none());
        arrivals.on_arrived(33, Time::from_nanos(34_000_000));
        assert!((arrivals.pairs.rate(0).unwrap() - 500.0).abs() < 1e-6);
    }
}
