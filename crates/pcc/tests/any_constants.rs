//! No constants within their ranges break a controller, and none outside of them comes from text.

#![cfg(feature = "serde")]

#[path = "support/events.rs"]
mod events;

use events::{Driver, ops};
use pcc::utility::UtilityConfig;
use pcc::{CongestionControl, Profile, profiles};
use proptest::prelude::*;
use toml::{Table, Value};

/// All profiles, and those with a utility that none of them has.
fn all_profiles() -> impl Iterator<Item = Profile> {
    let others = UtilityConfig::BUILT_IN.iter().map(|(kind, utility)| Profile {
        name: format!("vivace-loss with {kind}").into(),
        utility: utility.clone(),
        ..profiles::vivace_loss()
    });
    profiles::all().chain(others)
}

/// The number at the end of a path of keys.
fn at<'a>(table: &'a mut Table, path: &[String]) -> &'a mut Value {
    let (first, rest) = path.split_first().expect("a key");
    rest.iter().fold(&mut table[first], |value, key| &mut value[key])
}

/// The paths of all numbers in a table.
fn numbers(table: &Table) -> Vec<Vec<String>> {
    let of_entry = |(key, value): (&String, &Value)| {
        let inner = match value {
            Value::Table(inner) => numbers(inner),
            Value::Float(_) | Value::Integer(_) => vec![Vec::new()],
            _ => Vec::new(),
        };
        inner.into_iter().map(|path| [vec![key.clone()], path].concat()).collect::<Vec<_>>()
    };
    table.iter().flat_map(of_entry).collect()
}

/// The range of a constant, as the error about one that is too large says it.
fn range(table: &Table, path: &[String]) -> (f64, f64) {
    let mut table = table.clone();
    let number = at(&mut table, path);
    *number = if number.is_integer() { Value::Integer(i64::MAX) } else { Value::Float(f64::INFINITY) };
    let error = table.try_into::<Profile>().expect_err(&path.join("."));
    let text = error.message();
    assert!(text.starts_with(&path.join(".")) || text.starts_with("a weight is"), "{path:?}: {text}");
    let (_, range) = text.rsplit_once(" from ").expect("a range");
    let (min, max) = range.split_once(" to ").expect("a range");
    (min.parse().unwrap(), max.parse().unwrap())
}

/// A number in a range, where `part` of its logarithm is: ranges reach over many orders of magnitude.
fn within((min, max): (f64, f64), part: f64) -> f64 {
    let from = min.max(max * 1e-15);
    if part <= 0.0 { min } else { (from * (max / from).powf(part)).clamp(min, max) }
}

/// Where in its range each constant is: often at an end.
fn parts() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![1 => Just(0.0), 4 => 0.0..=1.0f64, 1 => Just(1.0)], 40)
}

#[test]
fn what_is_outside_of_its_range_does_not_come_from_text() {
    for profile in all_profiles() {
        let table = Table::try_from(&profile).unwrap();
        for path in numbers(&table) {
            let (min, max) = range(&table, &path);
            for (wrong, right) in [(min - 0.001, min), (max * 1.1 + 1.0, max)] {
                let mut table = table.clone();
                let with = |table: &mut Table, number: f64| {
                    let value = at(table, &path);
                    *value =
                        if value.is_integer() { Value::Integer(number.floor() as i64) } else { Value::Float(number) };
                    table.clone().try_into::<Profile>()
                };
                // A rate is never negative: what is given as such is none.
                let is_rate = path.last().is_some_and(|key| key.contains("rate") && key != "limited-rate");
                assert!(with(&mut table, wrong).is_err() || is_rate, "{path:?} = {wrong}");
                assert!(with(&mut table, right).is_ok(), "{path:?} = {right}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A flow with any constants goes on: it paces at some rate, and may have something in flight.
    #[test]
    fn no_valid_constants_break_a_controller(parts in parts(), ops in prop::collection::vec(ops(), 1..150)) {
        for profile in all_profiles() {
            let mut table = Table::try_from(&profile).unwrap();
            for (path, part) in numbers(&table).into_iter().zip(parts.iter().cycle()) {
                let number = within(range(&table, &path), *part);
                let value = at(&mut table, &path);
                *value = if value.is_integer() { Value::Integer(number as i64) } else { Value::Float(number) };
            }
            let (mut driver, mut controller) = (Driver::new(), table.try_into::<Profile>().unwrap().build(1));
            for &op in &ops {
                driver.run(&mut controller, op);
                prop_assert!(controller.in_flight_cap() > 0, "{profile:?}");
                prop_assert!(controller.pacing_rate().is_some_and(|rate| !rate.is_zero()), "{profile:?}");
            }
        }
    }
}
