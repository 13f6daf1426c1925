//! The inner loop: a window that moves towards a number of packets in the queue (Copa, NSDI 2018, section 2.1).

/// Round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// The window falls by at most so many times what it may grow by.
const FASTEST_DOWN: f64 = 2.0;

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

    /// Moves up or down by the part of a round trip's step that `acked` packets are.
    pub fn step(&mut self, up: bool, acked: f64, gain: f64, fastest: f64) {
        if up != self.up {
            (self.up, self.velocity, self.rounds) = (up, 1.0, 0);
        }
        let part = acked / self.packets;
        let step = gain * self.velocity;
        self.packets +=
            if up { step.min((self.packets * fastest).max(1.0)) * part } else { -step.min((self.packets * FASTEST_DOWN * fastest).max(1.0)) * part };
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

    /// Jumps to another size, and begins to move slowly from there.
    pub fn jump(&mut self, packets: f64) {
        *self = Window::new(packets);
    }
}
