//! Vivace's rate control: gradient ascent on the utility (NSDI 2018, section 4), and the released sender's mechanisms.

mod config;

pub use config::{DoubleCheck, GradientFilter, LossSignificance, Pairs, VivaceConfig};

use super::phases::{Phases, Task};
use super::probes::{Pair, Round};
use super::step::Step;
use super::{Cut, PathState, Phase, RateBounds, RateControl};
use crate::monitor::{IntervalPlan, Measurement, Role};
use crate::units::Rate;
use crate::utility::Utility;
use core::time::Duration;

/// Probes are never slower than this part of the smallest base rate, whatever the probe step, so that sending never stops. The steps of the
/// profiles, half of the rate at most, don't lead below it.
const SLOWEST_PROBE: f64 = 0.5;

/// Vivace's rate control.
#[derive(Debug)]
pub struct VivaceControl {
    config: VivaceConfig,
    step: Step,
    /// A move is a single interval at the new rate, compared with this result of the rate before.
    phases: Phases<Measurement>,
    /// A gradient that waits for its double check.
    unchecked: Option<f64>,
}

impl VivaceControl {
    /// Rate control with random choices drawn from `seed`.
    pub fn new(config: VivaceConfig, seed: u64) -> VivaceControl {
        let RateBounds { min, max } = config.bounds;
        // The probes around the base rate have to stay within the bounds.
        let bounds = RateBounds { min, max: max * (1.0 / (1.0 + config.probe_step)) };
        let pairs = match config.pairs {
            Pairs::One => 1,
            Pairs::TwoThenOne => 2,
        };
        let phases = Phases::new(config.start, bounds, pairs, seed);
        VivaceControl { step: Step::new(config.step), phases, unchecked: None, config }
    }

    /// The probe step as a fraction of the rate.
    fn probe_step(&self) -> f64 {
        self.config.min_probe_step.fraction(self.phases.rate()).max(self.config.probe_step)
    }

    fn filter(&self, mut result: Measurement) -> Measurement {
        let gradient = &mut result.rtt_gradient;
        if self.config.ignore_falling_rtt {
            *gradient = gradient.max(0.0);
        }
        match self.config.gradient_filter {
            GradientFilter::Threshold(threshold) if gradient.abs() < threshold => *gradient = 0.0,
            GradientFilter::Threshold(_) => {}
            GradientFilter::Quantise(quantum) => *gradient = libm::trunc(*gradient / quantum) * quantum,
        }
        result
    }

    /// A round is complete: turn it into a step, or look again.
    fn on_round(&mut self, mut round: Round, utility: &dyn Utility) {
        let pairs = round.pairs_mut();
        let loss = RoundLoss::of(pairs);
        if self.config.pool_loss_below.is_some_and(|limit| loss.total() <= limit) {
            for pair in pairs.iter_mut() {
                (pair.faster.loss, pair.slower.loss) = (loss.total(), loss.total());
            }
        }
        if let Some(test) = self.config.loss_significance {
            pairs.iter_mut().for_each(|pair| test.pool_chance(pair));
        }
        let Some(gradient) = common_gradient(pairs, utility) else {
            // Also when the rate couldn't be reached. The released sender looks again with a single pair.
            self.unchecked = None;
            return self.phases.probe_pairs(1);
        };
        let Some(gradient) = self.double_check(gradient, &loss) else {
            return self.phases.probe_pairs(pairs.len());
        };
        let Stepped { is_large, same_direction } = self.take_step(gradient);
        match pairs.last() {
            Some(pair) if is_large => self.phases.move_on(average(&pair.faster, &pair.slower)),
            _ if same_direction => self.phases.probe_pairs(1),
            _ => self.phases.probe(),
        }
    }

    /// Moves the rate along the gradient, in utility per Mbit/s.
    fn take_step(&mut self, gradient: f64) -> Stepped {
        let before = self.phases.rate();
        let (change, same_direction) = self.step.advance(gradient, before);
        let rate = if change < 0.0 { before - Rate::from_mbps(-change) } else { before + Rate::from_mbps(change) };
        self.phases.set_rate(rate);
        let is_large = self.config.moves_above.is_some_and(|fraction| change > fraction * before.mbps());
        Stepped { is_large, same_direction }
    }

    /// The gradient to act on, `None` if the round has to be repeated first.
    fn double_check(&mut self, gradient: f64, loss: &RoundLoss) -> Option<f64> {
        match (self.config.double_check, self.unchecked.take()) {
            (DoubleCheck::Paper, Some(first)) if first.signum() == gradient.signum() => Some((first + gradient) / 2.0),
            (_, Some(_)) => Some(gradient),
            (check, None) => {
                let doubtful = match check {
                    DoubleCheck::Off => false,
                    DoubleCheck::Paper => loss.is_inverted(),
                    DoubleCheck::Released => gradient > 0.0 && loss.is_suspicious(),
                };
                if doubtful {
                    self.unchecked = Some(gradient);
                }
                (!doubtful).then_some(gradient)
            }
        }
    }

    /// The interval of a move is in: go on along the gradient between `reference` and its result, or look again.
    fn on_moved(&mut self, reference: &Measurement, result: Measurement, utility: &dyn Utility) {
        let difference = result.rate.mbps() - reference.rate.mbps();
        let asked = result.target.mbps() - reference.target.mbps();
        if result.is_limited() || difference.abs() < asked.abs() / 2.0 || difference == 0.0 {
            return self.phases.probe();
        }
        let gradient = (utility.utility(&result) - utility.utility(reference)) / difference;
        if self.take_step(gradient).is_large {
            self.phases.move_on(result);
        } else {
            self.phases.probe();
        }
    }
}

