//! Many cases from one scenario: every combination of the values of its sweeps.

use super::error::ScenarioError;
use super::fault::{check_text, no_such};
use serde::Deserialize;
use toml::{Table, Value};

/// `[[sweep]]`: an axis along which the scenario changes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sweep {
    /// What tables and plots call it.
    pub name: String,
    /// The key that takes the values, such as `link.queue` or `flow.1.controller`; without a number or a name all links or flows are meant.
    pub key: Option<String>,
    /// The values; a table sets several keys, and its `label` is what plots call it.
    #[serde(default)]
    pub values: Vec<Value>,
    /// Instead of values: this many cases with values drawn at random.
    pub draw: Option<Draw>,
}

/// `draw = { cases = 50, from = { "link.rate" = ["5mbit", "200mbit"] } }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// How many cases to draw.
    pub cases: u32,
    /// The seed of the draws; other than the seed of runs, so that all compete in the same cases.
    #[serde(default)]
    pub seed: u64,
    /// Per key, the smallest and the largest value in the same unit; evenly on a logarithmic scale, but evenly from zero on.
    pub from: Table,
}

/// A point on an axis: what it is called, and the keys to set.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What tables and plots call it.
    pub label: String,
    /// The keys to set, each with its value.
    pub set: Vec<(String, Value)>,
}

impl Sweep {
    /// The points of the axis.
    ///
    /// # Errors
    ///
    /// When a value has no key to go to, or a draw isn't between two quantities of one unit.
    pub fn points(&self) -> Result<Vec<Point>, ScenarioError> {
        let fault = |reason: String| ScenarioError::at(format!("sweep.{}", self.name), reason);
        check_text(&self.name).map_err(|reason| ScenarioError::at("sweep".to_owned(), format!("name: {reason}")))?;
        if let Some(draw) = &self.draw {
            if self.key.is_some() || !self.values.is_empty() {
                return Err(fault("a sweep has either draw or values".to_owned()));
            }
            return draw.points().map_err(fault);
        }
        if self.values.is_empty() {
            return Err(fault("a sweep needs values, or draw".to_owned()));
        }
        let point = |value: &Value| match (value, &self.key) {
            (Value::Table(table), _) => {
                let mut set = table.clone();
                let label = match set.remove("label") {
                    Some(Value::String(label)) => label,
                    _ => return Err(fault("a table of values needs a label".to_owned())),
                };
                Ok(Point { label, set: set.into_iter().collect() })
            }
            (value, Some(key)) => Ok(Point { label: label_of(value), set: vec![(key.clone(), value.clone())] }),
            (value, None) => Err(fault(format!("the value {value} needs a key; add key = \"link.rate\", for example"))),
        };
        let points = self.values.iter().map(point).collect::<Result<Vec<Point>, _>>()?;
        points.iter().try_for_each(|point| check_text(&point.label)).map_err(fault)?;
        match (1..points.len()).find(|index| points[..*index].iter().any(|other| other.label == points[*index].label)) {
            Some(twice) => Err(fault(format!("two values are called {}; give one a label", points[twice].label))),
            None => Ok(points),
        }
    }
}

/// The most cases that are drawn.
const MAX_DRAWN: u32 = 1000;

impl Draw {
    fn points(&self) -> Result<Vec<Point>, String> {
        if !(1..=MAX_DRAWN).contains(&self.cases) {
            return Err(format!("draw.cases must be between 1 and {MAX_DRAWN}"));
        }
        let ranges: Vec<(&String, Range)> =
            self.from.iter().map(|(key, range)| Ok((key, Range::read(key, range)?))).collect::<Result<_, String>>()?;
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let case = |index| Point {
            label: format!("{}", index + 1),
            set: ranges.iter().map(|(key, range)| ((*key).clone(), range.draw(&mut rng))).collect(),
        };
        Ok((0..self.cases).map(case).collect())
    }
}

/// From one number to another, with what stands behind both.
struct Range {
    low: f64,
    high: f64,
    unit: String,
}

impl Range {
    fn read(key: &str, range: &Value) -> Result<Range, String> {
        let expected =
            || format!("draw.from.\"{key}\" must be two quantities of one unit, such as [\"5mbit\", \"200mbit\"]");
        let [low, high] = range.as_array().map(Vec::as_slice).unwrap_or_default() else { return Err(expected()) };
        let split = |value: &Value| {
            let text = value.as_str()?;
            let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
            Some((text[..end].parse::<f64>().ok()?, text[end..].to_owned()))
        };
        match (split(low), split(high)) {
            (Some((low, unit)), Some((high, same))) if unit == same && low <= high => Ok(Range { low, high, unit }),
            (Some((_, unit)), Some((_, same))) if unit == same => {
                Err(format!("draw.from.\"{key}\" must have the smaller quantity first"))
            }
            _ => Err(expected()),
        }
    }

