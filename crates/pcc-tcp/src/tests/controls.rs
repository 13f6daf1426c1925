//! Decision by decision: both cores get the same sequences of intervals, and must go to the same rates.
//!
//! Where a comparison is too close to call, rounding decides it, and the two may go different ways for good. Such a tie
//! is honest if the Rust core itself takes C's way when what it measured so far differs by a few parts in a million.
//! The sequence ends there; ties must be rare.

use super::{fixed, in_c, profiles};
use crate::ffi::Profile;
use crate::ffi::testing::{Control, Path};
use crate::measured::{ONE, Plan, real};
use pcc::control::allegro::Allegro;
use pcc::control::vivace::Vivace;
use pcc::profiles::ControlConfig;
use pcc::utility::Utility;
use pcc::{Cut, Measurement, PathState, Phase, Rate, RateControl, Role, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How far the rates may be apart.
const TOLERANCE: f64 = 1e-3;
/// How much measurements are varied in the search for a tie, and how often.
const VARIATION: f64 = 4e-6;
const VARIANTS: u64 = 200;

/// What a path does to an interval.
#[derive(Clone, Copy, Debug)]
struct Fate {
    /// What was achieved of the rate that was asked for.
    achieved: f64,
    /// Loss and trend beyond those of a full link.
    loss: f64,
    gradient: f64,
    /// The standard error of the trend, relative to it.
    error: f64,
    /// The queueing delay, relative to the smallest round-trip time.
    queue: f64,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// An interval is sent, and the result of the oldest one awaited comes if there are more than so many.
    Interval(Fate, usize),
    Cut(Cut),
    /// The rate is limited to this fraction of it.
    Limit(f64),
}

fn fates() -> impl Strategy<Value = Fate> {
    let achieved = prop_oneof![12 => 0.99..1.01f64, 1 => 0.3..1.1f64];
    let losses = prop_oneof![6 => Just(0.0), 6 => 0.0..0.03f64, 2 => 0.0..0.15f64, 1 => 0.0..=1.0f64];
    let gradients = prop_oneof![6 => Just(0.0), 6 => -0.05..0.05f64, 1 => -1.0..4.0f64];
    let queues = prop_oneof![3 => 0.0..0.06f64, 1 => 0.0..3.0f64];
    (achieved, losses, gradients, 0.0..0.5f64, queues).prop_map(|(achieved, loss, gradient, error, queue)| Fate {
        achieved,
        loss,
        gradient,
        error,
        queue,
    })
}

fn ops() -> impl Strategy<Value = Op> {
    let cuts = prop_oneof![Just(Cut::Loss), Just(Cut::Silence), Just(Cut::Restart)];
    prop_oneof![
        60 => (fates(), 0..3usize).prop_map(|(fate, lag)| Op::Interval(fate, lag)),
        1 => cuts.prop_map(Op::Cut),
        1 => (0.5..1.1f64).prop_map(Op::Limit),
    ]
}

/// A path and what happens on it.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    capacity: Rate,
    rtt: Duration,
    ops: Vec<Op>,
}

fn cases() -> impl Strategy<Value = Case> {
    let capacities = (-0.5..4.5f64).prop_map(|digits| Rate::from_mbps(10f64.powf(digits)));
    let rtts = (1_000..800_000u64).prop_map(Duration::from_micros);
    (any::<u64>(), capacities, rtts, prop::collection::vec(ops(), 1..160)).prop_map(|(seed, capacity, rtt, ops)| Case {
        seed,
        capacity,
        rtt,
        ops,
    })
}

