//! Where flows that share a link come to rest.

use super::{arg_max, assert_close, measured, root, slope_above, with_loss, with_queue};
use pcc::utility::{Heterogeneous, Safe, Vivace};
use pcc::{Rate, Utility};

/// The loss at which `n` equal flows rest: none if they don't gain from going above the capacity, else where the
/// utility of one flow has no slope.
fn symmetric_loss(utility: &dyn Utility, n: f64, capacity: f64) -> f64 {
    let slope = |total: f64| {
        let share = total / n;
        slope_above(|x| with_loss(utility, x, total - share, capacity), share)
    };
    if slope(capacity) <= 0.0 {
        return 0.0;
    }
    1.0 - capacity / root(slope, capacity, 4.0 * capacity)
}

const ALPHA_100: [(f64, f64); 14] = [
    (2.0, 0.0),
    (3.0, 0.39),
    (4.0, 1.09),
    (5.0, 1.50),
    (8.0, 2.23),
    (10.0, 2.53),
    (16.0, 3.16),
    (20.0, 3.45),
    (32.0, 4.10),
    (46.0, 4.65),
    (64.0, 5.23),
    (100.0, 6.07),
    (200.0, 6.87),
    (1000.0, 7.34),
];

/// T-1: the loss at the symmetric equilibrium of the safe utility with alpha = 100 (table of SPEC 1.2; Allegro
/// 2015, theorem 1).
#[test]
fn t01_safe_equilibrium_loss_with_alpha_100() {
    let utility = Safe { alpha: 100.0 };
    for (n, percent) in ALPHA_100 {
        assert_close(100.0 * symmetric_loss(&utility, n, 100.0), percent, 0.0051, n);
    }
}

/// T-1, with alpha = max(2.2 (n - 1), 100) as the theorem wants it: the total stays below 20/19 of the capacity.
#[test]
fn t01_safe_equilibrium_with_the_alpha_of_the_theorem() {
    let table = [(32.0, 4.10), (46.0, 4.65), (64.0, 4.77), (100.0, 4.86), (200.0, 4.94), (1000.0, 4.99)];
    for (n, percent) in ALPHA_100.into_iter().filter(|&(n, _)| n < 32.0).chain(table) {
        let alpha = (2.2 * (n - 1.0)).max(100.0);
        let loss = symmetric_loss(&Safe { alpha }, n, 100.0);
        assert_close(100.0 * loss, percent, 0.0051, n);
        assert!((0.0..0.05).contains(&loss), "{n} flows lose {loss}: their total isn't in C..20C/19");
        assert_eq!(loss > 0.0, n >= 3.0);
    }
}

/// T-1, with alpha = 1000 as later implementations fix it.
#[test]
fn t01_safe_equilibrium_loss_with_alpha_1000() {
    let table = [
        (2.0, 0.0),
        (3.0, 4.30),
        (4.0, 4.37),
        (5.0, 4.42),
        (8.0, 4.49),
        (10.0, 4.52),
        (16.0, 4.57),
        (20.0, 4.60),
        (32.0, 4.65),
        (46.0, 4.69),
        (64.0, 4.73),
        (100.0, 4.78),
        (200.0, 4.86),
        (1000.0, 5.13),
    ];
    for (n, percent) in table {
        assert_close(100.0 * symmetric_loss(&Safe { alpha: 1000.0 }, n, 100.0), percent, 0.0051, n);
    }
}

/// T-1: at the equilibrium no rate at all, however far away, is worth more to a single flow.
#[test]
fn t01_safe_equilibrium_is_a_best_response() {
    let utility = Safe::default();
    for n in [3.0, 5.0, 10.0, 46.0] {
        let total = 100.0 / (1.0 - symmetric_loss(&utility, n, 100.0));
        let share = total / n;
        let best = arg_max(|x| with_loss(&utility, x, total - share, 100.0), share / 100.0, share * 100.0);
        assert_close(best / share, 1.0, 1e-4, n);
    }
}

