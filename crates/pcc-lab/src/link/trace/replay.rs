//! A bottleneck that follows a trace.

use super::recorded::Trace;
use crate::link::packet::MTU;
use pcc::Time;
use std::sync::Arc;

/// Serves packets by the opportunities of a trace.
#[derive(Clone, Debug)]
pub(in crate::link) struct Replay {
    trace: Arc<Trace>,
    /// The opportunity in use, and how many of its bytes are used.
    index: u64,
    used: u64,
}

impl Replay {
    pub(in crate::link) fn new(trace: Arc<Trace>) -> Replay {
        Replay { trace, index: 0, used: 0 }
    }

    /// A packet comes at `now` and finds nothing waiting: all opportunities up to now, and the rest of the last one, are lost.
    pub(in crate::link) fn wake(&mut self, now: Time) -> Time {
        (self.index, self.used) = (self.trace.until(now), 0);
        self.trace.time(self.index)
    }

    /// When the next packet's first byte can leave: with the last byte of the one before if it fits behind it, or else
    /// at the next opportunity.
    pub(in crate::link) fn next(&mut self) -> Time {
        if self.used == MTU {
            (self.index, self.used) = (self.index.saturating_add(1), 0);
        }
        self.trace.time(self.index)
    }

    /// Serves a packet of `bytes` bytes; returns when its last byte has left.
    pub(in crate::link) fn serve(&mut self, bytes: u64) -> Time {
        let used = self.used.saturating_add(bytes);
        let full = used.saturating_sub(1) / MTU;
        (self.index, self.used) = (self.index.saturating_add(full), used - full * MTU);
        self.trace.time(self.index)
    }

    /// Bytes of the packet in service that have not left at `now`.
    pub(in crate::link) fn left(&self, now: Time) -> f64 {
        let passed = self.trace.until(now);
        if passed > self.index { 0.0 } else { ((self.index - passed) * MTU + self.used) as f64 }
    }
}
