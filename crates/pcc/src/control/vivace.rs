//! Vivace's rate control: gradient ascent on the utility (NSDI 2018, section 4), and the released sender's mechanisms.

mod config;

pub use config::{DoubleCheck, GradientFilter, LossSignificance, Pairs, VivaceConfig};

use super::probes::{Pair, Probes};
use super::starting::{StartStep, Starting};
use super::step::Step;
use super::{Cut, PathState, Phase, RateBounds, RateControl};
use crate::monitor::{Measurement, Plan, Role};
use crate::units::Rate;
use crate::utility::Utility;
use core::time::Duration;

/// Vivace's rate control.
#[derive(Debug)]
pub struct Vivace {
    config: VivaceConfig,
    rng: fastrand::Rng,
    /// The base rate; zero until the first plan.
    rate: Rate,
    /// The rate of the first plan.
    first_rate: Rate,
    step: Step,
    state: State,
    /// A gradient that waits for its double check.
    unchecked: Option<f64>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per connection, and a box would allocate per round")]
enum State {
    Starting(Starting),
    Probing(Probes),
    Moving(Moving),
}

/// A single interval at the new rate, compared with the one before the change.
#[derive(Debug)]
struct Moving {
    reference: Measurement,
    awaiting: bool,
}

impl Vivace {
    /// Rate control with random choices drawn from `rng`.
    pub fn new(config: VivaceConfig, rng: fastrand::Rng) -> Vivace {
        let step = Step::new(config.step);
        Vivace {
            config,
            rng,
            rate: Rate::ZERO,
            first_rate: Rate::ZERO,
            step,
            state: State::Starting(Starting::default()),
            unchecked: None,
        }
    }

    /// Sets the base rate so that the probes around it stay within the bounds.
    fn set_rate(&mut self, rate: Rate) {
        let RateBounds { min, max } = self.config.bounds;
        self.rate = rate.clamp(min, max * (1.0 / (1.0 + self.config.probe_step)));
    }

    fn probe(&mut self, pairs: usize) {
        self.state = State::Probing(Probes::new(pairs, &mut self.rng));
    }

    /// The pairs of a round after which nothing is known.
    fn cautious_pairs(&self) -> usize {
        match self.config.pairs {
            Pairs::One => 1,
            Pairs::TwoThenOne => 2,
        }
    }

    /// The probe step as a fraction of the rate.
    fn probe_step(&self) -> f64 {
        self.config.min_probe_step.fraction(self.rate).max(self.config.probe_step)
    }

    fn filter(&self, mut result: Measurement) -> Measurement {
        let gradient = &mut result.rtt_gradient;
        if self.config.ignore_falling_rtt {
            *gradient = gradient.max(0.0);
        }
        match self.config.gradient_filter {
            GradientFilter::Threshold(threshold) if gradient.abs() < threshold => *gradient = 0.0,
            GradientFilter::Threshold(_) => {}
            GradientFilter::Quantise(quantum) => *gradient = (*gradient / quantum).trunc() * quantum,
        }
        result
    }

    /// A round is complete: turn it into a step, or look again.
    fn on_round(&mut self, pairs: &mut [Pair], utility: &dyn Utility) -> bool {
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
            self.probe(1);
            return true;
        };
        let Some(gradient) = self.double_check(gradient, &loss) else {
            self.probe(pairs.len());
            return true;
        };
        let before = self.rate;
        let (change, same_direction) = self.step.advance(gradient, before);
        self.change_rate(change);
        let moves = self.config.moves_above.is_some_and(|fraction| change > fraction * before.mbps());
        if moves && let Some(pair) = pairs.last() {
            self.state = State::Moving(Moving { reference: average(&pair.faster, &pair.slower), awaiting: false });
        } else {
            self.probe(if same_direction { 1 } else { self.cautious_pairs() });
        }
        true
    }

