//! The numbers that the theory of both papers gives, computed with the product's own code (SPEC 7.4, T-1 to T-15;
//! T-10 and T-11, the confidence amplifier and the change boundary, are tested beside `control::step`).

mod equilibria;
mod intervals;
mod loss;
mod noise;
mod queue_target;
#[path = "../support/mod.rs"]
mod support;

use pcc::{Measurement, Rate, Utility};

/// The result of an interval without queueing.
fn measured(mbps: f64, loss: f64) -> Measurement {
    let mut result = Measurement::new(Rate::from_mbps(mbps), 1000);
    (result.packets_lost, result.loss) = ((1000.0 * loss) as u64, loss);
    (result.rtt, result.previous_rtt, result.min_rtt) = (0.03, 0.03, 0.03);
    result
}

/// The same without loss, while the round-trip time grows or falls.
fn with_gradient(mbps: f64, rtt_gradient: f64) -> Measurement {
    let mut result = measured(mbps, 0.0);
    result.rtt_gradient = rtt_gradient;
    result
}

/// The utility of a flow at `mbps` that shares a link of `capacity` with `others` Mbit/s, in the one-shot model
/// of both papers' proofs: the excess is lost.
fn with_loss(utility: &dyn Utility, mbps: f64, others: f64, capacity: f64) -> f64 {
    utility.utility(&measured(mbps, (1.0 - capacity / (mbps + others)).max(0.0)))
}

/// The same with an endless buffer: the excess makes the round-trip time grow.
fn with_queue(utility: &dyn Utility, mbps: f64, others: f64, capacity: f64) -> f64 {
    utility.utility(&with_gradient(mbps, ((mbps + others) / capacity - 1.0).max(0.0)))
}

/// The slope of `f` just above `x`. The functions have kinks, so it is taken from one side.
fn slope_above(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = x * 1e-7;
    (f(x + 2.0 * h) - f(x + h)) / h
}

/// Where `f` changes its sign between `low` and `high`.
fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let negative_below = f(low) < 0.0;
    assert_ne!(negative_below, f(high) < 0.0, "no change of sign in {low}..{high}");
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if (f(middle) < 0.0) == negative_below { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Where `f` is largest between `low` and `high`: a scan, because not all utilities have a single peak, then
/// golden sections around the best point. The scan is even in the logarithm.
fn arg_max(f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    const POINTS: i32 = 2000;
    let ratio = (high / low).powf(1.0 / f64::from(POINTS));
    let best = (0..=POINTS).map(|i| low * ratio.powi(i)).max_by(|&a, &b| f(a).total_cmp(&f(b))).unwrap();
    let (mut low, mut high) = (best / ratio, best * ratio);
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..80 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if f(a) < f(b) { low = a } else { high = b }
    }
    0.5 * (low + high)
}

/// Asserts that `value` is `expected`, as a table prints it with an error of at most `tolerance`.
#[track_caller]
fn assert_close(value: f64, expected: f64, tolerance: f64, what: impl std::fmt::Debug) {
    assert!((value - expected).abs() <= tolerance, "{what:?}: {value} instead of {expected}");
}