/// T-1: flows that move by a fraction epsilon towards more utility, one after the other, come from any start to the
/// equilibrium (Allegro 2015, theorem 2). The theorem's band is (1 - epsilon)^2 to (1 + epsilon)^2; a flow must move in
/// each round, and the cycles that this makes reach up to eight steps from the equilibrium.
#[test]
fn t01_trials_lead_to_the_equilibrium() {
    let (utility, capacity, epsilon) = (Safe::default(), 100.0, 0.01);
    let mut rng = fastrand::Rng::with_seed(1);
    for n in [3, 4, 5, 10].repeat(5) {
        let share = capacity / (1.0 - symmetric_loss(&utility, n as f64, capacity)) / n as f64;
        let mut rates: Vec<f64> = (0..n).map(|_| 1.0 + 99.0 * rng.f64()).collect();
        for round in 0..2000 {
            for i in 0..n {
                let others = rates.iter().sum::<f64>() - rates[i];
                let worth = |factor: f64| with_loss(&utility, rates[i] * factor, others, capacity);
                let (up, down) = (worth(1.0 + epsilon), worth(1.0 - epsilon));
                rates[i] *= if up > down { 1.0 + epsilon } else { 1.0 - epsilon };
            }
            let band = share * (1.0 - epsilon).powi(9)..share * (1.0 + epsilon).powi(9);
            assert!(round < 1800 || rates.iter().all(|rate| band.contains(rate)), "{rates:?} not around {share}");
        }
    }
}

/// T-2: two flows rest without loss at any split with both shares in [0.374, 0.626]: the loss has a kink at the
/// capacity (SPEC 1.2).
#[test]
fn t02_two_flows_rest_at_any_split_near_the_middle() {
    let utility = Safe::default();
    let rests = |share: f64| {
        let best = |own: f64| arg_max(|x| with_loss(&utility, x, 100.0 - own, 100.0), 0.1, 1000.0);
        [100.0 * share, 100.0 * (1.0 - share)].into_iter().all(|own| (best(own) - own).abs() < 0.01)
    };
    for share in [0.375, 0.45, 0.5, 0.6, 0.625] {
        assert!(rests(share), "{share}");
    }
    for share in [0.1, 0.35, 0.372, 0.628, 0.9] {
        assert!(!rests(share), "{share}");
    }
    let gain = |share: f64| slope_above(|x| with_loss(&utility, x, 100.0 * (1.0 - share), 100.0), 100.0 * share);
    assert_close(root(gain, 0.1, 0.9), 0.3737, 0.0002, "the smaller share");
}

/// T-6: the latency weight b above which n flows rest without a queue (table of SPEC 2.6; Vivace 2018, theorem 2).
#[test]
fn t06_latency_weight_that_avoids_a_queue() {
    let gain = |b: f64, n: f64, capacity: f64| {
        let utility = Vivace { latency: b, loss: 0.0, ..Vivace::LATENCY };
        let share = capacity / n;
        slope_above(|x| with_queue(&utility, x, capacity - share, capacity), share)
    };
    let table = [
        (2.0, [1.53, 1.22, 0.97], 0.005),
        (4.0, [3.28, 2.61, 2.07], 0.005),
        (10.0, [9.0, 7.15, 5.68], 0.005),
        (100.0, [113.0, 90.0, 71.0], 0.5),
        (1000.0, [1426.0, 1133.0, 900.0], 0.5),
    ];
    for (n, weights, rounding) in table {
        for (capacity, weight) in [10.0, 100.0, 1000.0].into_iter().zip(weights) {
            let least = root(|b| gain(b, n, capacity), 0.1, 1e4);
            assert_close(least, weight, rounding * 1.01, (n, capacity));
        }
    }
    for (b, flows, rounding) in [(2.0, [2.5, 3.1, 3.9], 0.05), (900.0, [658.0, 811.0, 1000.0], 0.5)] {
        for (capacity, most) in [10.0, 100.0, 1000.0].into_iter().zip(flows) {
            let n = root(|n| gain(b, n, capacity), 1.1, 1e4);
            assert_close(n, most, rounding * 1.01, (b, capacity));
        }
    }
}

/// Vivace's loss utility with the weight that tolerates `tolerated` at `capacity`: c = t * C^(t-1) / p.
fn tolerating(tolerated: f64, exponent: f64, capacity: f64) -> Vivace {
    let worth = |c: f64| {
        let utility = Vivace { exponent, loss: c, ..Vivace::LOSS };
        slope_above(|x| utility.utility(&measured(x, tolerated)), capacity)
    };
    Vivace { exponent, loss: root(worth, 0.1, 1e4), ..Vivace::LOSS }
}

