//! Scalable TCP (Kelly, "Scalable TCP: improving performance in highspeed wide area networks", CCR 33(2), 2003).
//!
//! As in Linux, small windows grow as NewReno's do, but a loss takes the same part of any window (paper: windows of up
//! to 16 packets are NewReno's in both).

use crate::parts::window::{Ack, Rule, Window};

/// Packets that each acknowledged one adds (the paper's a).
const INCREASE: f64 = 0.01;
/// The fraction of the window that a loss takes (the paper's b).
const DECREASE: f64 = 0.125;

/// Growth in proportion to the window: it takes as many round trips to recover from a loss at any rate.
#[derive(Debug)]
pub(crate) struct Scalable;

impl Rule for Scalable {
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.size += ack.packets * INCREASE.max(1.0 / window.size);
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        size * (1.0 - DECREASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    #[test]
    fn a_packet_adds_a_hundredth_or_what_newreno_adds() {
        for (size, after) in [(1000.0, 1010.0), (100.0, 101.0), (20.0, 21.0)] {
            let mut window = Window { size, threshold: 0.0 };
            Scalable.avoid(&mut window, &ack(size, 0.1, true));
            assert_eq!(window.size, after);
        }
    }

    /// The paper's recovery time: log(1 - b) / log(1 + a) round trips, which is 13.4.
    #[test]
    fn recovery_takes_the_same_number_of_round_trips_at_any_rate() {
        for before in [200.0, 10_000.0, 1e6] {
            let mut window = Window { size: Scalable.after_loss(before), threshold: 0.0 };
            let mut rounds = 0;
            while window.size < before {
                let all = window.size;
                Scalable.avoid(&mut window, &ack(all, 0.1, true));
                rounds += 1;
            }
            assert_eq!(rounds, 14, "from a window of {before}");
        }
    }
}
