//! Propagation.

use super::queue::Packet;
use fastrand::Rng;
use pcc::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A line with a propagation delay and jitter that keeps the order of packets.
#[derive(Clone, Debug)]
pub(super) struct DelayLine<P> {
    delay: Duration,
    jitter: Duration,
    rng: Rng,
    /// With the time at which each is due, never decreasing.
    packets: VecDeque<(Time, Packet<P>)>,
    last_due: Time,
}

impl<P> DelayLine<P> {
    pub(super) fn new(delay: Duration, jitter: Duration, seed: u64) -> DelayLine<P> {
        DelayLine { delay, jitter, rng: Rng::with_seed(seed), packets: VecDeque::new(), last_due: Time::ZERO }
    }

    /// A packet enters the line at `at`.
    pub(super) fn push(&mut self, at: Time, packet: Packet<P>) {
        let jitter = if self.jitter.is_zero() { Duration::ZERO } else { self.jitter.mul_f64(self.rng.f64()) };
        // No packet overtakes another.
        self.last_due = self.last_due.max(at + self.delay + jitter);
        self.packets.push_back((self.last_due, packet));
    }

    /// Takes the next packet if it is due at or before `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        if self.next_due()? <= now { self.packets.pop_front() } else { None }
    }

    /// When the next packet is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.packets.front().map(|(due, _)| *due)
    }

    /// The earliest time at which a packet that enters at `at` can be due.
    pub(super) fn earliest(&self, at: Time) -> Time {
        self.last_due.max(at + self.delay)
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}
