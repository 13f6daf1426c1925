//! DCTCP (RFC 8257; Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010): the more of a round trip's packets were
//! marked, the more the window shrinks.
//!
//! It is made for paths within a data center whose queues all mark above a threshold. Elsewhere it is NewReno, and beside
//! flows that halve for each mark it takes too much (RFC 8257, section 5).

use crate::parts::window::{Ack, Rule, Window};
use pcc::Ecn;

/// What a round trip weighs in the estimate (RFC 8257, section 4.2: `g`).
const WEIGHT: f64 = 1.0 / 16.0;

/// NewReno, but after marks the window shrinks by half the estimated share of packets that are marked.
#[derive(Debug)]
pub(crate) struct Dctcp {
    /// The estimate (`DCTCP.Alpha`).
    alpha: f64,
    /// Packets acknowledged in this round trip, and of those the marked ones.
    acked: f64,
    marked: f64,
}

impl Dctcp {
    /// Before anything is known each mark halves the window (RFC 8257, section 4.2).
    pub fn new() -> Dctcp {
        Dctcp { alpha: 1.0, acked: 0.0, marked: 0.0 }
    }
}

impl Rule for Dctcp {
    /// RFC 8257, section 3.3, steps 1 to 9.
    fn on_ack(&mut self, _window: &Window, ack: &Ack) {
        self.acked += ack.packets;
        self.marked += ack.marked;
        if ack.round && self.acked > 0.0 {
            self.alpha += WEIGHT * (self.marked / self.acked - self.alpha);
            (self.acked, self.marked) = (0.0, 0.0);
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.additive_increase(ack.packets);
    }

    /// RFC 8257, section 3.4.
    fn after_loss(&mut self, size: f64) -> f64 {
        size / 2.0
    }

    /// RFC 8257, section 3.3.
    fn after_mark(&mut self, size: f64) -> f64 {
        size * (1.0 - self.alpha / 2.0)
    }

    fn ecn(&self) -> Ecn {
        Ecn::Needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    /// A round trip in which `marked` of 100 packets were.
    fn round(dctcp: &mut Dctcp, marked: f64) {
        let window = Window { size: 100.0, threshold: 0.0 };
        dctcp.on_ack(&window, &Ack { marked, ..ack(60.0, 0.1, false) });
        dctcp.on_ack(&window, &ack(40.0, 0.1, true));
    }

    #[test]
    fn the_estimate_moves_by_a_sixteenth_each_round_trip() {
        let mut dctcp = Dctcp::new();
        assert_eq!(dctcp.after_mark(80.0), 40.0, "as NewReno, while nothing is known");
        round(&mut dctcp, 20.0);
        assert!((dctcp.alpha - (1.0 - 0.8 / 16.0)).abs() < 1e-12, "{}", dctcp.alpha);
        (0..300).for_each(|_| round(&mut dctcp, 20.0));
        assert!((dctcp.alpha - 0.2).abs() < 1e-6, "{}", dctcp.alpha);
    }

    #[test]
    fn marks_take_half_the_estimate_and_losses_half_the_window() {
        let mut dctcp = Dctcp::new();
        dctcp.alpha = 0.2;
        assert!((dctcp.after_mark(80.0) - 72.0).abs() < 1e-12);
        assert_eq!(dctcp.after_loss(80.0), 40.0);
    }
}
