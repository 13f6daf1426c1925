//! Allegro's rate control: starting, decision making by randomised controlled trials, rate adjusting
//! (NSDI 2015, section 3.2).

use super::probes::Probes;
use super::starting::{StartConfig, StartStep, Starting};
use super::{Cut, PathState, Phase, RateBounds, RateControl};
use crate::monitor::{Measurement, Plan, Role};
use crate::units::Rate;
use crate::utility::Utility;
use core::ops::Range;

/// The constants of Allegro's rate control.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct AllegroConfig {
    /// The start-up phase.
    pub start: StartConfig,
    /// epsilon_min: the first probe step, and the unit of the adjusting steps.
    pub min_step: f64,
    /// epsilon_max: the largest probe step.
    pub max_step: f64,
    /// Pairs of probes per decision, one or two; all must agree.
    pub pairs: usize,
    /// The length of an interval in round-trip times is drawn from this range.
    pub interval_rtts: Range<f64>,
    /// Packets that an interval has at least.
    pub min_packets: u64,
    /// The bounds of the rate.
    pub bounds: RateBounds,
}

/// Allegro's rate control.
#[derive(Debug)]
pub struct Allegro {
    config: AllegroConfig,
    rng: fastrand::Rng,
    /// The base rate; zero until the first plan.
    rate: Rate,
    /// The rate of the first plan.
    first_rate: Rate,
    /// epsilon.
    step: f64,
    state: State,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per connection, and a box would allocate per round")]
enum State {
    Starting(Starting),
    Deciding(Probes),
    Adjusting(Adjusting),
}

/// Each step k goes to `rate * (1 + k * epsilon_min * direction)` of the rate before.
#[derive(Debug)]
struct Adjusting {
    direction: f64,
    k: f64,
    /// The rate and utility of the step before. The first step has none: it becomes the baseline, as in the
    /// authors' sender, because the winning probe's own utility is noisier (SPEC 1.7).
    previous: Option<(Rate, f64)>,
    awaiting: bool,
}

impl Allegro {
    /// Rate control with random choices drawn from `rng`.
    pub fn new(config: AllegroConfig, rng: fastrand::Rng) -> Allegro {
        let step = config.min_step;
        Allegro {
            config,
            rng,
            rate: Rate::ZERO,
            first_rate: Rate::ZERO,
            step,
            state: State::Starting(Starting::default()),
        }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = self.config.bounds.clamp(rate);
    }

    fn decide(&mut self) {
        self.state = State::Deciding(Probes::new(self.config.pairs, &mut self.rng));
    }

    /// All pairs of a round are in: move if they agree, else look again with a larger step.
    fn on_round(&mut self, probes: &Probes, utility: &dyn Utility) -> bool {
        let sign = |pair: super::probes::Pair| {
            pair.rate_difference()?;
            let (faster, slower) = (utility.utility(&pair.faster), utility.utility(&pair.slower));
            faster.partial_cmp(&slower)
        };
        if let Some(arrived) = probes.arrived_in_spite() {
            self.limit(arrived);
            return true;
        }
        let mut signs = probes.pairs().map(sign);
        let first = signs.next().flatten();
        let direction = match first {
            Some(order) if order.is_ne() && signs.all(|sign| sign == first) => f64::from(order as i8),
            _ => {
                // A pair that couldn't be sent as planned is no reason to look further away.
                if probes.pairs().all(|pair| pair.rate_difference().is_some()) {
                    self.step = (self.step + self.config.min_step).min(self.config.max_step);
                }
                self.decide();
                return false;
            }
        };
        self.set_rate(self.rate * (1.0 + self.step * direction));
        self.step = self.config.min_step;
        self.state = State::Adjusting(Adjusting { direction, k: 0.0, previous: None, awaiting: false });
        self.adjust();
        true
    }

    /// Takes the next adjusting step.
    fn adjust(&mut self) {
        let State::Adjusting(adjusting) = &mut self.state else { return };
        adjusting.k += 1.0;
        adjusting.awaiting = false;
        let factor = 1.0 + adjusting.k * self.config.min_step * adjusting.direction;
        self.set_rate(self.rate * factor);
    }

    fn on_adjusted(&mut self, result: &Measurement, utility: &dyn Utility) -> bool {
        let State::Adjusting(adjusting) = &mut self.state else { return false };
        if result.is_limited() {
            self.decide();
            return true;
        }
        let utility = utility.utility(result);
        match adjusting.previous {
            Some((rate, previous)) if utility < previous => {
                self.set_rate(rate);
                self.decide();
            }
            _ => {
                adjusting.previous = Some((self.rate, utility));
                self.adjust();
            }
        }
        true
    }
}

impl RateControl for Allegro {
    fn plan(&mut self, path: &PathState) -> Plan {
        if self.rate.is_zero() {
            self.set_rate(self.config.start.initial_rate(path));
            self.first_rate = self.rate;
        }
        let mut rate = self.rate;
        let role = match &mut self.state {
            State::Starting(starting) if !starting.awaiting => {
                starting.awaiting = true;
                Role::Start
            }
            State::Adjusting(adjusting) if !adjusting.awaiting => {
                adjusting.awaiting = true;
                Role::Move
            }
            State::Deciding(probes) => probes.next_role().unwrap_or(Role::Hold),
            _ => Role::Hold,
        };
        if let Role::Probe { faster, .. } = role {
            rate = self.config.bounds.clamp(rate * if faster { 1.0 + self.step } else { 1.0 - self.step });
        }
        let Range { start, end } = self.config.interval_rtts;
        let rtts = start + (end - start) * self.rng.f64();
        Plan { rate, role, length: path.rtt.mul_f64(rtts), min_packets: self.config.min_packets, max_packets: u64::MAX }
    }

    fn on_result(&mut self, role: Role, result: &Measurement, utility: &dyn Utility, _path: &PathState) -> bool {
        match (&mut self.state, role) {
            (State::Starting(starting), Role::Start) => {
                match starting.on_result(&self.config.start, self.rate, result, utility) {
                    StartStep::Repeat => return false,
                    StartStep::Go(rate) => {
                        let before = self.rate;
                        self.set_rate(rate);
                        if self.rate <= before {
                            self.decide();
                        }
                    }
                    StartStep::Leave(rate) => {
                        self.set_rate(rate);
                        self.decide();
                    }
                }
                true
            }
            (State::Deciding(probes), Role::Probe { index, .. }) => {
                if !probes.on_result(index, *result) {
                    return false;
                }
                let probes = probes.clone();
                self.on_round(&probes, utility)
            }
            (State::Adjusting(_), Role::Move) => self.on_adjusted(result, utility),
            _ => false,
        }
    }

    fn cut(&mut self, cut: Cut) {
        self.set_rate(self.rate * 0.5);
        self.step = self.config.min_step;
        match cut {
            Cut::Restart => {
                self.set_rate(self.rate.max(self.first_rate));
                self.state = State::Starting(Starting::default());
            }
            Cut::Loss | Cut::Silence => self.decide(),
        }
    }

    fn limit(&mut self, ceiling: Rate) {
        self.set_rate(self.rate.min(ceiling));
        match &mut self.state {
            State::Starting(starting) => starting.awaiting = false,
            State::Deciding(_) | State::Adjusting(_) => self.decide(),
        }
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn phase(&self) -> Phase {
        match self.state {
            State::Starting(_) => Phase::Starting,
            State::Deciding(_) => Phase::Probing,
            State::Adjusting(_) => Phase::Moving,
        }
    }
}
