//! Quantities in scenarios: texts with units, checked where they stand, so that an error points at its line.

use crate::quantity;
use pcc::Rate;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// What can be written as a text.
pub trait FromText: Sized {
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub struct Span(pub Duration);

impl FromText for Span {
    const EXPECTED: &'static str = "a duration such as \"30ms\"";

    fn from_text(text: &str) -> Result<Span, String> {
        let span = quantity::duration(text)?;
        if span > Duration::from_secs(1_000_000) {
            return Err("that is too long; the longest is 1000000s".to_owned());
        }
        Ok(Span(span))
    }

    fn from_number(number: f64) -> Option<Span> {
        (number == 0.0).then(Span::default)
    }
}

/// An amount of data: `"75kB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromText for Size {
    const EXPECTED: &'static str = "a size such as \"75kB\"";

    fn from_text(text: &str) -> Result<Size, String> {
        quantity::bytes(text).map(Size)
    }
}

/// A probability: `"1%"` or `0.01`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share(pub f64);

impl FromText for Share {
    const EXPECTED: &'static str = "a probability such as \"1%\" or 0.01";

    fn from_text(text: &str) -> Result<Share, String> {
        if text.trim() == "100%" { Ok(Share(1.0)) } else { quantity::probability(text).map(Share) }
    }

    fn from_number(number: f64) -> Option<Share> {
        (0.0..=1.0).contains(&number).then_some(Share(number))
    }
}

/// A rate, as [`Rate`] but in the bounds of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(pub Rate);

impl FromText for Speed {
    const EXPECTED: &'static str = "a rate such as \"100mbit\"";

    fn from_text(text: &str) -> Result<Speed, String> {
        quantity::rate(text).map(Speed)
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromText> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(|reason| E::custom(format!("\"{text}\": {reason}")))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::from_number(number).ok_or_else(|| E::custom(format!("{number} doesn't do; expected {}", T::EXPECTED)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }
}

/// Reads a text, or a number where that does.
pub(super) fn from_text<'de, T: FromText, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(TextVisitor(PhantomData))
}

macro_rules! deserialize_from_text {
    ($($name:ty),*) => {
        $(impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                crate::scenario::text::from_text(deserializer)
            }
        })*
    };
}
pub(super) use deserialize_from_text;

deserialize_from_text!(Span, Size, Share, Speed);

/// A table, or a text that is short for the usual one.
#[derive(Clone, Debug, PartialEq)]
pub struct Short<T>(pub T);

impl<'de, T: FromText + Deserialize<'de>> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Short<T>, D::Error> {
        deserializer.deserialize_any(ShortVisitor(PhantomData)).map(Short)
    }
}

struct ShortVisitor<T>(PhantomData<T>);

impl<'de, T: FromText + Deserialize<'de>> Visitor<'de> for ShortVisitor<T> {
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
