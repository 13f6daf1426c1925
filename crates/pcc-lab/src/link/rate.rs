//! A bottleneck with a rate.

use pcc::{Rate, Time};
use std::time::Duration;

/// Bytes that pass in `time`. Nanoseconds, unlike seconds, are exact.
pub(super) fn bytes_in(rate: Rate, time: Duration) -> f64 {
    rate.bits_per_sec() * time.as_nanos() as f64 / 8e9
}

/// Serialises packets one after the other.
///
/// Works in virtual time: a packet that was waiting starts when its predecessor ended, however late the driver notices.
/// Ends are computed from the start of the busy period, so that rounding to nanoseconds doesn't accumulate.
#[derive(Clone, Debug)]
pub(super) struct Serialiser {
    rate: Rate,
    /// When the current busy period, or its part at this rate, began; and the bytes taken for service since.
    busy_since: Time,
    taken: f64,
    /// When the last packet ends.
    free_at: Time,
}

impl Serialiser {
    pub(super) fn new(rate: Rate) -> Serialiser {
        Serialiser::resume(rate, Time::ZERO, 0.0)
    }

    /// One that has `left` bytes still to serve at `now`.
    pub(super) fn resume(rate: Rate, now: Time, left: f64) -> Serialiser {
        let mut serialiser = Serialiser { rate, busy_since: now, taken: left, free_at: now };
        serialiser.free_at = serialiser.end();
        serialiser
    }

    /// A packet comes at `now` and finds nothing in service.
    pub(super) fn wake(&mut self, now: Time) -> Time {
        if now > self.free_at {
            (self.busy_since, self.taken) = (now, 0.0);
        }
        now
    }

    /// Serves a packet of `bytes` bytes; returns when its last bit has left.
    pub(super) fn serve(&mut self, bytes: u64) -> Time {
        self.taken += bytes as f64;
        self.free_at = self.end();
        self.free_at
    }

    /// Bytes that it has taken and not served at `now`.
    pub(super) fn left(&self, now: Time) -> f64 {
        (self.taken - bytes_in(self.rate, now.since(self.busy_since))).max(0.0)
    }

    pub(super) fn free_at(&self) -> Time {
        self.free_at
    }

    fn end(&self) -> Time {
        // `as` saturates, and takes NaN, as of nothing at no rate, for 0.
        self.busy_since + Duration::from_nanos((self.taken * 8e9 / self.rate.bits_per_sec()) as u64)
    }
}
