//! Decision by decision: both cores get the same sequences of intervals, and must go to the same rates.
//! Ties end a sequence; they must be rare.

use super::core::{Call, Core, agree, is_tie};
use super::{fixed, in_c, profiles};
use crate::ffi::Profile;
use crate::ffi::testing::{Control, Path};
use crate::measured::{ONE, Plan, real};
use pcc::{Cut, Measurement, PathState, Rate, Role};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

/// What a path does to an interval.
#[derive(Clone, Copy, Debug)]
struct Outcome {
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
    Interval(Outcome, usize),
    Cut(Cut),
    /// The rate is limited to this fraction of it.
    Limit(f64),
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let achieved = prop_oneof![12 => 0.99..1.01f64, 1 => 0.3..1.1f64];
    let losses = prop_oneof![6 => Just(0.0), 6 => 0.0..0.03f64, 2 => 0.0..0.15f64, 1 => 0.0..=1.0f64];
    let gradients = prop_oneof![6 => Just(0.0), 6 => -0.05..0.05f64, 1 => -1.0..4.0f64];
    let queues = prop_oneof![3 => 0.0..0.06f64, 1 => 0.0..3.0f64];
    (achieved, losses, gradients, 0.0..0.5f64, queues).prop_map(|(achieved, loss, gradient, error, queue)| Outcome {
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
        60 => (outcomes(), 0..3usize).prop_map(|(outcome, lag)| Op::Interval(outcome, lag)),
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
    fn measure(&self, outcome: Outcome, target: Rate) -> Measurement {
        let whole = |rate: Rate| Rate::from_bits_per_sec(rate.bits_per_sec().round());
        let rate = whole(target * outcome.achieved);
        let excess = (1.0 - self.capacity / rate).max(0.0);
        let packets = (rate.bytes_in(self.rtt) / 1200).clamp(10, 3000);
        let lost = ((outcome.loss + excess / 2.0).min(1.0) * packets as f64).round();
        let gradient = real(fixed(outcome.gradient + (rate / self.capacity - 1.0).clamp(0.0, 3.0)));
        let min_rtt = self.rtt.as_secs_f64();
        let mut result = Measurement::new(rate, packets);
        result.target = target;
        result.packets_lost = lost as u64;
        // Rounded down, as C does it.
        result.loss = (lost / packets as f64 * ONE).floor() / ONE;
        (result.rtt, result.min_rtt) = (min_rtt * (1.0 + outcome.queue), min_rtt);
        (result.rtt_gradient, result.rtt_gradient_error) = (gradient, gradient.abs() * outcome.error);
        result
    }
}

/// What the comparison saw.
#[derive(Default)]
struct Seen {
    decisions: Cell<u64>,
    ties: Cell<u64>,
    apart: Cell<f64>,
}

/// Plays a case to both; `Err` if they differ and it is no tie.
fn compare(which: Profile, profile: &pcc::Profile, case: &Case, seen: &Seen) -> Result<(), TestCaseError> {
    let (mut core, mut c) = (Core::new(profile, case.seed), Control::new(which, case.seed));
    let state = PathState::new(1200, case.rtt);
    let path = Path { mtu: 1200, rtt: case.rtt.as_nanos() as u64 };
    let mut calls = Vec::new();
    let mut awaited: VecDeque<(Role, Plan, Measurement)> = VecDeque::new();
    for &op in &case.ops {
        let call = match op {
            Op::Interval(outcome, lag) => {
                calls.push(Call::Plan(state));
                let (plan, plan_c) = (core.plan(&state), c.plan(&path));
                prop_assert_eq!(plan.role, plan_c.role());
                let answer_c = (Rate::from_bits_per_sec(plan_c.rate as f64), c.phase(), false);
                if !agree(core.planned(&plan), answer_c) {
                    // An earlier result led both to the same rate, but to different steps.
                    prop_assert!(is_tie(profile, case.seed, &calls, answer_c), "Rust {plan:?}, C {answer_c:?}");
                    seen.ties.set(seen.ties.get() + 1);
                    return Ok(());
                }
                prop_assert!((plan.length.as_nanos() as f64 / plan_c.length as f64 - 1.0).abs() < 1e-6);
                prop_assert_eq!(plan.min_packets, u64::from(plan_c.min_packets));
                prop_assert_eq!(plan.max_packets.min(u32::MAX.into()), u64::from(plan_c.max_packets));
                let result = case.measure(outcome, Rate::from_bits_per_sec(plan_c.rate as f64));
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
                    other => panic!("C has no {other:?}"),
                });
                (Call::Cut(cut), true)
            }
            Op::Limit(fraction) => {
                let ceiling = (core.rate() * fraction).bits_per_sec().round();
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
            prop_assert!(
                is_tie(profile, case.seed, &calls, answer_c),
                "Rust {answer:?}, C {answer_c:?} after {call:?}"
            );
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

/// Two probes exactly half as far apart as asked, an odd number of bits per second: the difference counts in neither.
#[test]
fn half_of_an_odd_difference_is_no_whole_number() {
    let outcome = |achieved| Outcome { achieved, loss: 0.0, gradient: 0.0, error: 0.0, queue: 0.0 };
    let intervals = [1.0095, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 1.00645418682865, 1.0014351350758852, 0.99];
    let lags = [0, 0, 1].into_iter().chain(std::iter::repeat(0));
    let intervals = intervals.into_iter().zip(lags).map(|(achieved, lag)| Op::Interval(outcome(achieved), lag));
    let ops = [Op::Cut(Cut::Loss)].into_iter().chain(intervals).collect();
    let case = Case { seed: 6386259798884416076, capacity: Rate::from_mbps(1.0), rtt: Duration::from_millis(1), ops };
    let seen = Seen::default();
    compare(Profile::Allegro2015, &pcc::profiles::allegro_2015(), &case, &seen).unwrap();
    assert_eq!((seen.decisions.get(), seen.ties.get()), (10, 0));
}