    fn change_rate(&mut self, change: f64) {
        let rate =
            if change < 0.0 { self.rate - Rate::from_mbps(-change) } else { self.rate + Rate::from_mbps(change) };
        self.set_rate(rate);
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

    fn on_moved(&mut self, result: Measurement, utility: &dyn Utility) -> bool {
        let State::Moving(Moving { reference, .. }) = &self.state else { return false };
        let difference = result.rate.mbps() - reference.rate.mbps();
        let asked = result.target.mbps() - reference.target.mbps();
        if result.is_limited() || difference.abs() < asked.abs() / 2.0 || difference == 0.0 {
            self.probe(self.cautious_pairs());
            return true;
        }
        let gradient = (utility.utility(&result) - utility.utility(reference)) / difference;
        let before = self.rate;
        let (change, _) = self.step.advance(gradient, before);
        self.change_rate(change);
        if self.config.moves_above.is_some_and(|fraction| change > fraction * before.mbps()) {
            self.state = State::Moving(Moving { reference: result, awaiting: false });
        } else {
            self.probe(self.cautious_pairs());
        }
        true
    }
}

impl RateControl for Vivace {
    fn plan(&mut self, path: &PathState) -> Plan {
        if self.rate.is_zero() {
            self.set_rate(self.config.start.initial_rate(path));
            self.first_rate = self.rate;
        }
        let role = match &mut self.state {
            State::Starting(Starting { awaiting, .. }) if !*awaiting => {
                *awaiting = true;
                Role::Start
            }
            State::Moving(Moving { awaiting, .. }) if !*awaiting => {
                *awaiting = true;
                Role::Move
            }
            State::Probing(probes) => probes.next_role().unwrap_or(Role::Hold),
            _ => Role::Hold,
        };
        let factor = match role {
            Role::Probe { faster: true, .. } => 1.0 + self.probe_step(),
            Role::Probe { faster: false, .. } => 1.0 - self.probe_step(),
            _ => 1.0,
        };
        Plan {
            rate: (self.rate * factor).min(self.config.bounds.max),
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
        if !matches!(self.state, State::Starting(_)) {
            result = self.filter(result);
        }
        match (&mut self.state, role) {
            (State::Starting(starting), Role::Start) => {
                match starting.on_result(&self.config.start, self.rate, &result, utility) {
                    StartStep::Repeat => return false,
                    StartStep::Go(rate) => {
                        let before = self.rate;
                        self.set_rate(rate);
                        if self.rate <= before {
                            self.probe(self.cautious_pairs());
                        }
                    }
                    StartStep::Leave(rate) => {
                        self.set_rate(rate);
                        self.probe(self.cautious_pairs());
                    }
                }
                true
            }
            (State::Probing(probes), Role::Probe { index, .. }) => {
                if !probes.on_result(index, result) {
                    return false;
                }
                if let Some(arrived) = probes.arrived_in_spite() {
                    self.limit(arrived);
                    return true;
                }
                let mut pairs = [None; 2];
                for (slot, pair) in pairs.iter_mut().zip(probes.pairs()) {
                    *slot = Some(pair);
                }
                match &mut pairs {
                    [Some(first), Some(second)] => self.on_round(&mut [*first, *second], utility),
                    [Some(only), _] => self.on_round(&mut [*only], utility),
                    _ => false,
                }
            }
            (State::Moving(_), Role::Move) => self.on_moved(result, utility),
            _ => false,
        }
    }

    fn cut(&mut self, cut: Cut) {
        self.set_rate(self.rate * 0.5);
        self.step.reset();
        self.unchecked = None;
        match cut {
            Cut::Restart => {
                self.set_rate(self.rate.max(self.first_rate));
                self.state = State::Starting(Starting::default());
            }
            Cut::Loss | Cut::Silence => self.probe(self.cautious_pairs()),
        }
    }

    fn limit(&mut self, ceiling: Rate) {
        self.set_rate(self.rate.min(ceiling));
        self.unchecked = None;
        match &mut self.state {
            State::Starting(starting) => starting.awaiting = false,
            State::Probing(_) | State::Moving(_) => self.probe(self.cautious_pairs()),
        }
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn phase(&self) -> Phase {
        match self.state {
            State::Starting(_) => Phase::Starting,
            State::Probing(_) => Phase::Probing,
            State::Moving(_) => Phase::Moving,
        }
    }
}

impl LossSignificance {
    /// Gives both probes of a pair their common loss, unless a queue stands or the faster one clearly lost more.
    fn pool_chance(&self, Pair { faster, slower }: &mut Pair) {
        let queue_stands = |m: &Measurement| m.rtt - m.min_rtt > self.standing_queue * m.min_rtt;
        let (n, m) = (faster.packets_sent as f64, slower.packets_sent as f64);
        let common = (faster.loss * n + slower.loss * m) / (n + m);
        let error = (common * (1.0 - common) * (1.0 / n + 1.0 / m)).sqrt();
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
