//! What is measured of a case, and how good it is.

use serde::{Deserialize, Serialize};

/// What is measured of the flows under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Goodput of all of them, in Mbit/s.
    Throughput,
    /// 95th percentile of the time that their packets waited in queues, in ms.
    Delay,
    /// The share of their packets that was declared lost, of those that were or arrived.
    Loss,
    /// Jain's index of their goodputs, while all of them ran.
    Jain,
    /// Their goodput for each flow, over that of the flows beside them.
    Share,
    /// Mean time that transfers took, in ms; those that are not complete count until the end of the run.
    Completion,
    /// The share of time in which a video stalled.
    Stalled,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 7] = [
        Metric::Throughput,
        Metric::Delay,
        Metric::Loss,
        Metric::Jain,
        Metric::Share,
        Metric::Completion,
        Metric::Stalled,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::Delay => "delay",
            Metric::Loss => "loss",
            Metric::Jain => "jain",
            Metric::Share => "share",
            Metric::Completion => "completion",
            Metric::Stalled => "stalled",
        }
    }

    /// The unit; empty for a plain number.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Throughput => "Mbit/s",
            Metric::Delay | Metric::Completion => "ms",
            Metric::Loss | Metric::Jain | Metric::Share | Metric::Stalled => "",
        }
    }

    /// How good a value is: at least 0, and twice as good is twice as much. `rtt` is the round-trip time of the empty path in ms.
    pub fn goodness(self, value: f64, rtt: f64) -> f64 {
        match self {
            Metric::Throughput | Metric::Jain => value,
            Metric::Delay => rtt / (rtt + value),
            Metric::Loss | Metric::Stalled => 1.0 - value,
            // Who takes twice as much as others is as bad as who leaves them twice as much.
            Metric::Share if value > 1.0 => 1.0 / value,
            Metric::Share => value,
            Metric::Completion => 1.0 / value.max(1e-3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_delay_loss_and_time_is_better() {
        assert_eq!(Metric::Delay.goodness(20.0, 20.0), 0.5);
        assert_eq!(Metric::Loss.goodness(0.25, 20.0), 0.75);
        assert_eq!(Metric::Completion.goodness(200.0, 20.0) * 2.0, Metric::Completion.goodness(100.0, 20.0));
        assert_eq!(Metric::Share.goodness(4.0, 20.0), Metric::Share.goodness(0.25, 20.0));
        assert_eq!(Metric::Share.goodness(f64::INFINITY, 20.0), 0.0);
    }
}
