//! Stalls as a scenario asks for them.

use super::lengths::Lengths;
use crate::quantity::read;
use serde::Deserialize;
use std::time::Duration;

/// Stalls that come at random, `{ every = "100ms", length = ["1ms", "10ms"] }`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { every = \"100ms\", length = \"5ms\" }")]
pub struct Stalls {
    /// The mean time from the end of a stall to the beginning of the next; gaps are exponential.
    #[serde(deserialize_with = "read")]
    pub every: Duration,
    /// How long they last.
    pub length: Lengths,
}

/// More stalls than this would take longer to draw than the packets between them.
const MIN_EVERY: Duration = Duration::from_micros(10);

impl Stalls {
    /// What is wrong with them, if anything: the key, and what would be right.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.every < MIN_EVERY {
            return Err(("every", "this must be at least 10us".to_owned()));
        }
        self.length.check().map_err(|reason| ("length", reason))
    }
}