/// T-7: the loss at which n loss-based Vivace flows rest (table of SPEC 2.6; Vivace 2018, theorem 3), and none at
/// all below n* = p^(-1 / (2 - t)) flows.
#[test]
fn t07_vivace_equilibrium_loss() {
    let flows = [15.0, 16.0, 18.0, 20.0, 24.0, 30.0, 32.0, 40.0, 50.0, 64.0, 100.0, 200.0, 1000.0];
    let rows = [
        (0.05, 0.9, [0.0, 0.37, 1.18, 1.83, 2.80, 3.79, 4.04, 4.82, 5.46, 6.06, 6.94, 7.96, 9.78], 0.005),
        (0.03, 0.9, [0.0, 0.0, 0.0, 0.0, 0.0, 0.91, 1.15, 1.88, 2.47, 3.02, 3.77, 4.60, 5.86], 0.005),
        (0.10, 0.9, [6.81, 7.30, 8.14, 8.81, 9.84, 10.9, 11.2, 12.1, 12.8, 13.6, 14.7, 16.3, 19.4], 0.05),
        (0.05, 1.0, [0.0, 0.0, 0.0, 0.0, 0.87, 1.72, 1.94, 2.56, 3.06, 3.49, 4.04, 4.52, 4.90], 0.005),
    ];
    for (p, exponent, losses, rounding) in rows {
        let utility = tolerating(p, exponent, 100.0);
        for (n, percent) in flows.into_iter().zip(losses) {
            let loss = symmetric_loss(&utility, n, 100.0);
            assert_close(100.0 * loss, percent, rounding * 1.05, (p, exponent, n));
            assert_eq!(loss == 0.0, percent == 0.0, "{p} {exponent} {n}");
        }
    }
    assert_close(100.0 * symmetric_loss(&tolerating(0.1, 0.9, 100.0), 10.0, 100.0), 2.84, 0.0051, "p = 10 %, n = 10");
}

/// T-7: the number of flows from which on there is loss.
#[test]
fn t07_flows_without_loss() {
    for (p, flows) in [(0.01, 65.8), (0.02, 35.0), (0.03, 24.2), (0.05, 15.2), (0.10, 8.1)] {
        let utility = tolerating(p, 0.9, 100.0);
        let gain = |n: f64| slope_above(|x| with_loss(&utility, x, 100.0 - 100.0 / n, 100.0), 100.0 / n);
        assert_close(root(gain, 2.0, 200.0), flows, 0.0505, p);
    }
}

/// T-7: with the fixed weight 11.35 and 8 Mbit/s per flow (Vivace 2018, Fig. 9) the loss stays below about 6.4 %.
#[test]
fn t07_vivace_equilibrium_loss_at_a_constant_share() {
    let table = [
        (15.0, 0.0),
        (16.0, 0.20),
        (18.0, 0.93),
        (20.0, 1.51),
        (24.0, 2.36),
        (30.0, 3.19),
        (32.0, 3.40),
        (40.0, 4.01),
        (50.0, 4.50),
        (64.0, 4.92),
        (100.0, 5.46),
        (200.0, 5.93),
        (1000.0, 6.31),
        (1e5, 6.4),
    ];
    for (n, percent) in table {
        let tolerance = if n > 1000.0 { 0.05 } else { 0.0051 };
        assert_close(100.0 * symmetric_loss(&Vivace::LOSS, n, 8.0 * n), percent, tolerance, n);
    }
}

/// T-8: flows that answer each other's rate with their best one end at the chosen shares, without loss (SPEC 2.6;
/// Vivace 2018, theorem 4).
#[test]
fn t08_heterogeneous_flows_take_their_chosen_shares() {
    let capacity = 100.0;
    for shares in [vec![50.0, 50.0], vec![70.0, 30.0], vec![20.0, 80.0], vec![10.0, 90.0], vec![25.0, 25.0, 50.0]] {
        let utility = |share: f64| Heterogeneous::for_share(Rate::from_mbps(share), Rate::from_mbps(capacity));
        let utilities: Vec<Heterogeneous> = shares.iter().map(|&share| utility(share)).collect();
        let mut rates: Vec<f64> = shares.iter().rev().map(|share| share * 0.9).collect();
        for _ in 0..60 {
            for (i, utility) in utilities.iter().enumerate() {
                let others = rates.iter().sum::<f64>() - rates[i];
                rates[i] = arg_max(|x| with_loss(utility, x, others, capacity), 0.1, 2.0 * capacity);
            }
        }
        for (rate, share) in rates.iter().zip(&shares) {
            assert_close(*rate, *share, 0.02, (&rates, &shares));
        }
    }
}
