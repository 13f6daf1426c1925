//! Vivace's rate control (NSDI 2018, section 4; the released sender, SPEC 2.4 and 2.5).

use super::*;
use crate::control::vivace::{DoubleCheck, GradientFilter, VivaceConfig, VivaceControl};
use std::sync::Mutex;

fn config(profile: &crate::Profile) -> VivaceConfig {
    let ControlConfig::Vivace(config) = profile.control.clone() else { panic!("not Vivace's") };
    config
}

fn released() -> VivaceConfig {
    config(&profiles::vivace_2018_loss())
}

fn paper() -> VivaceConfig {
    config(&profiles::vivace_paper())
}

/// Probing at 100 Mbit/s.
fn probing(config: VivaceConfig) -> VivaceControl {
    let start = RateStartConfig { rate: Rate::from_mbps(200.0), ..config.start };
    let mut control = VivaceControl::new(VivaceConfig { start, ..config }, 1);
    control.plan(&PATH);
    control.cut(Cut::Loss);
    assert_mbps(control.rate(), 100.0);
    control
}

/// A round whose pairs favour more or less rate, as told.
fn disagree(control: &mut VivaceControl) -> usize {
    let round = probes(control);
    give(control, &round, &Scripted, |pair, plan| result(plan, if is_faster(plan) == (pair == 0) { 1.0 } else { 0.0 }));
    round.len()
}

#[test]
fn probes_are_5_percent_away() {
    let mut control = probing(paper());
    let round = probes(&mut control);
    assert_eq!(round.len(), 2, "the paper has one pair");
    for plan in round {
        assert_mbps(plan.rate, if is_faster(&plan) { 105.0 } else { 95.0 });
        assert_eq!((plan.length, plan.min_packets), (PATH.rtt, 10));
    }
    // The released sender's are at least 0.5 Mbit/s away.
    for (mbps, step) in [(100.0, 0.05), (10.0, 0.05), (6.25, 0.08), (5.0, 0.1), (2.0, 0.25)] {
        let start = RateStartConfig { rate: Rate::from_mbps(2.0 * mbps), ..released().start };
        let mut control = VivaceControl::new(VivaceConfig { start, ..released() }, 1);
        control.plan(&PATH);
        control.cut(Cut::Loss);
        for plan in probes(&mut control) {
            assert_mbps(plan.rate, mbps * if is_faster(&plan) { 1.0 + step } else { 1.0 - step });
        }
    }
}

#[test]
fn four_probes_then_two_while_the_direction_lasts() {
    let mut control = probing(released());
    let rounds: Vec<usize> =
        [1.0, 1.0, 1.0, -1.0, -1.0].into_iter().map(|gain| play_round(&mut control, gain)).collect();
    // The second decision repeats the first one's direction, the fourth reverses.
    assert_eq!(rounds, [4, 4, 2, 2, 4]);
    assert_eq!(probes(&mut control).len(), 2);
}

#[test]
fn an_inconclusive_round_is_followed_by_one_pair() {
    let mut control = probing(released());
    assert_eq!(disagree(&mut control), 4);
    assert_mbps(control.rate(), 100.0);
    assert_eq!(play_round(&mut control, 0.0), 2, "a tie says nothing either");
    assert_mbps(control.rate(), 100.0);
    assert_eq!(play_round(&mut control, 10.0), 2);
    assert!(control.rate().mbps() > 100.0);
}

#[test]
fn pairs_that_missed_their_rates_prove_nothing() {
    let mut control = probing(released());
    let round = probes(&mut control);
    give(&mut control, &round, &Scripted, |_, plan| Measurement {
        rate: Rate::from_mbps(if is_faster(plan) { 97.0 } else { 95.0 }),
        ..result(plan, if is_faster(plan) { 100.0 } else { 0.0 })
    });
    assert_mbps(control.rate(), 100.0);
    assert_eq!(control.phase(), Phase::Probing);
}

