//! A limit on the rate that has no queue.

use super::rate;
use crate::quantity::read;
use pcc::{Rate, Time};
use serde::Deserialize;

/// A token bucket that drops what exceeds it (RFC 2475, section 2.3.3.4); full in the beginning:
/// `{ rate = "10mbit", burst = "30kB" }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { rate = \"10mbit\", burst = \"30kB\" }")]
pub struct Policer {
    /// The rate at which tokens come, which is the rate that passes in the long run.
    #[serde(deserialize_with = "read")]
    pub rate: Rate,
    /// The most tokens in the bucket, in bytes; a packet that is larger never passes.
    #[serde(deserialize_with = "read")]
    pub burst: u64,
}

/// The tokens of a [`Policer`].
#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    policer: Policer,
    /// When it was full last, and the bytes that have passed since: no rounding accumulates.
    full_at: Time,
    passed: u64,
}

impl TokenBucket {
    pub(super) fn new(policer: Policer) -> TokenBucket {
        TokenBucket { policer, full_at: Time::ZERO, passed: 0 }
    }

    /// Whether a packet of `bytes` bytes passes at `now`; one that does takes its tokens.
    pub(super) fn conforms(&mut self, now: Time, bytes: u64) -> bool {
        let mut earned = rate::bytes_in(self.policer.rate, now.since(self.full_at)) as u64;
        if earned >= self.passed {
            (self.full_at, self.passed, earned) = (now, 0, 0);
        }
        let passed = self.passed.saturating_add(bytes);
        let conforms = passed <= earned.saturating_add(self.policer.burst);
        if conforms {
            self.passed = passed;
        }
        conforms
    }
}
