//! The rate of the bottleneck.

use pcc::{Rate, Time};

/// Serialises packets one after the other at a constant rate.
///
/// Works in virtual time: a packet that was waiting starts when its predecessor ended, however late the driver notices.
/// Ends are computed from the start of the busy period, so that rounding to nanoseconds doesn't accumulate.
#[derive(Clone, Debug)]
pub(super) struct Serialiser {
    rate: Rate,
    /// When the current busy period began, and the bytes served since.
    busy_since: Time,
    served: u64,
    /// When the last packet ends.
    free_at: Time,
}

impl Serialiser {
    pub(super) fn new(rate: Rate) -> Serialiser {
        Serialiser { rate, busy_since: Time::ZERO, served: 0, free_at: Time::ZERO }
    }

    /// Serves a packet of `bytes` bytes that is ready at `ready`; returns when its last bit has left.
    pub(super) fn serve(&mut self, ready: Time, bytes: u64) -> Time {
        if ready > self.free_at {
            self.busy_since = ready;
            self.served = 0;
        }
        self.served = self.served.saturating_add(bytes);
        self.free_at = self.busy_since + self.rate.time_for(self.served);
        self.free_at
    }
}
