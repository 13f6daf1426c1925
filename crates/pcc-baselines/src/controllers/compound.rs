//! Compound TCP (Tan, Song, Zhang and Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02).
//!
//! The round-trip time of a round is its minimum, as Linux's Vegas has it.

use crate::parts::round_min::{Round, RoundMin};
use crate::parts::window::{Ack, Rule, Window};

/// A round trip without a queue adds `ALPHA * window^EXPONENT` packets.
const ALPHA: f64 = 0.125;
const EXPONENT: f64 = 0.75;
/// Packets that each queued one takes from the delay window (the paper's zeta).
const DRAIN: f64 = 1.0;
/// The range of packets in the queue up to which the delay window grows (gamma).
const MIN_GAMMA: f64 = 5.0;
const MAX_GAMMA: f64 = 30.0;
/// What gamma becomes of the packets that NewReno alone would have queued at a loss, and what that weighs (lamda).
const GAMMA_OF_QUEUED: f64 = 0.75;
const WEIGHT: f64 = 0.8;
/// Rounds with fewer round-trip samples say nothing.
const MIN_SAMPLES: u32 = 3;

/// NewReno's window, and one beside it that grows fast while there is no queue.
#[derive(Debug)]
pub(crate) struct Compound {
    /// The part of the window that follows the delay (dwnd), in packets.
    delay_window: f64,
    gamma: f64,
    /// The part of the round-trip time that is waiting, in the last round; `None` after a loss.
    waiting: Option<f64>,
    round: RoundMin,
    /// A round's finding is used once.
    fresh: bool,
}

impl Compound {
    pub fn new() -> Compound {
        Compound { delay_window: 0.0, gamma: MAX_GAMMA, waiting: None, round: RoundMin::new(), fresh: false }
    }

    /// What the delay window changes by at a window of `size` of which the part `waiting` is queued.
    fn step(&self, size: f64, waiting: f64) -> f64 {
        let queued = size * waiting;
        if queued < self.gamma {
            (ALPHA * libm::pow(size, EXPONENT) - 1.0).max(0.0)
        } else {
            -(DRAIN * queued).min(self.delay_window)
        }
    }
}

impl Rule for Compound {
    fn on_ack(&mut self, _window: &Window, ack: &Ack) {
        if let Some(Round { minimum, samples: MIN_SAMPLES.. }) = self.round.update(ack) {
            let base = ack.rtt.min.min(minimum);
            (self.waiting, self.fresh) = (Some((minimum - base) / minimum), true);
        }
    }

    /// The delay window is for congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        self.delay_window = 0.0;
        window.slow_start(ack.packets);
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(waiting) = self.waiting.filter(|_| std::mem::take(&mut self.fresh)) {
            let step = self.step(window.size, waiting);
            self.delay_window += step;
            window.size += step;
            // Less isn't slow start.
            window.threshold = window.threshold.min(window.size);
        }
        window.additive_increase(ack.packets);
    }

    /// Halves both windows, after gamma was tuned by what NewReno's would have queued.
    fn after_loss(&mut self, size: f64) -> f64 {
        if let Some(waiting) = self.waiting.take() {
            let sample = GAMMA_OF_QUEUED * (size - self.delay_window) * waiting;
            self.gamma = (self.gamma + WEIGHT * (sample - self.gamma)).clamp(MIN_GAMMA, MAX_GAMMA);
        }
        self.delay_window /= 2.0;
        size / 2.0
    }

    fn reset(&mut self) {
        *self = Compound::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    /// What a round of `rtt` seconds on a path of 100 ms makes of a window.
    fn round(compound: &mut Compound, window: &mut Window, rtt: f64) {
        let mut all = ack(window.size, rtt, false);
        all.rtt.min = 0.1;
        for _ in 0..MIN_SAMPLES {
            compound.on_ack(window, &all);
        }
        all.round = true;
        compound.on_ack(window, &all);
        compound.avoid(window, &all);
    }

    /// The paper's equation 4: 256 packets get 0.125 * 256^0.75 - 1 = 7 in the delay window and one in NewReno's.
    #[test]
    fn a_path_without_a_queue_is_filled_fast() {
        let (mut compound, mut window) = (Compound::new(), Window { size: 256.0, threshold: 200.0 });
        round(&mut compound, &mut window, 0.1);
        assert_eq!(compound.delay_window, 7.0);
        assert!((window.size - 263.0 - 256.0 / 263.0).abs() < 1e-9, "{}", window.size);
        let mut small = Window { size: 16.0, threshold: 0.0 };
        let mut reno = Compound::new();
        round(&mut reno, &mut small, 0.1);
        assert_eq!((reno.delay_window, small.size), (0.0, 17.0), "NewReno up to 16 packets");
    }

    #[test]
    fn a_queue_takes_the_delay_window() {
        let mut compound = Compound { delay_window: 60.0, ..Compound::new() };
        let mut window = Window { size: 200.0, threshold: 200.0 };
        round(&mut compound, &mut window, 0.125);
        assert!((compound.delay_window - 20.0).abs() < 1e-9, "40 of 200 packets were queued");
        assert!(!window.in_slow_start());
        round(&mut compound, &mut window, 0.2);
        assert_eq!(compound.delay_window, 0.0);
        let before = window.size;
        round(&mut compound, &mut window, 0.2);
        assert!((window.size - before - 1.0).abs() < 1e-9, "what is left is NewReno");
    }

    #[test]
    fn a_finding_is_used_once() {
        let (mut compound, mut window) = (Compound::new(), Window { size: 256.0, threshold: 200.0 });
        round(&mut compound, &mut window, 0.1);
        compound.avoid(&mut window, &ack(1.0, 0.1, false));
        assert_eq!(compound.delay_window, 7.0);
    }

    #[test]
    fn a_loss_halves_both_windows_and_tunes_gamma() {
        let mut compound = Compound { delay_window: 60.0, waiting: Some(0.1), ..Compound::new() };
        assert_eq!(compound.after_loss(200.0), 100.0);
        assert_eq!(compound.delay_window, 30.0);
        // 0.2 * 30 + 0.8 * 0.75 * 140 * 0.1
        assert!((compound.gamma - 14.4).abs() < 1e-9, "{}", compound.gamma);
        compound.after_loss(100.0);
        assert!((compound.gamma - 14.4).abs() < 1e-9, "no round since");
        compound.waiting = Some(0.0);
        compound.after_loss(100.0);
        assert_eq!(compound.gamma, MIN_GAMMA);
    }
}
