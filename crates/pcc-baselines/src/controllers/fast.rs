//! FAST TCP (Wei, Jin, Low and Hegde, "FAST TCP: motivation, architecture, algorithms, performance", ToN 14(6), 2006).
//!
//! The paper's parameter alpha is the same at all rates here. Slow start ends when a round's minimum round-trip time
//! says that alpha packets are queued. Packets are paced and a change of the window is spread over a round trip, in
//! place of the burst control that the paper speaks of.

use crate::parts::round_min::RoundMin;
use crate::parts::window::{Ack, Rule, Window};

/// Packets that a flow keeps in the queue.
const ALPHA: f64 = 20.0;
/// How much of the way to the target a round trip goes.
const GAMMA: f64 = 0.5;
/// What a packet's round-trip time weighs in the mean: this over the window, and the maximum.
const SAMPLE_WEIGHT: f64 = 3.0;
const MAX_SAMPLE_WEIGHT: f64 = 0.25;

/// A window that goes to what keeps `ALPHA` packets in the queue, the faster the farther it is.
#[derive(Debug)]
pub(crate) struct Fast {
    /// The mean round-trip time, in seconds.
    mean: Option<f64>,
    round: RoundMin,
    /// Packets that stood in the queue all through the last round.
    standing: f64,
    /// What each acknowledged packet changes the window by, in this round.
    step: f64,
}

impl Fast {
    pub fn new() -> Fast {
        Fast { mean: None, round: RoundMin::new(), standing: 0.0, step: 0.0 }
    }
}

/// The window a round trip later (the paper's equation for the window).
fn target(size: f64, base: f64, mean: f64) -> f64 {
    (2.0 * size).min((1.0 - GAMMA) * size + GAMMA * (base / mean * size + ALPHA))
}

impl Rule for Fast {
    fn on_ack(&mut self, window: &Window, ack: &Ack) {
        let base = ack.rtt.min;
        let weight = (SAMPLE_WEIGHT * ack.packets / window.size).min(MAX_SAMPLE_WEIGHT);
        let before = self.mean.unwrap_or(ack.rtt.latest);
        let mean = before + weight * (ack.rtt.latest - before);
        self.mean = Some(mean);
        if let Some(round) = self.round.update(ack) {
            self.standing = if round.samples == 0 { 0.0 } else { window.size * (1.0 - base / round.minimum) };
            self.step = target(window.size, base, mean) / window.size - 1.0;
        }
    }

    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        if self.standing >= ALPHA {
            window.threshold = window.size;
        } else {
            window.slow_start(ack.packets);
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.size += self.step * ack.packets;
        // Less isn't slow start.
        window.threshold = window.threshold.min(window.size);
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        self.step = 0.0;
        size / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    /// A round trip of `rtt` seconds, on a path of 100 ms, in ten acknowledgements.
    fn round(fast: &mut Fast, window: &mut Window, rtt: f64) {
        let part = window.size / 10.0;
        for n in 0..10 {
            let mut ack = ack(part, rtt, n == 0);
            ack.rtt.min = 0.1;
            fast.on_ack(window, &ack);
            if window.in_slow_start() {
                fast.slow_start(window, &ack);
            } else {
                fast.avoid(window, &ack);
            }
        }
    }

    #[test]
    fn a_round_trip_goes_half_of_the_way_to_the_target() {
        assert_eq!(target(100.0, 0.1, 0.1), 110.0, "half of alpha where there is no queue");
        assert_eq!(target(100.0, 0.1, 0.125), 100.0, "20 of 100 packets are queued");
        assert_eq!(target(100.0, 0.1, 0.2), 85.0);
        assert_eq!(target(4.0, 0.1, 0.1), 8.0, "at most twice the window");
        for (rtt, size) in [(0.1, 110.0), (0.125, 100.0), (0.2, 85.0)] {
            let (mut fast, mut window) = (Fast::new(), Window { size: 100.0, threshold: 50.0 });
            round(&mut fast, &mut window, rtt);
            assert!((window.size - size).abs() < 1e-9, "{} at {rtt} s", window.size);
        }
    }

    /// A path that holds 1000 packets without a queue: from both sides the window comes to 1000 and alpha.
    #[test]
    fn equilibrium_is_alpha_packets_in_the_queue() {
        for start in [500.0, 2000.0] {
            let (mut fast, mut window) = (Fast::new(), Window { size: start, threshold: 0.0 });
            for _ in 0..200 {
                let rtt = 0.1 * (window.size / 1000.0).max(1.0);
                round(&mut fast, &mut window, rtt);
            }
            assert!((window.size - 1000.0 - ALPHA).abs() < 0.1, "{}", window.size);
        }
    }

    #[test]
    fn slow_start_ends_when_alpha_packets_stand_in_the_queue() {
        for (rtt, goes_on) in [(0.124, true), (0.126, false)] {
            let (mut fast, mut window) = (Fast::new(), Window { size: 100.0, threshold: f64::INFINITY });
            round(&mut fast, &mut window, rtt);
            assert!(window.in_slow_start(), "the first round has nothing before it");
            window.size = 100.0;
            round(&mut fast, &mut window, rtt);
            assert_eq!(window.in_slow_start(), goes_on, "{rtt} s");
        }
    }

    #[test]
    fn a_loss_halves_the_window_and_forgets_the_step() {
        let (mut fast, mut window) = (Fast::new(), Window { size: 100.0, threshold: 50.0 });
        round(&mut fast, &mut window, 0.1);
        assert_eq!(fast.after_loss(100.0), 50.0);
        let before = window.size;
        fast.avoid(&mut window, &ack(10.0, 0.1, false));
        assert_eq!(window.size, before);
    }
}
