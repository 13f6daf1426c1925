//! The start-up phase of both controllers: double the rate until the utility falls.

use super::{LIMITED_LOSS, PathState};
use crate::monitor::Measurement;
use crate::units::Rate;
use crate::utility::Utility;

/// How the start-up phase begins and what it overlooks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct StartConfig {
    /// The rate of the first interval, unless `packets_per_rtt` gives more.
    pub rate: Rate,
    /// Packets per round trip that the first interval sends at least. No round-trip time is known then: the core
    /// assumes 100 ms.
    pub packets_per_rtt: u64,
    /// How many lost packets of an interval are overlooked.
    pub ignored_losses: u64,
    /// Trends of the round-trip time up to this size, in seconds per second, are overlooked.
    pub ignored_gradient: f64,
    /// The rule by which the phase ends.
    pub exit: StartExit,
}

/// The rate at which start-up ends.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum StartExit {
    /// The last rate before the utility fell, half of the one that was too much (both papers).
    LastGood,
    /// This fraction, in 0..=1, of the rate at which the too fast interval arrived, if that is above the last good
    /// rate.
    Arrived(f64),
}

impl StartConfig {
    /// The rate of the first interval on a path.
    pub fn initial_rate(&self, path: &PathState) -> Rate {
        self.rate.max(Rate::from_bytes_over(self.packets_per_rtt * path.mtu, path.rtt))
    }
}

/// What a result means for the start-up phase.
pub(super) enum StartStep {
    /// Go on at this rate, at once.
    Go(Rate),
    /// The rate couldn't be reached: measure it again.
    Repeat,
    /// Leave at this rate.
    Leave(Rate),
}

/// The state of the start-up phase. One interval is tried at a time: its result is awaited at an unchanged
/// rate, because doubling blindly offers two to four times the capacity for a round trip (SPEC 0.4).
#[derive(Clone, Debug, Default)]
pub(super) struct Starting {
    /// Whether an interval of this phase is in flight.
    pub awaiting: bool,
    /// The rate and utility of the interval before.
    previous: Option<(Rate, f64)>,
}

impl Starting {
    /// Judges the interval that was tried at `rate`.
    pub fn on_result(
        &mut self,
        config: &StartConfig,
        rate: Rate,
        result: &Measurement,
        utility: &dyn Utility,
    ) -> StartStep {
        self.awaiting = false;
        if result.is_limited() && result.loss <= LIMITED_LOSS {
            return StartStep::Repeat;
        }
        let utility = utility.utility(&overlook(config, result));
        if let Some((rate, previous)) = self.previous
            && utility < previous
        {
            return StartStep::Leave(match config.exit {
                StartExit::LastGood => rate,
                StartExit::Arrived(fraction) => rate.max(arrival_rate(result) * fraction),
            });
        }
        if result.is_limited() {
            return StartStep::Repeat;
        }
        self.previous = Some((rate, utility));
        StartStep::Go(rate * 2.0)
    }
}

/// The rate at which an interval arrived at the receiver: growing delay stretches it.
fn arrival_rate(result: &Measurement) -> Rate {
    result.throughput() * (1.0 / (1.0 + result.rtt_gradient.max(0.0)))
}

/// Removes what start-up overlooks: a random loss among the few packets of an early interval would end it.
fn overlook(config: &StartConfig, result: &Measurement) -> Measurement {
    let mut result = *result;
    if result.packets_lost > 0 {
        let counted = result.packets_lost.saturating_sub(config.ignored_losses);
        result.loss *= counted as f64 / result.packets_lost as f64;
    }
    if result.rtt_gradient.abs() <= config.ignored_gradient {
        result.rtt_gradient = 0.0;
    }
    result
}
