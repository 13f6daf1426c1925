//! How long stalls last.

use crate::quantity::Quantity;
use fastrand::Rng;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long stalls last.
///
/// Scenarios write `"5ms"` for an exponential distribution with this mean, `["1ms", "10ms"]` for a uniform one, and
/// `[["1ms", 90], ["5ms", 10]]` for a recorded one: lengths, and how often each was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Lengths {
    /// Exponential, with this mean.
    Exponential(Duration),
    /// Uniform, from one to the other.
    Uniform([Duration; 2]),
    /// One of these lengths, as often as its weight says.
    Recorded(Arc<[(Duration, f64)]>),
}

const EXPECTED: &str = "a length of stalls: \"5ms\" (exponential with this mean), [\"1ms\", \"10ms\"] (from and to), or \
                        [[\"1ms\", 90], [\"5ms\", 10]] (recorded lengths with their weights)";

impl Lengths {
    /// The mean.
    pub fn mean(&self) -> Duration {
        match self {
            Lengths::Exponential(mean) => *mean,
            Lengths::Uniform([low, high]) => (*low + *high) / 2,
            Lengths::Recorded(seen) => {
                let total: f64 = seen.iter().map(|(_, weight)| weight).sum();
                let sum: f64 = seen.iter().map(|(length, weight)| length.as_secs_f64() * weight).sum();
                Duration::try_from_secs_f64(sum / total).unwrap_or_default()
            }
        }
    }

    /// What is wrong with it, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Lengths::Uniform([low, high]) if low > high => {
                Err("the first must not be longer than the second".to_owned())
            }
            Lengths::Recorded(seen) if seen.iter().any(|(_, weight)| !(weight.is_finite() && *weight > 0.0)) => {
                Err("weights must be more than 0".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The next one.
    pub(super) fn draw(&self, rng: &mut Rng) -> Duration {
        match self {
            Lengths::Exponential(mean) => exponential(*mean, rng),
            Lengths::Uniform([low, high]) => *low + high.saturating_sub(*low).mul_f64(rng.f64()),
            Lengths::Recorded(seen) => {
                let mut left = rng.f64() * seen.iter().map(|(_, weight)| weight).sum::<f64>();
                let drawn = seen.iter().find(|(_, weight)| {
                    left -= weight;
                    left < 0.0
                });
                drawn.or(seen.last()).map_or(Duration::ZERO, |(length, _)| *length)
            }
        }
    }
}

/// Exponential with this mean, by inversion; 1 - u is never 0.
pub(super) fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    mean.mul_f64(-libm::log(1.0 - rng.f64()))
}

impl<'de> Deserialize<'de> for Lengths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lengths, D::Error> {
        deserializer.deserialize_any(LengthsVisitor)
    }
}

struct LengthsVisitor;

impl<'de> Visitor<'de> for LengthsVisitor {
    type Value = Lengths;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Lengths, E> {
        length(text).map(Lengths::Exponential)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Lengths, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        if let [Element::Length(low), Element::Length(high)] = elements[..] {
            return Ok(Lengths::Uniform([low, high]));
        }
        let seen: Option<Vec<_>> = elements
            .into_iter()
            .map(|element| match element {
                Element::Seen(length, weight) => Some((length, weight)),
                Element::Length(_) => None,
            })
            .collect();
        match seen.filter(|seen| !seen.is_empty()) {
            Some(seen) => Ok(Lengths::Recorded(seen.into())),
            None => Err(A::Error::custom(format!("expected {EXPECTED}"))),
        }
    }
}

/// What stands in the list.
enum Element {
    Length(Duration),
    Seen(Duration, f64),
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Element, D::Error> {
        deserializer.deserialize_any(ElementVisitor)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"5ms\", or one with a weight such as [\"5ms\", 10]")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Element, E> {
        length(text).map(Element::Length)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Element, A::Error> {
        let missing = || A::Error::custom("a length and its weight are needed, such as [\"5ms\", 10]");
        let Some(Element::Length(length)) = list.next_element()? else { return Err(missing()) };
        let weight = list.next_element()?.ok_or_else(missing)?;
        match list.next_element::<f64>()? {
            None => Ok(Element::Seen(length, weight)),
            Some(_) => Err(missing()),
        }
    }
}

fn length<E: Error>(text: &str) -> Result<Duration, E> {
    Duration::from_text(text).map_err(|reason| E::custom(format!("\"{text}\": {reason}")))
}
