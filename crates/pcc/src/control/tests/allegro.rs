//! Allegro's rate control (NSDI 2015, section 3.2).

use super::*;
use crate::control::allegro::{AllegroConfig, AllegroControl};

fn config() -> AllegroConfig {
    let ControlConfig::Allegro(config) = profiles::allegro_2015().control else { panic!("not Allegro's") };
    config
}

fn allegro(seed: u64) -> AllegroControl {
    AllegroControl::new(config(), seed)
}

/// In the decision phase at 10 Mbit/s.
fn deciding() -> AllegroControl {
    let start = RateStartConfig { rate: Rate::from_mbps(20.0), ..config().start };
    let mut control = AllegroControl::new(AllegroConfig { start, ..config() }, 2);
    control.plan(&PATH);
    control.cut(Cut::Loss);
    assert_mbps(control.rate(), 10.0);
    assert_eq!(control.phase(), Phase::Probing);
    control
}

/// Start-up with the authors' rates, that awaits results.
fn awaiting() -> AllegroControl {
    AllegroControl::new(
        AllegroConfig { start: RateStartConfig { await_results: true, ..config().start }, ..config() },
        1,
    )
}

#[test]
fn start_doubles_and_returns_to_the_last_winning_rate() {
    let mut control = awaiting();
    for (mbps, utility) in [(2.0, 1.0), (4.0, 2.0), (8.0, 2.0), (16.0, 5.0)] {
        let plan = next(&mut control);
        assert_eq!((plan.role, control.phase()), (Role::Start, Phase::Starting));
        assert_mbps(plan.rate, mbps);
        // One interval at a time: sending goes on at its rate until its result is known.
        let pause = control.plan(&PATH);
        assert_eq!((pause.role, pause.rate), (Role::Hold, plan.rate));
        assert!(control.on_result(plan.role, &result(&plan, utility), &Scripted, &PATH));
    }
    let plan = next(&mut control);
    assert_mbps(plan.rate, 32.0);
    assert!(control.on_result(plan.role, &result(&plan, 4.9), &Scripted, &PATH));
    assert_mbps(control.rate(), 16.0);
    assert_eq!(control.phase(), Phase::Probing);
}

/// Section 3.2: the rate doubles with each interval, and results come a few intervals later.
#[test]
fn start_doubles_with_every_interval() {
    let mut control = allegro(1);
    let sent: Vec<_> = (0..5).map(|_| control.plan(&PATH)).collect();
    for (plan, mbps) in sent.iter().zip([2.0, 4.0, 8.0, 16.0, 32.0]) {
        assert_eq!(plan.role, Role::Start);
        assert_mbps(plan.rate, mbps);
    }
    for (plan, utility) in sent.iter().zip([1.0, 2.0, 3.0]) {
        assert!(!control.on_result(plan.role, &result(plan, utility), &Scripted, &PATH), "it has gone on already");
    }
    assert!(control.on_result(sent[3].role, &result(&sent[3], 2.9), &Scripted, &PATH));
    assert_mbps(control.rate(), 8.0);
    assert_eq!(control.phase(), Phase::Probing);
    assert!(!control.on_result(sent[4].role, &result(&sent[4], 9.0), &Scripted, &PATH), "too late");
}

/// Where nothing comes back, the rate stays at 1024 times the first until something does.
#[test]
fn start_does_not_double_for_ever_unheard() {
    let mut control = allegro(1);
    let sent: Vec<_> = (0..30).map(|_| control.plan(&PATH)).collect();
    assert!(sent[10..].iter().all(|plan| plan.rate == sent[0].rate * 1024.0), "{:?}", sent[29]);
    assert_eq!((sent[10].role, sent[11].role), (Role::Start, Role::Hold));
    control.on_result(sent[0].role, &result(&sent[0], 1.0), &Scripted, &PATH);
    assert_eq!(control.plan(&PATH).rate, sent[0].rate * 2048.0, "something came back");
}

