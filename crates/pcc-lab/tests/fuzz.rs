//! Whatever a file or a formula contains, it is read, or refused with an error that shows where.
//!
//! Each test runs what `__fuzz__` beside this file has for it, and some random bytes. A fuzzer that watches which code is
//! reached finds more; CONTRIBUTING.md says how to run it.

use bolero::check;
use pcc::{Measurement, Rate, Time, Utility};
use pcc_lab::expression::{Expression, WORST};
use pcc_lab::link::Trace;
use pcc_lab::quantity;
use pcc_lab::scenario::Plan;

#[test]
fn formulas() {
    check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        match text.parse::<Expression>() {
            Ok(formula) => {
                let utility = formula.utility(&Measurement::new(Rate::from_mbps(10.0), 50));
                assert!((WORST..=-WORST).contains(&utility), "{text}: {utility}");
            }
            Err(error) => {
                assert!(error.position <= error.expression.chars().count(), "{error:?}");
                assert!(!error.to_string().is_empty());
            }
        }
    });
}

#[test]
fn traces() {
    check!().for_each(|bytes: &[u8]| {
        let Ok(trace) = Trace::parse(&String::from_utf8_lossy(bytes)) else { return };
        let end = Time::ZERO + trace.period();
        let one = trace.capacity_between(Time::ZERO, end + std::time::Duration::from_nanos(1));
        assert!(one > 0 && trace.mean_rate().bits_per_sec() > 0.0);
        assert!(trace.capacity_between(end, Time::ZERO) == 0);
        assert!(trace.capacity_between(Time::ZERO, Time::from_nanos(u64::MAX)) >= one);
    });
}

#[test]
fn quantities() {
    check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(rate) = quantity::rate(&text) {
            assert!(rate.bits_per_sec().is_finite() && rate.bits_per_sec() >= 0.0, "{text}");
        }
        if let Ok(probability) = quantity::probability(&text) {
            assert!((0.0..=1.0).contains(&probability), "{text}");
        }
        let _ = (quantity::duration(&text), quantity::bytes(&text));
    });
}

#[test]
fn scenarios() {
    check!().with_iterations(200).for_each(|bytes: &[u8]| {
        match Plan::parse("x.toml", &String::from_utf8_lossy(bytes), &[]) {
            Ok(plan) => assert!(!plan.cases.is_empty()),
            Err(error) => assert!(error.to_string().contains("x.toml"), "{error}"),
        }
    });
}
