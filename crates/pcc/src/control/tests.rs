//! The states of both rate controls, played by hand: a plan comes out, a result of choice goes in.

mod allegro;
mod vivace;

use super::*;
use crate::profiles;

/// Worth what the test wrote into the measurement's round-trip time.
#[derive(Debug)]
struct Scripted;

impl Utility for Scripted {
    fn utility(&self, interval: &Measurement) -> f64 {
        interval.rtt
    }
}

const PATH: PathState = PathState {
    now: Time::ZERO,
    mtu: 1200,
    rtt: Duration::from_millis(100),
    min_rtt: Duration::from_millis(50),
    in_flight: 0,
};

/// The result of a plan that was carried out exactly, worth `utility` to [`Scripted`].
fn result(plan: &IntervalPlan, utility: f64) -> Measurement {
    Measurement { rtt: utility, previous_rtt: 0.1, min_rtt: 0.05, ..Measurement::new(plan.rate, 100) }
}

/// The same with `lost` of its 100 packets lost.
fn lossy(plan: &IntervalPlan, lost: u64, utility: f64) -> Measurement {
    Measurement { packets_lost: lost, loss: lost as f64 / 100.0, ..result(plan, utility) }
}

/// Plans the next interval that isn't a pause.
fn next(control: &mut impl RateControl) -> IntervalPlan {
    let plan = control.plan(&PATH);
    assert_ne!(plan.role, Role::Hold, "nothing to wait for");
    plan
}

/// All probes of a round, up to the pause that follows.
fn probes(control: &mut impl RateControl) -> Vec<IntervalPlan> {
    let plans: Vec<IntervalPlan> =
        std::iter::repeat_with(|| control.plan(&PATH)).take_while(|plan| plan.role != Role::Hold).collect();
    assert!(plans.iter().all(|plan| matches!(plan.role, Role::Probe { .. })), "{plans:?}");
    plans
}

fn is_faster(plan: &IntervalPlan) -> bool {
    matches!(plan.role, Role::Probe { faster: true, .. })
}

/// Gives the results of a round; `judge` makes them, knowing the pair's index.
fn give(
    control: &mut impl RateControl,
    round: &[IntervalPlan],
    utility: &dyn Utility,
    judge: impl Fn(usize, &IntervalPlan) -> Measurement,
) {
    for (i, plan) in round.iter().enumerate() {
        let realigned = control.on_result(plan.role, &judge(i / 2, plan), utility, &PATH);
        assert!(!realigned || i + 1 == round.len(), "only a complete round decides");
    }
}

/// Plays a round in which the faster probes are worth `gain` more.
fn play_round(control: &mut impl RateControl, gain: f64) -> usize {
    let round = probes(control);
    give(control, &round, &Scripted, |_, plan| result(plan, if is_faster(plan) { gain } else { 0.0 }));
    round.len()
}

#[track_caller]
fn assert_mbps(rate: Rate, expected: f64) {
    assert!((rate.mbps() / expected - 1.0).abs() < 1e-9, "{} Mbit/s instead of {expected}", rate.mbps());
}
