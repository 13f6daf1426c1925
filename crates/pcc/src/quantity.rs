//! Quantities with units, as people write them. Decimal prefixes are powers of 1000: 1 Mbit/s is 10^6 bit/s.

use crate::units::Rate;
use alloc::format;
use alloc::string::String;
use core::error::Error;
use core::fmt;
use core::str::FromStr;

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError(String);

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for QuantityError {}

/// Units and what they are worth.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// The worth of a unit, given in lower case.
    pub scale: fn(&str) -> Option<f64>,
    /// The units in words.
    pub known: &'static str,
    /// A quantity that is well written.
    pub example: &'static str,
}

impl Units {
    /// Reads a number that is not negative and its unit, in upper or lower case; returns the number in base units.
    pub fn parse(&self, text: &str) -> Result<f64, QuantityError> {
        let Units { scale, known, example } = self;
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let wrong = if text.starts_with('-') { "is negative" } else { "does not start with a number" };
        let number: f64 =
            digits.parse().map_err(|_| QuantityError(format!("this {wrong}; write for example {example}")))?;
        let unit = unit.trim().to_ascii_lowercase();
        if unit.is_empty() {
            return Err(QuantityError(format!("the unit is missing; write for example {example}")));
        }
        let unknown = || format!("the unit \"{unit}\" is unknown; known are {known}, for example {example}");
        Ok(number * scale(&unit).ok_or_else(|| QuantityError(unknown()))?)
    }
}

const RATES: Units = Units {
    scale: |unit| match unit.strip_suffix("/s").unwrap_or(unit) {
        "bit" | "bps" => Some(1.0),
        "kbit" | "kbps" => Some(1e3),
        "mbit" | "mbps" => Some(1e6),
        "gbit" | "gbps" => Some(1e9),
        _ => None,
    },
    known: "kbit, mbit or gbit (per second)",
    example: "42mbit",
};

impl FromStr for Rate {
    type Err = QuantityError;

    /// `42mbit`, `1.5 Gbit/s`, `800kbps`.
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        RATES.parse(text).map(Rate::from_bits_per_sec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Result<Rate, String> {
        text.parse().map_err(|error: QuantityError| error.to_string())
    }

    #[test]
    fn reads_what_people_write() {
        assert_eq!(rate("100mbit"), Ok(Rate::from_mbps(100.0)));
        assert_eq!(rate("1.5 Gbit/s"), Ok(Rate::from_mbps(1500.0)));
        assert_eq!(rate("800kbps"), Ok(Rate::from_mbps(0.8)));
    }

    #[test]
    fn says_what_is_wrong_and_what_would_be_right() {
        assert_eq!(rate("100").unwrap_err(), "the unit is missing; write for example 42mbit");
        assert_eq!(
            rate("5 MB").unwrap_err(),
            "the unit \"mb\" is unknown; known are kbit, mbit or gbit (per second), for example 42mbit"
        );
        assert_eq!(rate("fast").unwrap_err(), "this does not start with a number; write for example 42mbit");
        assert_eq!(rate("-1mbit").unwrap_err(), "this is negative; write for example 42mbit");
    }
}
