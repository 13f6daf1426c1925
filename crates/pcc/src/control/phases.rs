//! The phases that both algorithms go through: starting, probing, moving.

use super::probes::{Probes, Round};
use super::starting::{RateStartConfig, StartStep, Starting};
use super::{Cut, PathState, Phase, RateBounds};
use crate::monitor::{Measurement, Role};
use crate::units::Rate;
use crate::utility::Utility;

/// The base rate and the phase. `M` is what an algorithm knows about the move whose result it waits for.
#[derive(Debug)]
pub(super) struct Phases<M> {
    start: RateStartConfig,
    /// The bounds of the base rate.
    bounds: RateBounds,
    /// The pairs of probes in a round before which nothing is known.
    pairs: usize,
    rng: fastrand::Rng,
    /// The base rate; zero until the first plan.
    rate: Rate,
    /// The rate of the first plan.
    first_rate: Rate,
    state: State<M>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per connection, and a box would allocate per round")]
enum State<M> {
    Starting(Starting),
    Probing(Probes),
    Moving {
        step: M,
        /// Whether the interval of this move is in flight.
        awaiting: bool,
    },
}

/// What the result of an interval asks of the algorithm.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once, and a box would allocate per round")]
pub(super) enum Task<M> {
    /// Nothing; `realign` says whether the rate changed at once.
    Nothing { realign: bool },
    /// To lower the rate to this one, which is what arrived.
    Limit(Rate),
    /// To decide by a complete round of probes.
    Decide(Round),
    /// To judge this move by the result.
    Judge(M),
}

impl<M: Copy> Phases<M> {
    /// Begins with the start-up phase. Random choices are drawn from `seed`.
    pub fn new(start: RateStartConfig, bounds: RateBounds, pairs: usize, seed: u64) -> Phases<M> {
        Phases {
            start,
            bounds,
            pairs,
            rng: fastrand::Rng::with_seed(seed),
            rate: Rate::ZERO,
            first_rate: Rate::ZERO,
            state: State::Starting(Starting::default()),
        }
    }

    pub fn rate(&self) -> Rate {
        self.rate
    }

    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = self.bounds.clamp(rate);
    }

    pub fn phase(&self) -> Phase {
        match self.state {
            State::Starting(_) => Phase::Starting,
            State::Probing(_) => Phase::Probing,
            State::Moving { .. } => Phase::Moving,
        }
    }

    /// A number drawn evenly from 0..1.
    pub fn random(&mut self) -> f64 {
        self.rng.f64()
    }

    /// Begins a round of probes before which nothing is known.
    pub fn probe(&mut self) {
        self.probe_pairs(self.pairs);
    }

    /// Begins a round of `pairs` pairs of probes.
    pub fn probe_pairs(&mut self, pairs: usize) {
        self.state = State::Probing(Probes::new(pairs, &mut self.rng));
    }

    /// Sends the next interval as a move.
    pub fn move_on(&mut self, step: M) {
        self.state = State::Moving { step, awaiting: false };
    }

    /// The role of the next interval; sets the base rate when it is the first.
    pub fn next_role(&mut self, path: &PathState) -> Role {
        if self.rate.is_zero() {
            self.set_rate(self.start.initial_rate(path));
            self.first_rate = self.rate;
        }
        match &mut self.state {
            State::Starting(starting) => match starting.next_rate(&self.start, self.rate) {
                Some(rate) => {
                    self.rate = self.bounds.clamp(rate);
                    Role::Start
                }
                None => Role::Hold,
            },
            State::Moving { awaiting, .. } if !*awaiting => {
                *awaiting = true;
                Role::Move
            }
            State::Probing(probes) => probes.next_role().unwrap_or(Role::Hold),
            State::Moving { .. } => Role::Hold,
        }
    }

    /// Takes the result of an interval, and plays the start-up phase by it.
    pub fn on_result(&mut self, role: Role, result: &Measurement, utility: &dyn Utility) -> Task<M> {
        match (&mut self.state, role) {
            (State::Starting(starting), Role::Start) => {
                let step = starting.on_result(&self.start, self.rate, result, utility);
                Task::Nothing { realign: self.on_start_step(step) }
            }
            (State::Probing(probes), Role::Probe { index, .. }) => match probes.on_result(index, *result) {
                None => Task::Nothing { realign: false },
                Some(round) => round.arrived_in_spite().map_or(Task::Decide(round), Task::Limit),
            },
            (State::Moving { step, .. }, Role::Move) => Task::Judge(*step),
            _ => Task::Nothing { realign: false },
        }
    }

    /// Returns whether the rate changed at once.
    fn on_start_step(&mut self, step: StartStep) -> bool {
        let before = self.rate;
        let (rate, leaves) = match step {
            StartStep::Stay => return false,
            StartStep::Go(rate) => (rate, false),
            StartStep::Leave(rate) => (rate, true),
        };
        self.set_rate(rate);
        if leaves || self.rate <= before {
            self.probe();
        }
        true
    }

    /// See [`RateControl::cut`](super::RateControl::cut).
    pub fn cut(&mut self, cut: Cut) {
        self.set_rate(self.rate * 0.5);
        match cut {
            Cut::Restart | Cut::Idle => {
                self.set_rate(self.rate.max(self.first_rate));
                self.state = State::Starting(Starting::default());
            }
            Cut::Loss | Cut::Silence => self.probe(),
        }
    }

    /// See [`RateControl::limit`](super::RateControl::limit).
    pub fn limit(&mut self, ceiling: Rate) {
        self.set_rate(self.rate.min(ceiling));
        match &mut self.state {
            State::Starting(starting) => starting.tried = false,
            State::Probing(_) | State::Moving { .. } => self.probe(),
        }
    }
}
