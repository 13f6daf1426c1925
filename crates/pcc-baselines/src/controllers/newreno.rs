//! NewReno (RFC 5681 and 6582).
//!
//! As in Linux and RFC 9002 the window, not the data in flight, is halved.

use crate::parts::window::{Ack, Rule, Window};

/// Additive increase by one packet each round trip, halved on loss.
#[derive(Debug)]
pub(crate) struct NewReno;

impl Rule for NewReno {
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.additive_increase(ack.packets);
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        size / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    #[test]
    fn adds_one_packet_in_a_round_trip_and_halves() {
        let mut window = Window { size: 20.0, threshold: 10.0 };
        NewReno.avoid(&mut window, &ack(20.0, 0.1, true));
        assert_eq!(window.size, 21.0);
        assert_eq!(NewReno.after_loss(window.size), 10.5);
    }
}