    fn draw(&self, rng: &mut fastrand::Rng) -> Value {
        let uniform = rng.f64();
        let number =
            if self.low > 0.0 { self.low * libm::pow(self.high / self.low, uniform) } else { self.high * uniform };
        // Four decimals read well, but not where they are all there is; four digits do in a range that spans both.
        let number = match self.high < 0.1 {
            true => number.to_string(),
            false if self.low > 0.0 && self.low < 0.01 => {
                let decimals = (3.0 - libm::floor(libm::log10(number))).max(4.0) as usize;
                format!("{number:.decimals$}")
            }
            false => format!("{number:.4}"),
        };
        Value::String(format!("{number}{}", self.unit))
    }
}

/// A value as a label.
pub(crate) fn label_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Sets `key` in a scenario. A part of the key that meets an array is an index, the `name` of an element, or, if it is neither, meant for all
/// elements.
///
/// # Errors
///
/// When the key leads through something that has no parts.
pub fn set(scenario: &mut Table, key: &str, value: &Value) -> Result<(), ScenarioError> {
    let parts: Vec<&str> = key.split('.').collect();
    set_in_table(scenario, &parts, value).ok_or_else(|| {
        let reason = no_element(scenario, &parts).unwrap_or_else(|| "there is no such key to set".to_owned());
        ScenarioError::at(key.to_owned(), reason)
    })
}

/// If a key is for an element of a list by its number, and there is none of that number: what to say.
fn no_element(scenario: &Table, parts: &[&str]) -> Option<String> {
    let [list, index, ..] = parts else { return None };
    let count = scenario.get(*list)?.as_array()?.len();
    let index: usize = index.parse().ok()?;
    (index >= count).then(|| match count {
        1 => format!("there is no {list} {index}: they are counted from 0, and the only one is {list}.0"),
        _ => format!(
            "there is no {list} {index}: they are counted from 0, and the last one is {list}.{}",
            count.max(1) - 1
        ),
    })
}

/// What a key means in a scenario, as [`set`] does, with a number for each element of a list and a dot behind each part:
/// `link.queue` is `link.0.queue.` and `link.1.queue.`.
pub(super) fn places(scenario: &Table, key: &str) -> Vec<String> {
    let parts: Vec<&str> = key.split('.').collect();
    let mut places = Vec::new();
    find_places(scenario.get(parts[0]), &parts[1..], format!("{}.", parts[0]), &mut places);
    places
}

fn find_places(value: Option<&Value>, parts: &[&str], place: String, places: &mut Vec<String>) {
    match (value, parts.split_first()) {
        (Some(Value::Array(array)), Some((first, rest))) => {
            let named = |element: &Value| element.get("name").and_then(Value::as_str) == Some(first);
            let index = first.parse().ok().or_else(|| array.iter().position(named));
            match index {
                Some(index) => find_places(array.get(index), rest, format!("{place}{index}."), places),
                None => (0..array.len())
                    .for_each(|index| find_places(array.get(index), parts, format!("{place}{index}."), places)),
            }
        }
        (Some(Value::Table(table)), Some((first, rest))) => {
            find_places(table.get(*first), rest, format!("{place}{first}."), places);
        }
        (_, parts) => {
            let rest = parts.into_iter().flat_map(|(first, rest)| [first].into_iter().chain(rest));
            places.push(rest.fold(place, |place, part| format!("{place}{part}.")));
        }
    }
}

/// If a key may have been meant for one element of a list, by its name, and there is none of that name, as with `link.bottlneck.rate`: that
/// name, and what to say.
pub(super) fn misnamed<'a>(scenario: &Table, key: &'a str) -> Option<(&'a str, String)> {
    let mut parts = key.split('.');
    let (list, name) = (parts.next()?, parts.next()?);
    // Without a third part, the second can only be a key of all elements.
    parts.next()?;
    let elements = scenario.get(list)?.as_array()?;
    let known: Vec<&str> = elements.iter().filter_map(|element| element.get("name")?.as_str()).collect();
    (!known.contains(&name)).then(|| (name, no_such(list, name, &known)))
}

fn set_in_table(table: &mut Table, parts: &[&str], value: &Value) -> Option<()> {
    let (first, rest) = parts.split_first()?;
    if rest.is_empty() {
        table.insert((*first).to_owned(), value.clone());
        return Some(());
    }
    // `utility` and the like may not be there yet.
    let inner = table.entry(*first).or_insert_with(|| Value::Table(Table::new()));
    set_in_value(inner, rest, value)
}

fn set_in_value(inner: &mut Value, parts: &[&str], value: &Value) -> Option<()> {
    match inner {
        Value::Table(table) => set_in_table(table, parts, value),
        Value::Array(array) => {
            let (first, rest) = parts.split_first()?;
            let named = |element: &Value| element.get("name").and_then(Value::as_str) == Some(first);
            if let Ok(index) = first.parse::<usize>() {
                return set_in_value(array.get_mut(index)?, rest, value);
            }
            if let Some(element) = array.iter_mut().find(|element| named(element)) {
                return set_in_value(element, rest, value);
            }
            array.iter_mut().try_for_each(|element| set_in_value(element, parts, value))
        }
        _ => None,
    }
}
