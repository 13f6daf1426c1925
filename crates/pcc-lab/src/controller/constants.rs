//! The constants of a profile as a table, in which each has a key.

use super::ControllerError;
use pcc::Profile;
use pcc::utility::{LossResilient, UtilityConfig};
use std::mem;
use std::ops::RangeInclusive;
use toml::{Table, Value};

/// Says which variant of an enum a table is; it isn't a constant.
const TAG: &str = "kind";

/// `profile` with the constants in `set`.
pub(super) fn overridden(mut profile: Profile, set: &Table) -> Result<Profile, ControllerError> {
    // A formula has no text and no constants: another utility stands in for it.
    let own = matches!(profile.utility, UtilityConfig::Own(_))
        .then(|| mem::replace(&mut profile.utility, UtilityConfig::LossResilient(LossResilient)));
    let mut table = Table::try_from(&profile).map_err(|error| wrong(&[&profile.name], error))?;
    let mut constants = table.clone();
    constants.remove("name");
    if own.is_some() {
        constants.remove("utility");
    }
    let mut leaves = Vec::new();
    collect(&constants, set, &mut Vec::new(), &mut leaves)?;
    // One at a time, so that what is wrong has a name.
    for (path, value) in leaves {
        check(&path, value)?;
        put(&mut table, &path, value);
        profile = table.clone().try_into().map_err(|error: toml::de::Error| wrong(&path, error.message()))?;
    }
    profile.utility = own.unwrap_or(profile.utility);
    Ok(profile)
}

/// The number at a dotted key.
pub(super) fn number(profile: &Profile, key: &str) -> Result<f64, ControllerError> {
    let table = Table::try_from(profile).map_err(|error| wrong(&[&profile.name], error))?;
    let mut value = &Value::Table(table);
    for part in key.split('.') {
        let known = value.as_table().into_iter().flat_map(Table::keys).map(String::as_str);
        value = value.get(part).ok_or_else(|| ControllerError::unknown("constant", key, known))?;
    }
    let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    number.ok_or_else(|| wrong(&[key], "isn't a number"))
}

/// Adds what `set` overrides in `table`, which lies at `path`, to `leaves`.
fn collect<'a>(
    table: &Table,
    set: &'a Table,
    path: &mut Vec<&'a str>,
    leaves: &mut Vec<(Vec<&'a str>, &'a Value)>,
) -> Result<(), ControllerError> {
    for (key, value) in set {
        path.push(key);
        let Some(current) = table.get(key).filter(|_| key != TAG) else {
            let known = table.keys().map(String::as_str).filter(|key| *key != TAG);
            return Err(ControllerError::unknown("constant", &path.join("."), known));
        };
        match (current, value) {
            // A table of one is a variant with its value, such as `threshold = 0.01`, and replaced by the new one.
            (Value::Table(current), Value::Table(value)) if current.len() > 1 => collect(current, value, path, leaves)?,
            _ => leaves.push((path.clone(), value)),
        }
        path.pop();
    }
    Ok(())
}

fn put(table: &mut Table, path: &[&str], value: &Value) {
    match path {
        [] => {}
        [key] => {
            table.insert((*key).to_owned(), value.clone());
        }
        [key, rest @ ..] => {
            if let Some(Value::Table(inner)) = table.get_mut(*key) {
                put(inner, rest, value);
            }
        }
    }
}

/// The numbers that a constant may be: no step may reach the rate itself.
fn range(key: &str) -> RangeInclusive<f64> {
    match key {
        "probe-step" | "min-step" | "max-step" | "most" => 0.0..=0.9,
        "pairs" => 1.0..=2.0,
        _ => 0.0..=1e12,
    }
}

/// Checks the numbers of a value.
fn check(path: &[&str], value: &Value) -> Result<(), ControllerError> {
    let number = match value {
        Value::Float(number) => *number,
        Value::Integer(number) => *number as f64,
        Value::Table(table) => {
            return table.iter().try_for_each(|(key, value)| check(&[path, &[key]].concat(), value));
        }
        _ => return Ok(()),
    };
    let range = range(path.last().unwrap_or(&""));
    if range.contains(&number) {
        return Ok(());
    }
    Err(wrong(path, format!("{number} isn't between {} and {}", range.start(), range.end())))
}

fn wrong(path: &[&str], problem: impl ToString) -> ControllerError {
    ControllerError::Value { key: path.join("."), problem: problem.to_string() }
}
