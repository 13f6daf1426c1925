//! Propagation.

use super::packet::Packet;
use crate::quantity::read;
use fastrand::Rng;
use pcc::Time;
use serde::Deserialize;
use std::collections::VecDeque;
use std::time::Duration;

/// Some packets are held back, so that others overtake them: `{ probability = "1%", delay = "5ms" }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { probability = \"1%\", delay = \"5ms\" }")]
pub struct Reordering {
    /// The probability with which each packet is held back, in `0.0..=1.0`.
    #[serde(deserialize_with = "read")]
    pub probability: f64,
    /// How much longer such a packet takes.
    #[serde(deserialize_with = "read")]
    pub delay: Duration,
}

/// A line with a propagation delay and jitter; but for those that are held back, no packet overtakes another.
#[derive(Clone, Debug)]
pub(super) struct DelayLine<P> {
    delay: Duration,
    jitter: Duration,
    jitter_rng: Rng,
    reordering: Option<Reordering>,
    reordering_rng: Rng,
    /// With the time at which each is due, never decreasing.
    packets: VecDeque<(Time, Packet<P>)>,
    /// The same, of those that are held back.
    held_back: VecDeque<(Time, Packet<P>)>,
    last_due: Time,
}

impl<P> DelayLine<P> {
    pub(super) fn new(
        delay: Duration,
        jitter: Duration,
        reordering: Option<Reordering>,
        jitter_seed: u64,
        reordering_seed: u64,
    ) -> DelayLine<P> {
        DelayLine {
            delay,
            jitter,
            jitter_rng: Rng::with_seed(jitter_seed),
            // Without a delay there is nothing to overtake.
            reordering: reordering.filter(|reordering| !reordering.delay.is_zero()),
            reordering_rng: Rng::with_seed(reordering_seed),
            packets: VecDeque::new(),
            held_back: VecDeque::new(),
            last_due: Time::ZERO,
        }
    }

    /// A packet enters the line at `at`.
    pub(super) fn push(&mut self, at: Time, packet: Packet<P>) {
        let jitter = if self.jitter.is_zero() { Duration::ZERO } else { self.jitter.mul_f64(self.jitter_rng.f64()) };
        self.last_due = self.last_due.max(at + self.delay + jitter);
        match self.reordering {
            Some(reordering) if self.reordering_rng.f64() < reordering.probability => {
                self.held_back.push_back((self.last_due + reordering.delay, packet));
            }
            _ => self.packets.push_back((self.last_due, packet)),
        }
    }

    /// Takes the packet that is due next. Of two that are due at once, the one held back entered first.
    pub(super) fn pop(&mut self) -> Option<Packet<P>> {
        let held_back = self.held_back.front().is_some_and(|(late, _)| {
            let on_time = self.packets.front();
            on_time.is_none_or(|(due, _)| late <= due)
        });
        let (_, packet) = if held_back { self.held_back.pop_front() } else { self.packets.pop_front() }?;
        Some(packet)
    }

    /// When the next packet is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.packets.front().into_iter().chain(self.held_back.front()).map(|(due, _)| *due).min()
    }

    /// The earliest time at which a packet that enters at `at` can be due.
    pub(super) fn earliest(&self, at: Time) -> Time {
        self.last_due.max(at + self.delay)
    }

    /// Changes the propagation delay of packets that enter from now on.
    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len() + self.held_back.len()
    }
}
