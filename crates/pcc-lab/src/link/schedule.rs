//! What changes on a path, and when.

use crate::quantity::{Quantity, read, read_option};
use pcc::{Rate, Time};
use serde::{Deserialize, Deserializer};
use std::sync::Arc;
use std::time::Duration;

/// A change of a path, `{ at = "10s", rate = "20mbit" }`. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { at = \"10s\", rate = \"20mbit\" }")]
pub struct Change {
    /// When it takes effect: before packets that enter then, after those that have left the bottleneck by then.
    #[serde(deserialize_with = "read")]
    pub at: Time,
    /// The rate from then on, whatever the capacity was before; 0 if nothing gets through. What the packet in service still lacks goes at this
    /// rate.
    #[serde(default, deserialize_with = "read_rate")]
    pub rate: Option<Rate>,
    /// The propagation delay of packets that leave the bottleneck later; they overtake none that left before.
    #[serde(default, deserialize_with = "read_option")]
    pub delay: Option<Duration>,
    /// The probability with which each packet is lost independently.
    #[serde(default, deserialize_with = "read_option")]
    pub loss: Option<f64>,
}

/// A rate, or none.
struct RateOrZero(Rate);

impl Quantity for RateOrZero {
    const EXPECTED: &'static str = Rate::EXPECTED;

    fn from_text(text: &str) -> Result<RateOrZero, String> {
        let nothing = text.parse().is_ok_and(|rate: Rate| rate.is_zero());
        let rate =
            if nothing { Ok(Rate::ZERO) } else { Rate::from_text(text).map_err(|error| format!("{error}, or 0mbit")) };
        rate.map(RateOrZero)
    }
}

fn read_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
    Ok(read_option(deserializer)?.map(|RateOrZero(rate)| rate))
}

/// The changes that are still to come.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    changes: Arc<[Change]>,
    next: usize,
    /// When the last one took effect.
    last: Time,
}

impl Schedule {
    pub(super) fn new(changes: Arc<[Change]>) -> Schedule {
        Schedule { changes, next: 0, last: Time::ZERO }
    }

    /// When the next change takes effect.
    pub(super) fn next(&self) -> Option<Time> {
        self.changes.get(self.next).map(|change| change.at.max(self.last))
    }

    /// Takes the next change if it is due at or before `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Change> {
        let at = self.next().filter(|at| *at <= now)?;
        let change = *self.changes.get(self.next)?;
        self.next += 1;
        self.last = at;
        Some(Change { at, ..change })
    }
}
