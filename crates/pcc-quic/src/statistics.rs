//! What an application can read of a controller while the connection runs.

use pcc::{Phase, Rate, Time};
use std::time::Duration;

/// Packets are counted for at least this long before they make a rate.
const MIN_ROUND: Duration = Duration::from_millis(10);

/// What the controller of a path knows and does. Read it with [`Statistics::of`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The rate that packets are sent at: what the controller takes the path to carry, give or take the few percent that
    /// it probes with. `None` for a controller that has a window only.
    pub pacing_rate: Option<Rate>,
    /// The rate at which packets were acknowledged during the last round trip, or the last 10 ms if that is longer. If the
    /// application had little to send, this is how little, and no bound of the path. Zero before the first round trip.
    pub delivery_rate: Rate,
    /// The share of the packets that was lost in the same round trip, in 0..=1.
    pub loss: f64,
    /// noq's smoothed round-trip time. `None` before the first acknowledgement.
    pub smoothed_rtt: Option<Duration>,
    /// The shortest time in which a packet of this path was acknowledged.
    pub min_rtt: Option<Duration>,
    /// Bytes that may be in flight.
    pub in_flight_cap: u64,
    /// What the controller does at the moment. `None` for one that was made with [`Factory::new`](crate::Factory::new).
    pub phase: Option<Phase>,
}

/// Counts the packets of a round trip.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// When the round being counted began; `None` before the first acknowledgement.
    began: Option<Time>,
    bytes_acked: u64,
    acked: u64,
    lost: u64,
    delivery_rate: Rate,
    loss: f64,
    smoothed_rtt: Option<Duration>,
    min_rtt: Option<Duration>,
}

impl Rounds {
    pub(crate) fn on_acked(&mut self, bytes: u64, rtt: Duration, smoothed: Duration) {
        self.bytes_acked += bytes;
        self.acked += 1;
        self.smoothed_rtt = Some(smoothed);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    pub(crate) fn on_lost(&mut self) {
        self.lost += 1;
    }

    /// All that came at `now` has been counted.
    pub(crate) fn on_batch_end(&mut self, now: Time) {
        if let Some(began) = self.began {
            let elapsed = now.since(began);
            if elapsed < self.smoothed_rtt.unwrap_or_default().max(MIN_ROUND) {
                return;
            }
            self.delivery_rate = Rate::from_bytes_over(self.bytes_acked, elapsed);
            self.loss = self.lost as f64 / (self.acked + self.lost).max(1) as f64;
        }
        (self.began, self.bytes_acked, self.acked, self.lost) = (Some(now), 0, 0, 0);
    }

    pub(crate) fn statistics(&self, pacing_rate: Option<Rate>, in_flight_cap: u64, phase: Option<Phase>) -> Statistics {
        Statistics {
            pacing_rate,
            delivery_rate: self.delivery_rate,
            loss: self.loss,
            smoothed_rtt: self.smoothed_rtt,
            min_rtt: self.min_rtt,
            in_flight_cap,
            phase,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_makes_rate_and_loss() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let rtt = Duration::from_millis(20);
        let mut rounds = Rounds::default();
        for ms in 0..=20 {
            // The packet of the very first batch was sent before the round began.
            rounds.on_acked(1250, rtt, rtt);
            rounds.on_acked(1250, rtt + rtt, rtt);
            if ms % 2 == 0 {
                rounds.on_lost();
            }
            rounds.on_batch_end(at(100 + ms));
        }
        let statistics = rounds.statistics(None, 0, None);
        assert_eq!(statistics.delivery_rate, Rate::from_mbps(20.0));
        assert_eq!(statistics.loss, 0.2);
        assert_eq!((statistics.smoothed_rtt, statistics.min_rtt), (Some(rtt), Some(rtt)));
    }
}