#[test]
fn the_step_is_the_gradient() {
    let mut control = probing(paper());
    play_round(&mut control, 20.0); // over 10 Mbit/s: 2 per Mbit/s, times theta = 1
    assert_mbps(control.rate(), 102.0);
    let mut control = probing(paper());
    play_round(&mut control, -20.0);
    assert_mbps(control.rate(), 98.0);
    play_round(&mut control, -1e9);
    assert_mbps(control.rate(), 98.0 * 0.95); // the change boundary
}

/// Utility of loss alone, so that who lost more decides.
fn lost(control: &mut VivaceControl, faster: u64, slower: u64) -> f64 {
    let before = control.rate();
    let round = probes(control);
    give(control, &round, &crate::utility::Vivace::LOSS, |_, plan| {
        lossy(plan, if is_faster(plan) { faster } else { slower }, 0.0)
    });
    control.rate().mbps() - before.mbps()
}

#[test]
fn little_loss_is_pooled() {
    assert!(lost(&mut probing(released()), 2, 0) > 0.0, "1 % in all is the same for both");
    assert!(lost(&mut probing(released()), 3, 0) < 0.0, "1.5 % isn't");
    assert!(lost(&mut probing(paper()), 2, 0) < 0.0, "the paper knows no pooling");
}

/// Keeps the gradients that it is shown.
#[derive(Debug, Default)]
struct Gradients(Mutex<Vec<f64>>);

impl Utility for Gradients {
    fn utility(&self, interval: &Measurement) -> f64 {
        self.0.lock().unwrap().push(interval.rtt_gradient);
        interval.rate.mbps()
    }
}

#[track_caller]
fn assert_filtered(filter: GradientFilter, pairs: &[(f64, f64)]) {
    for &(measured, expected) in pairs {
        let seen = Gradients::default();
        let mut control = probing(VivaceConfig { gradient_filter: filter, ..released() });
        let round = probes(&mut control);
        give(&mut control, &round, &seen, |_, plan| Measurement { rtt_gradient: measured, ..result(plan, 0.0) });
        let seen = seen.0.into_inner().unwrap();
        assert!(!seen.is_empty() && seen.iter().all(|g| (g - expected).abs() < 1e-12), "{measured}: {seen:?}");
    }
}

#[test]
fn gradients_are_filtered() {
    let quantised =
        [(0.0199, 0.0), (-0.0199, 0.0), (0.0201, 0.02), (0.0399, 0.02), (-0.055, -0.04), (0.5, 0.5), (0.0, 0.0)];
    assert_filtered(GradientFilter::Quantise(0.02), &quantised);
    assert_filtered(GradientFilter::Threshold(0.01), &[(0.0099, 0.0), (-0.0099, 0.0), (0.011, 0.011), (-0.02, -0.02)]);
}

#[test]
fn released_double_check_doubts_increases_with_much_loss() {
    // (lost by each faster probe, by each slower one, of 100; doubted)
    let cases = [
        (5, 10, true),
        (1, 9, true),    // 5 % in all
        (1, 8, false),   // 4.5 % in all
        (0, 12, false),  // the faster ones lost none
        (10, 11, false), // a difference of 2
    ];
    for (faster, slower, doubted) in cases {
        let mut control = probing(released());
        assert_eq!(lost(&mut control, faster, slower) == 0.0, doubted, "{faster} {slower}");
        // The round is repeated as it was, and then believed.
        if doubted {
            let again = probes(&mut control);
            assert_eq!(again.len(), 4);
            give(&mut control, &again, &crate::utility::Vivace::LOSS, |_, plan| {
                lossy(plan, if is_faster(plan) { faster } else { slower }, 0.0)
            });
            assert!(control.rate().mbps() > 100.0);
        }
    }
    let mut control = probing(released());
    assert!(lost(&mut control, 10, 5) < 0.0, "a decrease is believed at once");
    let mut control = probing(released());
    assert_eq!(lost(&mut control, 5, 10), 0.0);
    assert!(lost(&mut control, 10, 5) < 0.0, "the second round counts");
}

