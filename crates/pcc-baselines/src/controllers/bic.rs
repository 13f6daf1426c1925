//! BIC (Xu, Harfoush and Rhee, "Binary increase congestion control for fast long-distance networks", INFOCOM 2004).
//!
//! With the constants of Linux: a loss leaves 0.8 of the window (paper: 0.875), a round trip adds at most 16 packets
//! (paper: 32), a step of the search covers a quarter of the distance (paper: half), and the last packets before the
//! old maximum, and the first beyond, are searched in steps of 0.2.

use crate::parts::window::{Ack, Rule, Window};

/// Smaller windows behave as NewReno (paper: `low_window`).
const LOW_WINDOW: f64 = 14.0;
/// The fraction of the window that a loss leaves.
const BETA: f64 = 0.8;
/// The maximum that a round trip adds, in packets.
const MAX_INCREMENT: f64 = 16.0;
/// The fraction of the distance that a step covers, as a divisor.
const SEARCH: f64 = 4.0;
/// The increment next to the maximum.
const MIN_INCREMENT: f64 = 0.2;
/// The minimum relative growth in a round trip before there was any loss.
const UNKNOWN_MAXIMUM_GROWTH: f64 = 1.0 / 20.0;

/// A binary search for the window at which the last loss came, then for a new maximum.
#[derive(Debug, Default)]
pub(crate) struct Bic {
    /// The window at the last loss, lowered by fast convergence; zero if there was none.
    maximum: f64,
}

impl Bic {
    /// Packets to grow by in a round trip at a window of `size`.
    fn increment(&self, size: f64) -> f64 {
        if size <= LOW_WINDOW {
            return 1.0;
        }
        let below = self.maximum - size;
        let increment = if below > 0.0 {
            let step = below / SEARCH;
            if step <= 1.0 { MIN_INCREMENT } else { step.min(MAX_INCREMENT) }
        } else if -below < SEARCH {
            MIN_INCREMENT
        } else {
            (-below / (SEARCH - 1.0)).min(MAX_INCREMENT)
        };
        if self.maximum == 0.0 { increment.max(size * UNKNOWN_MAXIMUM_GROWTH) } else { increment }
    }
}

impl Rule for Bic {
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.size += ack.packets * self.increment(window.size) / window.size;
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        self.maximum = if size < self.maximum { size * (1.0 + BETA) / 2.0 } else { size };
        if size <= LOW_WINDOW { size / 2.0 } else { size * BETA }
    }

    fn reset(&mut self) {
        *self = Bic::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    #[test]
    fn searches_for_the_maximum_and_beyond() {
        let bic = Bic { maximum: 200.0 };
        let at = [(14.0, 1.0), (100.0, 16.0), (180.0, 5.0), (197.0, 0.2), (203.0, 0.2), (212.0, 4.0), (300.0, 16.0)];
        for (size, increment) in at {
            assert_eq!(bic.increment(size), increment, "at {size}");
        }
        assert_eq!(Bic::default().increment(1000.0), 50.0, "no maximum known");
    }

    #[test]
    fn losses_move_the_maximum() {
        let mut bic = Bic::default();
        assert_eq!(bic.after_loss(100.0), 80.0);
        assert_eq!(bic.maximum, 100.0);
        bic.after_loss(90.0);
        assert_eq!(bic.maximum, 81.0, "fast convergence");
        assert_eq!(bic.after_loss(14.0), 7.0);
        bic.reset();
        assert_eq!(bic.maximum, 0.0);
    }

    #[test]
    fn a_round_trip_adds_the_increment() {
        let mut window = Window { size: 180.0, threshold: 160.0 };
        Bic { maximum: 200.0 }.avoid(&mut window, &ack(180.0, 0.1, true));
        assert_eq!(window.size, 185.0);
    }
}
