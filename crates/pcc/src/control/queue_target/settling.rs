//! The first round trips after start-up, in which others may still be in theirs.
//!
//! Flows that begin at about the same time, as transfers do, end their start-ups at a queue that they fill together. Soon some of it is gone, with those who
//! filled it: then the path has room, and how fast the first packets arrived tells how much.

use crate::units::larger;

/// For so many round trips after start-up the window grows at once where there is no queue.
const ROUNDS: u32 = 10;
/// It grows to this part of what packets that were sent together tell of the path.
const ROOM: f64 = 0.8;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settling {
    /// Round trips since start-up; none before its end and after the last one that counts.
    rounds: Option<u32>,
    /// The fastest that packets which were sent one after the other arrived in start-up, in bytes/s, and so far in the one under way; zero if nothing
    /// tells.
    arrives: f64,
    so_far: f64,
}

impl Settling {
    /// Takes in how fast packets arrived in a round trip of start-up, in bytes/s; infinite if they were acknowledged together, which tells nothing.
    pub fn on_start_round(&mut self, arrives: f64) {
        if arrives.is_finite() {
            self.so_far = larger(self.so_far, arrives);
        }
    }

    /// Start-up has ended.
    pub fn begin(&mut self) {
        *self = Settling { rounds: Some(0), arrives: self.so_far, so_far: 0.0 };
    }

    /// A round trip has passed.
    pub fn on_round(&mut self) {
        self.rounds = self.rounds.map(|rounds| rounds + 1).filter(|&rounds| rounds < ROUNDS);
    }

    /// The window in bytes up to which the path has room, if no queue shows on one of `base` seconds.
    pub fn room(&self, base: f64) -> f64 {
        if self.rounds.is_some() { ROOM * self.arrives * base } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_some_round_trips_the_path_has_the_room_that_the_first_packets_showed() {
        let mut settling = Settling::default();
        for arrives in [1e6, 2e6, f64::INFINITY, 1.5e6] {
            settling.on_start_round(arrives);
        }
        assert_eq!(settling.room(0.1), 0.0, "start-up isn't over");
        settling.begin();
        for round in 0..ROUNDS {
            assert_eq!(settling.room(0.1), ROOM * 2e6 * 0.1, "{round}");
            settling.on_round();
        }
        assert_eq!(settling.room(0.1), 0.0);
        settling.begin();
        assert_eq!(settling.room(0.1), 0.0, "another start-up, which told nothing");
    }
}