/// Plays a pair worth `gain` more at the faster probe, which lost fewer packets if `inverted`.
fn paper_pair(control: &mut VivaceControl, gain: f64, inverted: bool) {
    let round = probes(control);
    give(control, &round, &Scripted, |_, plan| {
        lossy(plan, u64::from(is_faster(plan) != inverted), if is_faster(plan) { gain } else { 0.0 })
    });
}

#[test]
fn paper_double_check_averages_agreeing_pairs() {
    let mut control = probing(paper());
    paper_pair(&mut control, 10.0, true);
    assert_mbps(control.rate(), 100.0);
    paper_pair(&mut control, 30.0, true);
    assert_mbps(control.rate(), 102.0); // the mean of 1 and 3 per Mbit/s
    let mut control = probing(paper());
    paper_pair(&mut control, 10.0, true);
    paper_pair(&mut control, -30.0, false);
    assert_mbps(control.rate(), 97.0); // the first one is forgotten
    let mut control = probing(paper());
    paper_pair(&mut control, 10.0, false);
    assert_mbps(control.rate(), 101.0); // the faster probe lost more, as is to be expected: no doubt
}

#[test]
fn without_double_check_every_round_is_believed() {
    let mut control = probing(VivaceConfig { double_check: DoubleCheck::Off, ..paper() });
    paper_pair(&mut control, 10.0, true);
    assert_mbps(control.rate(), 101.0);
    let mut control = probing(VivaceConfig { double_check: DoubleCheck::Off, ..released() });
    assert!(lost(&mut control, 5, 10) > 0.0);
}

#[test]
fn large_increases_go_on_without_probes() {
    let mut control = probing(released());
    play_round(&mut control, 1e9);
    assert_eq!(control.phase(), Phase::Probing); // 5 %, the first boundary
    play_round(&mut control, 1e9);
    assert_mbps(control.rate(), 105.0 * 1.11);
    assert_eq!(control.phase(), Phase::Moving);
    let plan = next(&mut control);
    assert_eq!((plan.role, plan.rate), (Role::Move, control.rate()));
    assert!(control.on_result(plan.role, &result(&plan, 1e10), &Scripted, &PATH));
    assert_mbps(control.rate(), 105.0 * 1.11 * 1.17);
    assert_eq!(control.phase(), Phase::Moving);
    // The next one is worth less: back by the first boundary, and four probes.
    let plan = next(&mut control);
    assert!(control.on_result(plan.role, &result(&plan, -1e10), &Scripted, &PATH));
    assert_mbps(control.rate(), 105.0 * 1.11 * 1.17 * 0.95);
    assert_eq!((control.phase(), probes(&mut control).len()), (Phase::Probing, 4));
}

#[test]
fn decreases_always_probe() {
    let mut control = probing(released());
    for _ in 0..5 {
        play_round(&mut control, -1e9);
        assert_eq!(control.phase(), Phase::Probing);
    }
    assert!(control.rate().mbps() < 100.0 * 0.95 * 0.89 * 0.83);
}

#[test]
fn a_move_that_was_limited_ends() {
    let mut control = probing(released());
    play_round(&mut control, 1e9);
    play_round(&mut control, 1e9);
    let plan = next(&mut control);
    let limited = Measurement { rate: plan.rate * 0.5, ..result(&plan, 1e12) };
    assert!(control.on_result(plan.role, &limited, &Scripted, &PATH));
    assert_eq!((control.rate(), control.phase()), (plan.rate, Phase::Probing));
}

#[test]
fn rates_stay_within_bounds() {
    let bounds = RateBounds { min: Rate::from_mbps(80.0), max: Rate::from_mbps(210.0) };
    let mut control = probing(VivaceConfig { bounds, moves_above: None, ..released() });
    for (gain, end) in [(1e9, 200.0), (-1e9, 80.0)] {
        for _ in 0..20 {
            let round = probes(&mut control);
            assert!(round.iter().all(|plan| plan.rate >= bounds.min * 0.95 && plan.rate <= bounds.max), "{round:?}");
            give(&mut control, &round, &Scripted, |_, plan| result(plan, if is_faster(plan) { gain } else { 0.0 }));
        }
        assert_mbps(control.rate(), end); // the probes around it reach the upper bound
    }
    let mut control = probing(released());
    for _ in 0..40 {
        control.cut(Cut::Silence);
    }
    assert_mbps(control.rate(), 1.3);
}

