//! How often random loss misleads a single pair of probes. The loss counts of both probes are enumerated with
//! their binomial probabilities, which is exact, and each outcome is put to the controller.

use super::{assert_close, measured};
use pcc::control::allegro::AllegroControl;
use pcc::control::vivace::{Pairs, VivaceConfig, VivaceControl};
use pcc::control::{ControlConfig, RateStartConfig, StartExit};
use pcc::{Cut, IntervalPlan, Measurement, PathState, Rate, RateControl, Role, Utility, profiles, utility};
use std::time::Duration;

const PATH: PathState = PathState::new(1500, Duration::from_millis(30));

/// The probability of each number of losses among `packets`, where it isn't negligible.
fn loss_counts(packets: u64, p: f64) -> Vec<(u64, f64)> {
    let mut probability = (1.0 - p).powi(packets as i32);
    let mut counts = Vec::new();
    for lost in 0..=packets {
        if probability > 1e-7 {
            counts.push((lost, probability));
        }
        probability *= (packets - lost) as f64 / (lost + 1) as f64 * p / (1.0 - p);
    }
    counts
}

/// How many packets the faster and the slower of two probes of equal length send, if `packets` is their mean.
fn packets_of_pair(packets: u64, step: f64) -> [u64; 2] {
    [1.0 + step, 1.0 - step].map(|factor| (packets as f64 * factor).round() as u64)
}

/// The probability that `points_up` holds for the losses of the faster and the slower probe.
fn probability(packets: [u64; 2], p: f64, points_up: impl Fn([u64; 2]) -> bool) -> f64 {
    let [faster, slower] = packets.map(|packets| loss_counts(packets, p));
    let outcomes = faster.iter().flat_map(|faster| slower.iter().map(move |slower| (faster, slower)));
    outcomes
        .filter(|(faster, slower)| points_up([faster.0, slower.0]))
        .map(|(faster, slower)| faster.1 * slower.1)
        .sum()
}

fn lossy(rate: Rate, packets_sent: u64, packets_lost: u64) -> Measurement {
    let loss = packets_lost as f64 / packets_sent as f64;
    let mut result = measured(rate.mbps(), loss);
    (result.packets_sent, result.packets_lost) = (packets_sent, packets_lost);
    result
}

/// Whether a pair of probes with these losses makes the controller raise its rate. A controller that wants to see
/// the pair again sees the same again.
fn raises(mut control: impl RateControl, utility: &dyn Utility, packets: [u64; 2], lost: [u64; 2]) -> bool {
    control.plan(&PATH);
    control.cut(Cut::Loss); // leaves start-up, at half of the rate
    let before = control.rate();
    for _ in 0..2 {
        let plans: [IntervalPlan; 2] = std::array::from_fn(|_| control.plan(&PATH));
        for plan in plans {
            let Role::Probe { faster, .. } = plan.role else { panic!("{plan:?} isn't a probe") };
            let probe = usize::from(!faster);
            let result = lossy(plan.rate, packets[probe], lost[probe]);
            control.on_result(plan.role, &result, utility, &PATH);
        }
        if control.rate() != before {
            break;
        }
    }
    control.rate() > before
}

/// Start-up from twice this rate, which overlooks nothing.
fn begin_at(mbps: f64, start: &mut RateStartConfig) {
    start.rate = Rate::from_mbps(2.0 * mbps);
    (start.packets_per_rtt, start.await_results) = (0, true);
    (start.ignored_losses, start.ignored_gradient) = (0, 0.0);
    start.exit = StartExit::LastGood;
}

/// T-15: the probability that one pair of Allegro's points up under random loss, at 100 Mbit/s with 487 packets
/// per interval of equal length (table of SPEC 1.2).
#[test]
fn t15_allegro_pair_under_random_loss() {
    let ControlConfig::Allegro(config) = profiles::allegro_2015().control else { panic!("not Allegro's") };
    let utility = utility::Safe::default();
    let table = [
        (0.001, [0.999, 1.0, 1.0, 1.0]),
        (0.005, [0.92, 0.99, 1.0, 1.0]),
        (0.01, [0.79, 0.93, 0.98, 1.0]),
        (0.02, [0.63, 0.74, 0.83, 0.93]),
        (0.03, [0.55, 0.61, 0.66, 0.74]),
        (0.05, [0.50, 0.53, 0.54, 0.57]),
    ];
    for (p, row) in table {
        for (step, expected) in [0.01, 0.02, 0.03, 0.05].into_iter().zip(row) {
            let mut config = config.clone();
            begin_at(100.0, &mut config.start);
            (config.min_step, config.max_step, config.pairs) = (step, step, 1);
            let packets = packets_of_pair(487, step);
            let up =
                probability(packets, p, |lost| raises(AllegroControl::new(config.clone(), 1), &utility, packets, lost));
            assert_close(up, expected, 0.01, (p, step));
        }
    }
}

/// The probability that one pair of `profile`'s points up, at 90 Mbit/s with 225 packets per interval.
fn vivace_points_up(config: &VivaceConfig, utility: utility::Vivace, p: f64) -> f64 {
    let mut config = config.clone();
    begin_at(90.0, &mut config.start);
    config.pairs = Pairs::One;
    let packets = packets_of_pair(225, config.probe_step);
    probability(packets, p, |lost| raises(VivaceControl::new(config.clone(), 1), &utility, packets, lost))
}

/// T-15: the probability that one pair of Vivace's points up under random loss, and the spread of its utility
/// difference, as printed and as released (table of SPEC 2.7).
#[test]
fn t15_vivace_pair_under_random_loss() {
    let ControlConfig::Vivace(paper) = profiles::vivace_paper().control else { panic!("not Vivace's") };
    let ControlConfig::Vivace(released) = profiles::vivace_2018_loss().control else { panic!("not Vivace's") };
    let small_loss = Some(utility::SmallLoss { up_to: 0.03, weight: 1.0 });
    let (as_printed, as_released) = (utility::Vivace::LOSS, utility::Vivace { small_loss, ..utility::Vivace::LOSS });
    let table = [
        (0.001, 0.98, 3.0, 1.00),
        (0.005, 0.84, 6.8, 1.00),
        (0.01, 0.74, 9.6, 1.00),
        (0.02, 0.64, 13.5, 0.91),
        (0.03, 0.59, 16.4, 0.70),
        (0.04, 0.56, 18.9, 0.58),
    ];
    for (p, up, deviation, up_released) in table {
        assert_close(vivace_points_up(&paper, as_printed, p), up, 0.01, ("printed", p));
        assert_close(vivace_points_up(&released, as_released, p), up_released, 0.01, ("released", p));
        let variance = |mbps: f64, packets: u64| {
            let worth = |lost: u64| as_printed.utility(&lossy(Rate::from_mbps(mbps), packets, lost));
            let counts = loss_counts(packets, p);
            let mean: f64 = counts.iter().map(|&(lost, weight)| weight * worth(lost)).sum();
            counts.iter().map(|&(lost, weight)| weight * (worth(lost) - mean).powi(2)).sum::<f64>()
        };
        let [faster, slower] = packets_of_pair(225, 0.05);
        let spread = (variance(90.0 * 1.05, faster) + variance(90.0 * 0.95, slower)).sqrt();
        assert_close(spread, deviation, 0.051, ("spread", p));
    }
    let clean = |mbps: f64| as_printed.utility(&measured(mbps, 0.0));
    assert_close(clean(90.0 * 1.05) - clean(90.0 * 0.95), 5.17, 0.0051, "the difference without loss");
}
