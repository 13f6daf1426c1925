//! Allegro's rate control: starting, decision making by randomised controlled trials, rate adjusting
//! (NSDI 2015, section 3.2).

use super::phases::{Phases, Task};
use super::probes::{Pair, Round};
use super::{Cut, PathState, Phase, RateBounds, RateControl, RateStartConfig};
use crate::monitor::{IntervalPlan, Measurement, Role};
use crate::units::{Rate, times};
use crate::utility::Utility;
use core::ops::Range;

/// The constants of Allegro's rate control. Begin with those of [`allegro_2015`](crate::profiles::allegro_2015), and change what differs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[non_exhaustive]
pub struct AllegroConfig {
    /// How start-up begins, what it overlooks and where it ends.
    pub start: RateStartConfig,
    /// epsilon_min, a fraction of the rate: the first probe step, and the unit of the adjusting steps.
    pub min_step: f64,
    /// epsilon_max, a fraction of the rate: the largest probe step.
    pub max_step: f64,
    /// Pairs of probes per decision, one or two; all must agree.
    pub pairs: usize,
    /// The length of an interval in round-trip times is drawn from this range.
    pub interval_rtts: Range<f64>,
    /// The fewest packets of an interval.
    pub min_packets: u64,
    /// Between which rates it moves, probes included.
    pub bounds: RateBounds,
}

/// Allegro's rate control.
#[derive(Debug)]
pub struct AllegroControl {
    config: AllegroConfig,
    /// epsilon: how far probes are from the base rate, as a fraction of it.
    step: f64,
    phases: Phases<Adjusting>,
}

/// The adjusting step k, which goes to `rate * (1 + k * epsilon_min * direction)` of the rate before.
#[derive(Clone, Copy, Debug)]
struct Adjusting {
    direction: f64,
    k: f64,
    /// The rate and utility of the step before. The first step has none: it becomes the baseline, as in the
    /// authors' sender, because the winning probe's own utility is noisier (SPEC 1.7).
    previous: Option<(Rate, f64)>,
}

impl AllegroControl {
    /// Rate control with random choices drawn from `seed`.
    pub fn new(config: AllegroConfig, seed: u64) -> AllegroControl {
        let phases = Phases::new(config.start, config.bounds, config.pairs, seed);
        AllegroControl { step: config.min_step, phases, config }
    }

    /// All pairs of a round are in: move if they agree, else look again with a larger step.
    fn on_round(&mut self, round: &Round, utility: &dyn Utility) -> bool {
        let sign = |pair: &Pair| {
            pair.rate_difference()?;
            let (faster, slower) = (utility.utility(&pair.faster), utility.utility(&pair.slower));
            faster.partial_cmp(&slower)
        };
        let mut signs = round.pairs().iter().map(sign);
        let first = signs.next().flatten();
        let direction = match first {
            Some(order) if order.is_ne() && signs.all(|sign| sign == first) => f64::from(order as i8),
            _ => {
                // A pair that couldn't be sent as planned is no reason to look further away.
                if round.pairs().iter().all(|pair| pair.rate_difference().is_some()) {
                    self.step = (self.step + self.config.min_step).min(self.config.max_step);
                }
                self.phases.probe();
                return false;
            }
        };
        self.phases.set_rate(self.phases.rate() * (1.0 + self.step * direction));
        self.step = self.config.min_step;
        self.adjust(Adjusting { direction, k: 0.0, previous: None });
        true
    }

    /// Takes the adjusting step after this one. At the end of the range of rates, where no result is worse than the one
    /// before, it looks around again.
    fn adjust(&mut self, mut adjusting: Adjusting) {
        adjusting.k += 1.0;
        let factor = 1.0 + adjusting.k * self.config.min_step * adjusting.direction;
        let before = self.phases.rate();
        self.phases.set_rate(before * factor);
        if self.phases.rate() == before {
            self.phases.probe();
        } else {
            self.phases.move_on(adjusting);
        }
    }

    fn on_adjusted(&mut self, mut adjusting: Adjusting, result: &Measurement, utility: &dyn Utility) {
        if result.is_limited() {
            self.phases.probe();
            return;
        }
        let utility = utility.utility(result);
        match adjusting.previous {
            Some((rate, previous)) if utility < previous => {
                self.phases.set_rate(rate);
                self.phases.probe();
            }
            _ => {
                adjusting.previous = Some((self.phases.rate(), utility));
                self.adjust(adjusting);
            }
        }
    }
}

impl RateControl for AllegroControl {
    fn plan(&mut self, path: &PathState) -> IntervalPlan {
        let role = self.phases.next_role(path);
        let mut rate = self.phases.rate();
        if let Role::Probe { faster, .. } = role {
            rate = self.config.bounds.clamp(rate * if faster { 1.0 + self.step } else { 1.0 - self.step });
        }
        let Range { start, end } = self.config.interval_rtts;
        let rtts = start + (end - start) * self.phases.random();
        IntervalPlan {
            rate,
            role,
            length: times(path.rtt, rtts),
            min_packets: self.config.min_packets,
            max_packets: u64::MAX,
        }
    }

    fn on_result(&mut self, role: Role, result: &Measurement, utility: &dyn Utility, _path: &PathState) -> bool {
        match self.phases.on_result(role, result, utility) {
            Task::Nothing { realign } => return realign,
            Task::Limit(arrived) => self.limit(arrived),
            Task::Decide(round) => return self.on_round(&round, utility),
            Task::Judge(adjusting) => self.on_adjusted(adjusting, result, utility),
        }
        true
    }

    fn cut(&mut self, cut: Cut) {
        self.step = self.config.min_step;
        self.phases.cut(cut);
    }

    fn limit(&mut self, ceiling: Rate) {
        self.phases.limit(ceiling);
    }

    fn rate(&self) -> Rate {
        self.phases.rate()
    }

    fn phase(&self) -> Phase {
        self.phases.phase()
    }
}
