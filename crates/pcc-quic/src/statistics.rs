//! What an application can read of a controller while the connection runs.

use pcc::{Phase, Rate, Time};
use std::time::Duration;

/// A rate is measured over a round trip, or over this time if that is longer.
const MIN_ROUND: Duration = Duration::from_millis(10);

/// What the controller of a path knows and does. Read it with [`Statistics::of`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The rate that the controller takes for the right one ([`Pcc::rate`](pcc::Pcc::rate)), without the changes by which it probes for a better
    /// one. Packets that get lost are part of it. While a connection starts up it is what was reached so far, and rises each round
    /// trip. `None` for a controller that was made with [`Factory::new`](crate::Factory::new).
    pub rate: Option<Rate>,
    /// How fast packets leave while there are some to send. This may exceed what the path carries: a controller with a window, as
    /// `queue-target` is, sends the window in less than a round trip (four fifths of it, and less during start-up), and waits for
    /// acknowledgements then. `None` if the controller has a window only, and no largest rate was set.
    pub pacing_rate: Option<Rate>,
    /// The rate at which packets were acknowledged during the last round trip, or the last 10 ms if that is longer. An application
    /// that sends little makes it small: it doesn't tell what the path could carry. Zero before the first round trip.
    pub delivery_rate: Rate,
    /// The share of packets that were lost during the same time, in 0..=1.
    pub loss: f64,
    /// noq's smoothed round-trip time. `None` before the first acknowledgement.
    pub smoothed_rtt: Option<Duration>,
    /// The shortest time in which a packet of this path was acknowledged.
    pub min_rtt: Option<Duration>,
    /// The most bytes that may be in flight: sent, and neither acknowledged nor lost.
    pub in_flight_cap: u64,
    /// What the controller does at the moment. `None` as for `rate`.
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

    /// All packets whose outcome became known at `now` have been counted.
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

    /// noq's smoothed round-trip time. `None` before the first acknowledgement.
    pub(crate) fn smoothed_rtt(&self) -> Option<Duration> {
        self.smoothed_rtt
    }

    /// What was measured, and nothing of what only the controller knows.
    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            rate: None,
            pacing_rate: None,
            delivery_rate: self.delivery_rate,
            loss: self.loss,
            smoothed_rtt: self.smoothed_rtt,
            min_rtt: self.min_rtt,
            in_flight_cap: 0,
            phase: None,
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
            // The packets of the first batch were sent before the round began, so they aren't counted.
            rounds.on_acked(1250, rtt, rtt);
            rounds.on_acked(1250, rtt + rtt, rtt);
            if ms % 2 == 0 {
                rounds.on_lost();
            }
            rounds.on_batch_end(at(100 + ms));
        }
        let statistics = rounds.statistics();
        assert_eq!(statistics.delivery_rate, Rate::from_mbps(20.0));
        assert_eq!(statistics.loss, 0.2);
        assert_eq!((statistics.smoothed_rtt, statistics.min_rtt), (Some(rtt), Some(rtt)));
    }
}