impl Case {
    /// The result of an interval that both can represent.
    fn measure(&self, fate: Fate, target: Rate) -> Measurement {
        let whole = |rate: Rate| Rate::from_bits_per_sec(rate.bits_per_sec().round());
        let rate = whole(target * fate.achieved);
        let excess = (1.0 - self.capacity / rate).max(0.0);
        let packets = (rate.bytes_in(self.rtt) / 1200).clamp(10, 3000);
        let lost = ((fate.loss + excess / 2.0).min(1.0) * packets as f64).round();
        let gradient = real(fixed(fate.gradient + (rate / self.capacity - 1.0).clamp(0.0, 3.0)));
        let min_rtt = self.rtt.as_secs_f64();
        Measurement {
            start: Time::ZERO,
            rate,
            target,
            packets_sent: packets,
            packets_lost: lost as u64,
            // Rounded down, as C does it.
            loss: (lost / packets as f64 * ONE).floor() / ONE,
            rtt: min_rtt * (1.0 + fate.queue),
            previous_rtt: 0.0,
            min_rtt,
            rtt_deviation: 0.0,
            rtt_gradient: gradient,
            rtt_gradient_error: gradient.abs() * fate.error,
        }
    }
}

/// One call of a control, to be repeated.
#[derive(Clone, Copy, Debug)]
enum Call {
    Plan,
    Result(Role, Measurement),
    Cut(Cut),
    Limit(Rate),
}

/// What a control does after a call: its rate, its phase, and whether it changed the rate at once.
type Answer = (Rate, u32, bool);

fn agree(a: Answer, b: Answer) -> bool {
    ((a.0 / b.0) - 1.0).abs() <= TOLERANCE && (a.1, a.2) == (b.1, b.2)
}

/// The Rust core with all that was asked of it.
struct Core {
    control: Box<dyn RateControl>,
    utility: Arc<dyn Utility>,
    path: PathState,
}

impl Core {
    fn new(profile: &pcc::Profile, case: &Case) -> Core {
        let rng = fastrand::Rng::with_seed(case.seed);
        let control: Box<dyn RateControl> = match profile.control.clone() {
            ControlConfig::Allegro(config) => Box::new(Allegro::new(config, rng)),
            ControlConfig::Vivace(config) => Box::new(Vivace::new(config, rng)),
        };
        let path = PathState { now: Time::ZERO, mtu: 1200, rtt: case.rtt, min_rtt: case.rtt };
        Core { control, utility: profile.utility.shared(), path }
    }

    fn answer(&self, realigned: bool) -> Answer {
        let phase = match self.control.phase() {
            Phase::Starting => 0,
            Phase::Probing => 1,
            Phase::Moving => 2,
        };
        (self.control.rate(), phase, realigned)
    }

    fn call(&mut self, call: Call) -> Answer {
        let realigned = match call {
            Call::Plan => {
                self.control.plan(&self.path);
                false
            }
            Call::Result(role, result) => self.control.on_result(role, &result, &*self.utility, &self.path),
            Call::Cut(cut) => {
                self.control.cut(cut);
                true
            }
            Call::Limit(ceiling) => {
                self.control.limit(ceiling);
                true
            }
        };
        self.answer(realigned)
    }
}

/// Varies what was measured by a few parts in a million.
fn varied(call: Call, rng: &mut fastrand::Rng) -> Call {
    let Call::Result(role, mut m) = call else { return call };
    let mut factor = || 1.0 + VARIATION * (2.0 * rng.f64() - 1.0);
    m.rate = m.rate * factor();
    m.loss *= factor();
    m.rtt *= factor();
    m.rtt_gradient *= factor();
    m.rtt_gradient_error *= factor();
    Call::Result(role, m)
}

/// Whether the Rust core may answer the last call as C did, if what it measured was a little different.
fn is_tie(profile: &pcc::Profile, case: &Case, calls: &[Call], c: Answer) -> bool {
    (0..VARIANTS).any(|seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut core = Core::new(profile, case);
        calls.iter().map(|&call| core.call(varied(call, &mut rng))).last().is_some_and(|answer| agree(answer, c))
    })
}

/// What the comparison saw.
#[derive(Default)]
struct Seen {
    decisions: Cell<u64>,
    ties: Cell<u64>,
    apart: Cell<f64>,
}