#[test]
fn start_overlooks_random_loss_and_small_gradients() {
    let utility = crate::utility::Vivace::LATENCY;
    for (packets_lost, rtt_gradient, leaves) in [(50, 0.0, false), (0, 0.2, false), (70, 0.0, true), (0, 0.21, true)] {
        let mut control = VivaceControl::new(released(), 1);
        for last in [false, true] {
            let plan = next(&mut control);
            let clean = result(&plan, 0.0);
            let odd = Measurement { packets_lost, loss: packets_lost as f64 / 100.0, rtt_gradient, ..clean };
            control.on_result(plan.role, if last { &odd } else { &clean }, &utility, &PATH);
        }
        assert_eq!(control.phase() == Phase::Probing, leaves, "{packets_lost} {rtt_gradient}");
    }
}

fn ours() -> VivaceConfig {
    config(&profiles::vivace_latency())
}

/// Plays one round of our profile, whose faster probes get `change`; returns whether the rate rose.
fn rises(change: impl Fn(&mut Measurement)) -> bool {
    let mut control = probing(ours());
    let round = probes(&mut control);
    give(&mut control, &round, &crate::utility::Vivace::LATENCY, |_, plan| {
        let mut result = Measurement { rtt: 0.05, ..result(plan, 0.0) };
        if is_faster(plan) {
            change(&mut result);
        }
        result
    });
    control.rate() > Rate::from_mbps(100.0)
}

#[test]
fn a_trend_counts_only_if_it_explains_the_variance() {
    assert!(!rises(|faster| faster.rtt_gradient = 0.05), "an exact ramp is a queue");
    // With 100 samples R squared is g^2 / (g^2 + 98 e^2).
    assert!(rises(|faster| (faster.rtt_gradient, faster.rtt_gradient_error) = (0.05, 0.01)), "0.20: a spike");
    assert!(!rises(|faster| (faster.rtt_gradient, faster.rtt_gradient_error) = (0.05, 0.008)), "0.29: a ramp");
}

#[test]
fn a_falling_round_trip_time_is_no_reward() {
    let slower_falls = |config| {
        let mut control = probing(config);
        let round = probes(&mut control);
        give(&mut control, &round, &crate::utility::Vivace::LATENCY, |_, plan| {
            let rtt_gradient = if is_faster(plan) { 0.0 } else { -0.1 };
            Measurement { rtt: 0.05, rtt_gradient, ..result(plan, 0.0) }
        });
        control.rate() > Rate::from_mbps(100.0)
    };
    assert!(slower_falls(ours()));
    assert!(!slower_falls(config(&profiles::vivace_2018_latency())), "the released sender is drawn to it");
}

#[test]
fn a_chance_difference_of_loss_counts_only_with_a_standing_queue() {
    let lose = |faster: &mut Measurement, lost: u64| {
        (faster.packets_lost, faster.loss) = (lost, lost as f64 / 100.0);
    };
    assert!(rises(|faster| lose(faster, 3)), "3 of 100 against none is chance: z = 1.7");
    assert!(!rises(|faster| lose(faster, 9)), "9 of 100 against none isn't: z = 3.1");
    assert!(
        !rises(|faster| {
            lose(faster, 4);
            faster.rtt = 0.06;
        }),
        "behind a standing queue every loss counts"
    );
}

#[test]
fn our_start_up_ends_at_the_rate_that_arrived() {
    let mut control = VivaceControl::new(ours(), 1);
    let first = control.plan(&PATH);
    control.on_result(first.role, &result(&first, 1.0), &Scripted, &PATH);
    let plan = next(&mut control);
    // With a ramp of a quarter, four fifths of the rate arrive.
    let worse = Measurement { rtt_gradient: 0.25, ..result(&plan, 0.0) };
    control.on_result(plan.role, &worse, &Scripted, &PATH);
    assert_mbps(control.rate(), plan.rate.mbps() * 0.8 * 0.95);
}