/// A sender that can't reach its rate is asked for no more until it does.
#[test]
fn start_does_not_double_what_was_limited() {
    let mut control = allegro(1);
    let first = control.plan(&PATH);
    let limited = Measurement { rate: first.rate * 0.5, ..result(&first, 1.0) };
    for _ in 0..3 {
        assert!(!control.on_result(first.role, &limited, &Scripted, &PATH));
        assert_mbps(control.plan(&PATH).rate, 2.0);
    }
    assert!(control.on_result(first.role, &result(&first, 1.0), &Scripted, &PATH));
    assert_mbps(control.plan(&PATH).rate, 4.0);
    assert_mbps(control.plan(&PATH).rate, 8.0);
}

#[test]
fn start_repeats_an_interval_that_was_limited() {
    let mut control = allegro(1);
    for _ in 0..3 {
        let plan = next(&mut control);
        assert_eq!(plan.role, Role::Start);
        assert_mbps(plan.rate, 2.0);
        let limited = Measurement { rate: plan.rate * 0.5, ..result(&plan, 1.0) };
        assert!(!control.on_result(plan.role, &limited, &Scripted, &PATH));
    }
}

#[test]
fn start_ends_at_the_largest_rate() {
    let bounds = RateBounds { max: Rate::from_mbps(5.0), ..RateBounds::DEFAULT };
    let mut control = AllegroControl::new(AllegroConfig { bounds, ..config() }, 1);
    for mbps in [2.0, 4.0, 5.0] {
        let plan = next(&mut control);
        assert_mbps(plan.rate, mbps);
        control.on_result(plan.role, &result(&plan, mbps), &Scripted, &PATH);
    }
    assert_eq!(control.phase(), Phase::Probing);
    for plan in probes(&mut control) {
        assert_mbps(plan.rate, if is_faster(&plan) { 5.0 } else { 4.95 });
    }
}

#[test]
fn a_round_has_two_pairs_in_random_order() {
    let mut orders = std::collections::HashSet::new();
    let mut control = deciding();
    for _ in 0..50 {
        let round = probes(&mut control);
        assert_eq!(round.len(), 4);
        let faster: Vec<bool> = round.iter().map(is_faster).collect();
        assert!(faster[0] != faster[1] && faster[2] != faster[3], "{faster:?}: one of each in a pair");
        orders.insert((faster[0], faster[2]));
        give(&mut control, &round, &Scripted, |_, plan| result(plan, 0.0));
    }
    assert_eq!(orders.len(), 4, "all orders occur");
}

#[test]
fn two_agreeing_pairs_move() {
    for (gain, direction) in [(1.0, 1.0), (-1.0, -1.0)] {
        let mut control = deciding();
        assert_eq!(play_round(&mut control, gain), 4);
        assert_eq!(control.phase(), Phase::Moving);
        // The winning probe's rate, and the first adjusting step from it.
        assert_mbps(control.rate(), 10.0 * (1.0 + 0.01 * direction) * (1.0 + 0.01 * direction));
    }
}

#[test]
fn disagreement_stays_and_looks_further_away() {
    let mut control = deciding();
    for step in [0.01, 0.02, 0.03, 0.04, 0.05, 0.05, 0.05] {
        let round = probes(&mut control);
        for plan in &round {
            assert_mbps(plan.rate, 10.0 * if is_faster(plan) { 1.0 + step } else { 1.0 - step });
        }
        // The first pair favours more, the second less.
        give(&mut control, &round, &Scripted, |pair, plan| {
            result(plan, if is_faster(plan) == (pair == 0) { 1.0 } else { 0.0 })
        });
        assert_eq!(control.phase(), Phase::Probing);
        assert_mbps(control.rate(), 10.0);
    }
    // A success moves by the step that found it, and the next round starts small again.
    play_round(&mut control, 1.0);
    assert_mbps(control.rate(), 10.0 * 1.05 * 1.01);
    control.cut(Cut::Loss);
    let rate = control.rate();
    assert!(probes(&mut control).iter().all(|plan| ((plan.rate / rate - 1.0).abs() - 0.01).abs() < 1e-9));
}

#[test]
fn a_tie_is_a_disagreement() {
    let mut control = deciding();
    let round = probes(&mut control);
    give(&mut control, &round, &Scripted, |pair, plan| result(plan, if is_faster(plan) { pair as f64 } else { 0.0 }));
    assert_eq!(control.phase(), Phase::Probing);
    assert_mbps(control.rate(), 10.0);
}

