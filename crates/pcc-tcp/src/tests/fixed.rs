//! Fixed-point functions against floating point, over their whole domains.

use super::fixed;
use crate::ffi::testing::{pcc_exp2, pcc_log2, pcc_mul_div, pcc_power, pcc_random_u64, pcc_ratio, pcc_sigmoid};
use crate::measured::{ONE, real};
use proptest::prelude::*;

/// Whole numbers of every size: logarithmically even, and the ends of each power of two.
fn sizes() -> impl Iterator<Item = u64> {
    let edges = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) + 1, (1u64 << bit).wrapping_mul(2).wrapping_sub(1)]);
    edges.chain((0..200_000).map(|i| (f64::from(i) / 200_000.0 * 64.0).exp2() as u64)).filter(|&x| x > 0)
}

/// The largest value of `error`, which is printed and must stay below `bound`.
fn assert_worst(what: &str, bound: f64, errors: impl Iterator<Item = (f64, f64)>) {
    let (at, worst) = errors.fold((0.0, 0.0), |worst, error| if error.1 > worst.1 { error } else { worst });
    println!("{what}: at most {worst:.2e}, at {at}; the bound is {bound:.2e}");
    assert!(worst < bound, "{what}: {worst:.2e} at {at}");
}

#[test]
fn log2_is_exact_to_2_28() {
    let error = |x: u64| (x as f64, (real(pcc_log2(x)) - (x as f64).log2()).abs());
    assert_worst("log2", 2f64.powi(-28), sizes().map(error));
}

#[test]
fn exp2_is_exact_to_2_27() {
    let error = |i: i32| {
        let x = f64::from(i) / 1e5;
        let exact = real(fixed(x)).exp2();
        // Below 1 the resolution counts, above the relative error.
        (x, (real(pcc_exp2(fixed(x))) - exact).abs() / exact.max(0.25))
    };
    assert_worst("exp2", 2f64.powi(-27), (-3_300_000..3_190_000).map(error));
    assert_eq!(pcc_exp2(i64::MIN), 0);
    assert_eq!(pcc_exp2(i64::MAX), i64::MAX, "saturates");
}

/// All rates of the controllers, in Mbit/s to the power of 0.9.
#[test]
fn power_is_exact_to_2_27() {
    let error = |x: u64| {
        let exact = (x as f64 / 1e6).powf(0.9);
        (x as f64, (real(pcc_power(x, 1_000_000, fixed(0.9))) - exact).abs() / exact.max(0.25))
    };
    assert_worst("power", 2f64.powi(-27), sizes().filter(|x| (10_000..200_000_000_000).contains(x)).map(error));
    assert_eq!(pcc_power(0, 1_000_000, fixed(0.9)), 0);
}

#[test]
fn sigmoid_is_exact_to_2_28() {
    let error = |i: i32| {
        let y = real(fixed(f64::from(i) / 1e6));
        (y, (real(pcc_sigmoid(fixed(100.0), fixed(y))) - pcc::utility::sigmoid(100.0, y)).abs())
    };
    assert_worst("sigmoid", 2f64.powi(-28), (-1_000_000..=1_000_000).map(error));
    assert_eq!(pcc_sigmoid(fixed(100.0), fixed(15.9)), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mul_div_is_exact_and_saturates(a: u64, b in 0..1u64 << 40, c in 1..1u64 << 24) {
        let exact = u128::from(a) * u128::from(b) / u128::from(c);
        prop_assert_eq!(pcc_mul_div(a, b, c), u64::try_from(exact).unwrap_or(u64::MAX));
    }

    #[test]
    fn a_ratio_is_exact_to_its_resolution(part: u64, whole in 1..u64::MAX, shift in 0..60u32) {
        let whole = (whole >> shift).max(1);
        let part = part % whole.saturating_mul(16);
        let exact = part as f64 / whole as f64;
        prop_assert!((real(pcc_ratio(part, whole)) - exact).abs() * ONE < 2.0 + 0.25 * exact);
    }

    /// The same choices from the same seed.
    #[test]
    fn the_generator_is_fastrands(seed: u64) {
        let (mut state, mut rng) = (seed, fastrand::Rng::with_seed(seed));
        for _ in 0..10 {
            prop_assert_eq!(pcc_random_u64(&mut state), rng.u64(..));
        }
    }
}
