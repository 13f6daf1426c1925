//! The start-up phase of both controls with a rate: double the rate until the utility falls.

use super::{LIMITED_LOSS, PathState};
use crate::monitor::Measurement;
use crate::units::Rate;
use crate::utility::Utility;
use core::mem;

/// The factor from one rate to the next (both papers: Allegro 2015, section 3.2; Vivace 2018, section 4).
const GROWTH: f64 = 2.0;

/// How the start-up phase of a control with a rate begins and what it overlooks. (A control with a window has another one:
/// [`queue_target::StartConfig`](super::queue_target::StartConfig).)
///
/// Begin with the one of a [profile](crate::profiles), and change its fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[non_exhaustive]
pub struct RateStartConfig {
    /// The rate of the first interval, unless `packets_per_rtt` gives more.
    pub rate: Rate,
    /// Packets per round trip that the first interval sends at least. No round-trip time is known then: the core
    /// assumes 100 ms.
    pub packets_per_rtt: u64,
    /// Whether the rate waits for the result of an interval before it doubles. If not, it doubles with every interval,
    /// at most ten times before there is a result, and a sender is two to four times too fast by the time it hears of it.
    pub await_results: bool,
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

impl RateStartConfig {
    /// The rate of the first interval on a path.
    pub fn initial_rate(&self, path: &PathState) -> Rate {
        self.rate.max(Rate::from_bytes_over(self.packets_per_rtt.saturating_mul(path.mtu), path.rtt))
    }
}

/// How often the rate doubles in a row before there is a result. With the 100 ms that are assumed at first this takes a second, longer than
/// the round trip of any usual path. Where nothing comes back, the rate would double until the silence is noticed after seconds: to 2^30 times
/// the first.
const MAX_UNJUDGED: u32 = 10;

/// What a result means for the start-up phase.
pub(super) enum StartStep {
    /// Go on at this rate, at once.
    Go(Rate),
    /// Stay at the rate of now.
    Stay,
    /// Leave at this rate.
    Leave(Rate),
}

/// The state of the start-up phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Starting {
    /// Whether an interval has been sent at the rate of now.
    pub tried: bool,
    /// How often the rate has doubled since the last result.
    unjudged: u32,
    /// The rate and utility of the interval before.
    previous: Option<(Rate, f64)>,
}

impl Starting {
    /// The rate of the next interval to try, after `rate`; `None` while a result is awaited.
    pub fn next_rate(&mut self, config: &RateStartConfig, rate: Rate) -> Option<Rate> {
        if !mem::replace(&mut self.tried, true) {
            return Some(rate);
        }
        let doubles = !config.await_results && self.unjudged < MAX_UNJUDGED;
        self.unjudged += u32::from(doubles);
        doubles.then(|| rate * GROWTH)
    }

    /// Judges an interval of this phase; `rate` is the rate of now.
    pub fn on_result(
        &mut self,
        config: &RateStartConfig,
        rate: Rate,
        result: &Measurement,
        utility: &dyn Utility,
    ) -> StartStep {
        self.unjudged = 0;
        let limited = result.is_limited();
        if limited && result.loss <= LIMITED_LOSS {
            self.tried = false;
            return StartStep::Stay;
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
        if limited {
            self.tried = false;
            return StartStep::Stay;
        }
        self.previous = Some((result.target, utility));
        // Between the two rates that it can be: that of the interval, or, as the next one has doubled it already, twice that.
        if rate > result.target * 1.5 {
            return StartStep::Stay;
        }
        self.tried = false;
        StartStep::Go(rate * GROWTH)
    }
}

/// The rate at which an interval arrived at the receiver: growing delay stretches it.
fn arrival_rate(result: &Measurement) -> Rate {
    result.throughput() * (1.0 / (1.0 + result.rtt_gradient.max(0.0)))
}

/// Removes what start-up overlooks: a random loss among the few packets of an early interval would end it.
fn overlook(config: &RateStartConfig, result: &Measurement) -> Measurement {
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