#[test]
fn probes_that_missed_their_rates_prove_nothing() {
    let mut control = deciding();
    let round = probes(&mut control);
    // The faster ones are worth more, but hardly were faster.
    give(&mut control, &round, &Scripted, |_, plan| {
        let rate = Rate::from_mbps(if is_faster(plan) { 9.95 } else { 9.9 });
        Measurement { rate, ..result(plan, if is_faster(plan) { 1.0 } else { 0.0 }) }
    });
    assert_eq!(control.phase(), Phase::Probing);
    assert_mbps(control.rate(), 10.0);
}

#[test]
fn adjusting_accelerates_and_reverts_to_the_step_before() {
    let mut control = deciding();
    play_round(&mut control, 1.0);
    let mut rates = vec![];
    for k in 1..=5u32 {
        let plan = next(&mut control);
        assert_eq!((plan.role, plan.rate), (Role::Move, control.rate()));
        assert_eq!(control.plan(&PATH).role, Role::Hold, "one step at a time");
        rates.push(plan.rate);
        assert!(control.on_result(plan.role, &result(&plan, f64::from(k)), &Scripted, &PATH));
        assert_mbps(control.rate(), plan.rate.mbps() * (1.0 + 0.01 * f64::from(k + 1)));
    }
    let plan = next(&mut control);
    assert!(control.on_result(plan.role, &result(&plan, 4.9), &Scripted, &PATH));
    assert_eq!(control.rate(), rates[4], "exactly the rate before the step that failed");
    assert_eq!(control.phase(), Phase::Probing);
}

#[test]
fn the_first_adjusting_step_is_the_baseline() {
    let mut control = deciding();
    play_round(&mut control, -1.0);
    let first = next(&mut control);
    control.on_result(first.role, &result(&first, -100.0), &Scripted, &PATH);
    assert_mbps(control.rate(), first.rate.mbps() * 0.98);
    let second = next(&mut control);
    control.on_result(second.role, &result(&second, -101.0), &Scripted, &PATH);
    assert_eq!((control.rate(), control.phase()), (first.rate, Phase::Probing));
}

#[test]
fn a_limited_step_ends_adjusting() {
    let mut control = deciding();
    play_round(&mut control, 1.0);
    let plan = next(&mut control);
    let limited = Measurement { rate: plan.rate * 0.7, ..result(&plan, 10.0) };
    assert!(control.on_result(plan.role, &limited, &Scripted, &PATH));
    assert_eq!((control.rate(), control.phase()), (plan.rate, Phase::Probing), "no further without evidence");
}

#[test]
fn cuts_halve_and_only_a_restart_starts_anew() {
    for (cut, phase) in [(Cut::Loss, Phase::Probing), (Cut::Silence, Phase::Probing), (Cut::Restart, Phase::Starting)] {
        let mut control = deciding();
        play_round(&mut control, 1.0);
        let before = control.rate();
        control.cut(cut);
        // A restart doesn't go below the rate of the first start.
        let rate = if cut == Cut::Restart { Rate::from_mbps(20.0) } else { before * 0.5 };
        assert_eq!((control.rate(), control.phase()), (rate, phase));
    }
}

#[test]
fn intervals_last_1_7_to_2_2_round_trips() {
    let mut control = deciding();
    let lengths: Vec<f64> = (0..1000).map(|_| control.plan(&PATH).length.as_secs_f64() / 0.1).collect();
    assert!(lengths.iter().all(|rtts| (1.7..2.2).contains(rtts)));
    assert!(lengths.iter().any(|&rtts| rtts < 1.71) && lengths.iter().any(|&rtts| rtts > 2.19), "drawn anew");
}

#[test]
fn results_that_nobody_waits_for_change_nothing() {
    let mut control = deciding();
    let before = control.rate();
    for role in [Role::Hold, Role::Start, Role::Move, Role::Probe { index: 99, faster: true }] {
        let plan = IntervalPlan { role, ..control.plan(&PATH) };
        assert!(!control.on_result(role, &result(&plan, 1e9), &Scripted, &PATH));
    }
    assert_eq!((control.rate(), control.phase()), (before, Phase::Probing));
}