fn role_number(role: Role) -> (u8, u8, u8) {
    match role {
        Role::Start => (0, 0, 0),
        Role::Probe { index, faster } => (1, index as u8, faster.into()),
        Role::Move => (2, 0, 0),
        Role::Hold => (3, 0, 0),
    }
}

/// Plays a case to both; `Err` if they differ and it is no tie.
fn compare(which: Profile, profile: &pcc::Profile, case: &Case, seen: &Seen) -> Result<(), TestCaseError> {
    let (mut core, mut c) = (Core::new(profile, case), Control::new(which, case.seed));
    let path = Path { mtu: 1200, rtt: case.rtt.as_nanos() as u64 };
    let mut calls = Vec::new();
    let mut awaited: VecDeque<(Role, Plan, Measurement)> = VecDeque::new();
    for &op in &case.ops {
        let call = match op {
            Op::Interval(fate, lag) => {
                calls.push(Call::Plan);
                let (plan, plan_c) = (core.control.plan(&core.path), c.plan(&path));
                prop_assert_eq!(role_number(plan.role), (plan_c.role, plan_c.index, plan_c.faster));
                prop_assert!((plan.rate.bits_per_sec() / plan_c.rate as f64 - 1.0).abs() <= TOLERANCE);
                prop_assert!((plan.length.as_nanos() as f64 / plan_c.length as f64 - 1.0).abs() < 1e-6);
                prop_assert_eq!(plan.min_packets, u64::from(plan_c.min_packets));
                prop_assert_eq!(plan.max_packets.min(u32::MAX.into()), u64::from(plan_c.max_packets));
                let result = case.measure(fate, Rate::from_bits_per_sec(plan_c.rate as f64));
                awaited.push_back((plan.role, plan_c, result));
                if awaited.len() <= lag {
                    continue;
                }
                let Some((role, plan_c, result)) = awaited.pop_front() else { continue };
                let realigned = c.on_result(&plan_c, &in_c(&result));
                (Call::Result(role, result), realigned)
            }
            Op::Cut(cut) => {
                c.cut(match cut {
                    Cut::Loss => 0,
                    Cut::Silence => 1,
                    Cut::Restart => 2,
                });
                (Call::Cut(cut), true)
            }
            Op::Limit(fraction) => {
                let ceiling = (core.control.rate() * fraction).bits_per_sec().round();
                c.limit(ceiling as u64);
                (Call::Limit(Rate::from_bits_per_sec(ceiling)), true)
            }
        };
        let (call, realigned) = call;
        calls.push(call);
        let answer = core.call(call);
        let answer_c = (Rate::from_bits_per_sec(c.rate() as f64), c.phase(), realigned);
        seen.decisions.set(seen.decisions.get() + 1);
        if !agree(answer, answer_c) {
            prop_assert!(is_tie(profile, case, &calls, answer_c), "Rust {answer:?}, C {answer_c:?} after {call:?}");
            seen.ties.set(seen.ties.get() + 1);
            return Ok(());
        }
        seen.apart.set(seen.apart.get().max((answer.0 / answer_c.0 - 1.0).abs()));
        if realigned {
            awaited.iter_mut().for_each(|(role, plan, _)| (*role, plan.role) = (Role::Hold, 3));
        }
    }
    Ok(())
}

#[test]
fn both_cores_decide_alike() {
    for (which, profile) in profiles() {
        let seen = Seen::default();
        TestRunner::new(Config { cases: 2000, failure_persistence: None, ..Config::default() })
            .run(&cases(), |case| compare(which, &profile, &case, &seen))
            .unwrap();
        let (decisions, ties) = (seen.decisions.get(), seen.ties.get());
        println!("{}: {decisions} results, {ties} ties, rates within {:.1e}", profile.name, seen.apart.get());
        assert!(ties * 1000 <= decisions, "{}: {ties} ties in {decisions} results are too many", profile.name);
    }
}