/// The properties of a step of the rate.
struct Stepped {
    /// Whether it is an increase so large that single intervals follow instead of probes.
    is_large: bool,
    /// Whether it has the direction of the step before.
    same_direction: bool,
}

impl RateControl for VivaceControl {
    fn plan(&mut self, path: &PathState) -> IntervalPlan {
        let role = self.phases.next_role(path);
        let factor = match role {
            Role::Probe { faster: true, .. } => 1.0 + self.probe_step(),
            Role::Probe { faster: false, .. } => 1.0 - self.probe_step(),
            _ => 1.0,
        };
        let RateBounds { min, max } = self.config.bounds;
        IntervalPlan {
            rate: (self.phases.rate() * factor).clamp(min * SLOWEST_PROBE, max),
            role,
            length: path.rtt.max(Duration::from_nanos(1)),
            min_packets: self.config.min_packets,
            max_packets: self.config.max_packets.unwrap_or(u64::MAX),
        }
    }

    fn on_result(&mut self, role: Role, result: &Measurement, utility: &dyn Utility, _path: &PathState) -> bool {
        let mut result = *result;
        if result.rtt_fit() < self.config.min_fit {
            result.rtt_gradient = 0.0;
        }
        if self.phases.phase() != Phase::Starting {
            result = self.filter(result);
        }
        match self.phases.on_result(role, &result, utility) {
            Task::Nothing { realign } => return realign,
            Task::Limit(arrived) => self.limit(arrived),
            Task::Decide(round) => self.on_round(round, utility),
            Task::Judge(reference) => self.on_moved(&reference, result, utility),
        }
        true
    }

    fn cut(&mut self, cut: Cut) {
        self.step.reset();
        self.unchecked = None;
        self.phases.cut(cut);
    }

    fn limit(&mut self, ceiling: Rate) {
        self.unchecked = None;
        self.phases.limit(ceiling);
    }

    fn rate(&self) -> Rate {
        self.phases.rate()
    }

    fn phase(&self) -> Phase {
        self.phases.phase()
    }
}

impl LossSignificance {
    /// Gives both probes of a pair their common loss, unless a queue stands or the faster one clearly lost more.
    fn pool_chance(&self, Pair { faster, slower }: &mut Pair) {
        let queue_stands = |m: &Measurement| m.rtt - m.min_rtt > self.standing_queue * m.min_rtt;
        let (n, m) = (faster.packets_sent as f64, slower.packets_sent as f64);
        let common = (faster.loss * n + slower.loss * m) / (n + m);
        let error = libm::sqrt(common * (1.0 - common) * (1.0 / n + 1.0 / m));
        let by_chance = faster.loss - slower.loss <= self.z * error;
        if by_chance && common <= self.max_loss && !queue_stands(faster) && !queue_stands(slower) {
            (faster.loss, slower.loss) = (common, common);
        }
    }
}

/// The mean utility gradient of the pairs in utility per Mbit/s; `None` if they disagree, or one says nothing.
fn common_gradient(pairs: &[Pair], utility: &dyn Utility) -> Option<f64> {
    let mut sum = 0.0;
    for pair in pairs {
        let gradient = (utility.utility(&pair.faster) - utility.utility(&pair.slower)) / pair.rate_difference()?;
        if gradient == 0.0 || gradient * sum < 0.0 {
            return None;
        }
        sum += gradient;
    }
    Some(sum / pairs.len() as f64)
}

/// What a pair says about the rate between its probes: the reference of a move that follows.
fn average(a: &Measurement, b: &Measurement) -> Measurement {
    Measurement {
        rate: (a.rate + b.rate) * 0.5,
        target: (a.target + b.target) * 0.5,
        loss: (a.loss + b.loss) * 0.5,
        rtt_gradient: (a.rtt_gradient + b.rtt_gradient) * 0.5,
        ..*b
    }
}

/// The packets that the probes of a round lost.
#[derive(Clone, Copy, Debug, Default)]
struct RoundLoss {
    sent: u64,
    lost_faster: u64,
    lost_slower: u64,
    loss_faster: f64,
    loss_slower: f64,
}

impl RoundLoss {
    fn of(pairs: &[Pair]) -> RoundLoss {
        pairs.iter().fold(RoundLoss::default(), |sum, Pair { faster, slower }| RoundLoss {
            sent: sum.sent + faster.packets_sent + slower.packets_sent,
            lost_faster: sum.lost_faster + faster.packets_lost,
            lost_slower: sum.lost_slower + slower.packets_lost,
            loss_faster: sum.loss_faster + faster.loss,
            loss_slower: sum.loss_slower + slower.loss,
        })
    }

    fn total(&self) -> f64 {
        (self.lost_faster + self.lost_slower) as f64 / self.sent.max(1) as f64
    }

    /// Whether the faster probes lost the smaller fraction.
    fn is_inverted(&self) -> bool {
        self.loss_faster < self.loss_slower
    }

    fn is_suspicious(&self) -> bool {
        self.total() >= 0.05 && self.lost_slower > self.lost_faster + 2 && self.lost_faster > 0
    }
}
