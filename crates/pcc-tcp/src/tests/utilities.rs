//! Utilities in fixed point against the core's.

use super::{fixed, in_c, profiles};
use crate::ffi::testing::pcc_utility;
use crate::measured::real;
use pcc::{Measurement, Rate};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// Measurements that both can represent, within what controllers meet.
fn measurements() -> impl Strategy<Value = Measurement> {
    let losses = prop_oneof![Just(0.0), 0.0..0.1f64, 0.0..=1.0f64];
    let gradients = prop_oneof![Just(0.0), -0.1..0.1f64, -1.0..8.0f64];
    ((-1.2..5.0f64).prop_map(|digits| 10f64.powf(digits)), losses, gradients).prop_map(|(mbps, loss, gradient)| {
        let mut result = Measurement::new(Rate::from_bits_per_sec((mbps * 1e6).round()), 100);
        (result.rtt, result.previous_rtt, result.min_rtt) = (0.03, 0.03, 0.03);
        (result.loss, result.rtt_gradient) = (real(fixed(loss)), real(fixed(gradient)));
        result
    })
}

/// The errors are relative to what an interval is worth at its rate without loss: that is what decisions compare with.
#[test]
fn utilities_are_exact_to_a_few_hundred_millionths() {
    let worst = Cell::new(0.0f64);
    TestRunner::new(Config { cases: 20_000, failure_persistence: None, ..Config::default() })
        .run(&measurements(), |m| {
            for (profile, core) in profiles() {
                let exact = core.utility.shared().utility(&m);
                let error = (real(pcc_utility(profile, &in_c(&m))) - exact).abs() / exact.abs().max(m.rate.mbps());
                worst.set(worst.get().max(error));
                prop_assert!(error < 1e-7, "{}: {error:.2e}", core.name);
            }
            Ok(())
        })
        .unwrap();
    println!("utility: at most {:.2e}", worst.get());
}
