//! Quantities in scenarios: texts with units, checked where they stand, so that an error points at its line.
//!
//! For serde's `deserialize_with`: [`read`], [`read_option`] and [`read_range`] read plain types such as [`Duration`].

use super::text;
use pcc::{Rate, Time};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// What a scenario writes as a text with a unit.
pub(crate) trait Quantity: Sized {
    /// What is expected, for errors.
    const EXPECTED: &'static str;

    /// Reads the text; the error says what would be right.
    fn from_text(text: &str) -> Result<Self, String>;

    /// Reads a bare number, where that needs no unit.
    fn from_number(_number: f64) -> Option<Self> {
        None
    }
}

/// A duration: `"30ms"`.
impl Quantity for Duration {
    const EXPECTED: &'static str = "a duration such as \"30ms\"";

    fn from_text(text: &str) -> Result<Duration, String> {
        let duration = text::duration(text)?;
        if duration > Duration::from_secs(1_000_000) {
            return Err("that is too long; the longest is 1000000s".to_owned());
        }
        Ok(duration)
    }

    fn from_number(number: f64) -> Option<Duration> {
        (number == 0.0).then_some(Duration::ZERO)
    }
}

/// An instant, as the time since the start of the run.
impl Quantity for Time {
    const EXPECTED: &'static str = Duration::EXPECTED;

    fn from_text(text: &str) -> Result<Time, String> {
        Duration::from_text(text).map(|since_start| Time::ZERO + since_start)
    }

    fn from_number(number: f64) -> Option<Time> {
        Duration::from_number(number).map(|since_start| Time::ZERO + since_start)
    }
}

/// Bytes: `"75kB"`.
impl Quantity for u64 {
    const EXPECTED: &'static str = "a size such as \"75kB\"";

    fn from_text(text: &str) -> Result<u64, String> {
        text::bytes(text)
    }
}

/// A share, such as a probability: `"1%"` or `0.01`.
impl Quantity for f64 {
    const EXPECTED: &'static str = "a share such as \"1%\" or 0.01";

    fn from_text(text: &str) -> Result<f64, String> {
        text::share(text)
    }

    fn from_number(number: f64) -> Option<f64> {
        (0.0..=1.0).contains(&number).then_some(number)
    }
}

/// A rate in the bounds of a link: `"100mbit"`.
impl Quantity for Rate {
    const EXPECTED: &'static str = "a rate such as \"100mbit\"";

    fn from_text(text: &str) -> Result<Rate, String> {
        text::rate(text)
    }
}

/// Reads a quantity.
pub(crate) fn read<'de, T: Quantity, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Text::deserialize(deserializer)?.0)
}

/// Reads a quantity that may be missing; such a field needs `#[serde(default)]`, too.
pub(crate) fn read_option<'de, T: Quantity, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Text<T>>::deserialize(deserializer)?.map(|text| text.0))
}

/// Reads two quantities, from one to the other, that may be missing.
pub(crate) fn read_range<'de, T: Quantity, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[T; 2]>, D::Error> {
    Ok(Option::<[Text<T>; 2]>::deserialize(deserializer)?.map(|range| range.map(|text| text.0)))
}

/// Reads what may be missing, and is a table or a text that is short for the usual one.
pub(crate) fn read_or_table<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Quantity + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::<Short<T>>::deserialize(deserializer)?.map(|short| short.0))
}

/// A quantity as a text, or as a number where that does.
struct Text<T>(T);

impl<'de, T: Quantity> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<T>, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData)).map(Text)
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Quantity> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(|reason| E::custom(format!("\"{text}\": {reason}")))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::from_number(number).ok_or_else(|| unclear::<T, E>(number))
    }

    /// A whole number but zero needs a unit: a share of 1 may be 1 % or all.
    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        if number == 0 { self.visit_f64(0.0) } else { Err(unclear::<T, E>(number)) }
    }
}

fn unclear<T: Quantity, E: Error>(number: impl fmt::Display) -> E {
    E::custom(format!("{number} doesn't do; expected {}", T::EXPECTED))
}

/// A table, or a text that is short for the usual one.
struct Short<T>(T);

impl<'de, T: Quantity + Deserialize<'de>> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Short<T>, D::Error> {
        deserializer.deserialize_any(ShortVisitor(PhantomData)).map(Short)
    }
}

struct ShortVisitor<T>(PhantomData<T>);

impl<'de, T: Quantity + Deserialize<'de>> Visitor<'de> for ShortVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        TextVisitor(PhantomData).visit_str(text)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        TextVisitor(PhantomData).visit_f64(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        TextVisitor(PhantomData).visit_i64(number)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}
