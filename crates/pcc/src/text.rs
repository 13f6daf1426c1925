//! How a profile and its parts look as text.

use crate::profile::Profile;
use crate::units::Rate;
use crate::utility::Utility;
use crate::weight::Weight;
use alloc::sync::Arc;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // What is derived from the fields.
        Profile::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Profile {
    /// All constants have to be within their ranges.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Profile, D::Error> {
        let profile = Profile::deserialize(deserializer)?;
        profile.validate().map_err(D::Error::custom)?;
        Ok(profile)
    }
}

impl Serialize for Rate {
    /// A number in bit/s.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.bits_per_sec())
    }
}

impl<'de> Deserialize<'de> for Rate {
    /// A number in bit/s, or a text such as `2mbit`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        deserializer.deserialize_any(RateVisitor)
    }
}

struct RateVisitor;

impl Visitor<'_> for RateVisitor {
    type Value = Rate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rate such as \"2mbit\", or a number of bit/s")
    }

    fn visit_f64<E: Error>(self, bits: f64) -> Result<Rate, E> {
        Ok(Rate::from_bits_per_sec(bits))
    }

    fn visit_i64<E: Error>(self, bits: i64) -> Result<Rate, E> {
        self.visit_f64(bits as f64)
    }

    fn visit_u64<E: Error>(self, bits: u64) -> Result<Rate, E> {
        self.visit_f64(bits as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Rate, E> {
        text.parse().map_err(E::custom)
    }
}

impl Serialize for Weight {
    /// A number.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl<'de> Deserialize<'de> for Weight {
    /// A number from [`Weight::MIN`] to [`Weight::MAX`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Weight, D::Error> {
        Weight::new(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Refuses to write a utility function that is code.
pub(crate) fn no_text<S: Serializer>(_: &Arc<dyn Utility>, _: S) -> Result<S::Ok, S::Error> {
    Err(S::Error::custom("a utility function of your own has no text"))
}

/// An option whose `None` is written `"off"`, because TOML has no null.
pub(crate) mod switch {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Word {
        Off,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(untagged, expecting = "expected \"off\", or a value of the right type with all its parts")]
    enum Switch<T> {
        Off(Word),
        On(T),
    }

    pub fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map_or(Switch::Off(Word::Off), Switch::On).serialize(serializer)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        Ok(match Switch::deserialize(deserializer)? {
            Switch::Off(Word::Off) => None,
            Switch::On(value) => Some(value),
        })
    }
}
