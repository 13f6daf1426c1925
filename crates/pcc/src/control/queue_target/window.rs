//! The inner loop: a window that moves towards a number of packets in the queue (Copa, NSDI 2018, section 2.1).

use crate::units::{larger, smaller};

/// The fewest packets that keep acknowledgements coming.
pub(super) const LEAST: f64 = 2.0;
/// Round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// Down, the window goes this part of the way in a round trip.
const DOWN: f64 = 0.1;
/// Up, it goes this part of the way to what was delivered before.
const UP: f64 = 0.25;

/// A window in packets, and how it moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub packets: f64,
    /// Packets by which it moves in a round trip.
    velocity: f64,
    up: bool,
    /// Round trips for which it has moved in one direction.
    rounds: u32,
    before: f64,
}

impl Window {
    pub fn new(packets: f64) -> Window {
        Window { packets, velocity: 1.0, up: true, rounds: 0, before: packets }
    }

    /// Moves towards `target` by the part of a round trip's step that `acked` packets are; up by at most a part `fastest` of the window in
    /// a round trip, down by at most twice that. With `known` packets the path was full before.
    pub fn step(&mut self, target: f64, known: f64, acked: f64, fastest: f64) {
        let up = target >= self.packets;
        if up != self.up {
            (self.up, self.velocity, self.rounds) = (up, 1.0, 0);
        }
        let part = smaller(acked / self.packets, 1.0);
        if up {
            let step = larger(self.velocity, UP * (known - self.packets));
            self.packets += larger(smaller(step, self.packets * fastest), 1.0) * part;
        } else {
            let step = larger(self.velocity, DOWN * (self.packets - target));
            let step = smaller(step, larger(self.packets * 2.0 * fastest, 1.0));
            self.packets = larger(self.packets - step * part, target);
        }
    }

    /// A round trip has passed.
    pub fn on_round(&mut self) {
        let up = self.packets > self.before;
        self.before = self.packets;
        if up != self.up {
            (self.up, self.velocity, self.rounds) = (up, 1.0, 0);
            return;
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds >= STEADY_ROUNDS {
            self.velocity = (self.velocity * 2.0).min(self.packets);
        }
    }

    /// A round trip has used `packets` of the window only: it falls to twice that in time, for it proves nothing (RFC 7661).
    pub fn disuse(&mut self, packets: f64) {
        self.packets -= (self.packets - 2.0 * packets.max(5.0)).max(0.0) / 8.0;
    }

    /// Jumps to another size, and begins to move slowly from there.
    pub fn jump(&mut self, packets: f64) {
        *self = Window::new(packets);
    }
}
