//! Veno (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", JSAC 21(2), 2003).
//!
//! As in Linux, the last round-trip time tells how many packets are queued.

use crate::parts::window::{Ack, Rule, Window};

/// From so many packets in the queue on the path is congested (the paper's beta).
const CONGESTED: f64 = 3.0;
/// The fraction of the window that a loss leaves without congestion.
const AFTER_RANDOM_LOSS: f64 = 0.8;

/// NewReno that takes losses without a queue for random ones.
#[derive(Debug, Default)]
pub(crate) struct Veno {
    /// Packets in the queue (the paper's N).
    queued: f64,
}

impl Veno {
    fn is_congested(&self) -> bool {
        self.queued >= CONGESTED
    }
}

impl Rule for Veno {
    fn on_ack(&mut self, window: &Window, ack: &Ack) {
        self.queued = window.size * (ack.rtt.latest - ack.rtt.min) / ack.rtt.latest;
    }

    /// A congested path gets one packet more every other round trip.
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.additive_increase(if self.is_congested() { ack.packets / 2.0 } else { ack.packets });
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        if self.is_congested() { size / 2.0 } else { size * AFTER_RANDOM_LOSS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    /// What a round trip of `rtt` seconds on a path of 100 ms makes of 100 packets, and a loss after it.
    fn after(rtt: f64) -> (f64, f64) {
        let (mut veno, mut window) = (Veno::default(), Window { size: 100.0, threshold: 0.0 });
        let mut ack = ack(100.0, rtt, true);
        ack.rtt.min = 0.1;
        veno.on_ack(&window, &ack);
        veno.avoid(&mut window, &ack);
        (window.size, veno.after_loss(100.0))
    }

    /// 100 packets, of which three are queued when the round trip takes 0.1 / 0.97 s.
    #[test]
    fn three_packets_in_the_queue_are_congestion() {
        assert_eq!(after(0.1), (101.0, 80.0));
        assert_eq!(after(0.1 / 0.9701), (101.0, 80.0));
        assert_eq!(after(0.1 / 0.9699), (100.5, 50.0));
    }
}
