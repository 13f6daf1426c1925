//! HyStart++ (RFC 9406): leaves the first slow start when round-trip times grow, before the queue overflows.
//!
//! Its limit of growth for each acknowledgement is infinite, as the RFC says for paced senders.

use super::window::{Ack, Window};

/// By what part of the last round's minimum round-trip time that of a round must be larger (`MIN_RTT_DIVISOR`), and the
/// range of that, in seconds (`MIN_RTT_THRESH`, `MAX_RTT_THRESH`).
const DIVISOR: f64 = 8.0;
const MIN_THRESHOLD: f64 = 0.004;
const MAX_THRESHOLD: f64 = 0.016;
/// Samples that a round needs (`N_RTT_SAMPLE`).
const MIN_SAMPLES: u32 = 8;
/// Conservative slow start grows slower by this (`CSS_GROWTH_DIVISOR`) for so many rounds (`CSS_ROUNDS`).
const CONSERVATIVE_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;

/// The state of one slow start (RFC 9406, section 4.2).
#[derive(Debug)]
pub(crate) struct HyStart {
    last_min: f64,
    current_min: f64,
    samples: u32,
    conservative: Option<Conservative>,
}

#[derive(Debug)]
struct Conservative {
    /// The minimum round-trip time of the round that began it.
    baseline: f64,
    rounds: u32,
}

impl Default for HyStart {
    fn default() -> Self {
        HyStart { last_min: f64::INFINITY, current_min: f64::INFINITY, samples: 0, conservative: None }
    }
}

impl HyStart {
    /// Grows `window` in slow start, or ends it by lowering the threshold.
    pub fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        let divisor = if self.conservative.is_some() { CONSERVATIVE_DIVISOR } else { 1.0 };
        window.slow_start(ack.packets / divisor);
        if self.is_over(ack) {
            window.threshold = window.size;
        }
    }

    fn is_over(&mut self, ack: &Ack) -> bool {
        if ack.round {
            (self.last_min, self.current_min, self.samples) = (self.current_min, f64::INFINITY, 0);
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
            }
        }
        self.current_min = self.current_min.min(ack.rtt.latest);
        self.samples += 1;
        if self.samples >= MIN_SAMPLES {
            self.judge_delay();
        }
        self.conservative.as_ref().is_some_and(|c| c.rounds >= CONSERVATIVE_ROUNDS)
    }

    fn judge_delay(&mut self) {
        match &self.conservative {
            Some(conservative) if self.current_min < conservative.baseline => self.conservative = None,
            None if self.current_min
                >= self.last_min + (self.last_min / DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD) =>
            {
                self.conservative = Some(Conservative { baseline: self.current_min, rounds: 0 });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    /// A round of eight acknowledgements of one packet, each with round-trip time `rtt`; what the window gained.
    fn round(hystart: &mut HyStart, window: &mut Window, rtt: f64) -> f64 {
        let before = window.size;
        for n in 0..8 {
            hystart.slow_start(window, &ack(1.0, rtt, n == 0));
        }
        window.size - before
    }

    #[test]
    fn a_longer_delay_slows_growth_and_five_such_rounds_end_it() {
        let (mut hystart, mut window) = (HyStart::default(), Window { size: 10.0, threshold: f64::INFINITY });
        assert_eq!(round(&mut hystart, &mut window, 0.080), 8.0);
        assert_eq!(round(&mut hystart, &mut window, 0.0899), 8.0, "below 80 ms / 8 more");
        assert_eq!(round(&mut hystart, &mut window, 0.102), 8.0, "found out with the eighth sample");
        for _ in 0..4 {
            assert_eq!(round(&mut hystart, &mut window, 0.102), 2.0);
            assert!(window.in_slow_start());
        }
        hystart.slow_start(&mut window, &ack(1.0, 0.102, true));
        assert!(!window.in_slow_start());
        assert_eq!(window.threshold, 10.0 + 24.0 + 8.0 + 0.25);
    }

    #[test]
    fn a_delay_that_falls_again_was_jitter() {
        let (mut hystart, mut window) = (HyStart::default(), Window { size: 10.0, threshold: f64::INFINITY });
        round(&mut hystart, &mut window, 0.080);
        round(&mut hystart, &mut window, 0.095);
        assert_eq!(round(&mut hystart, &mut window, 0.094), 2.0, "below the baseline, known with the eighth sample");
        assert_eq!(round(&mut hystart, &mut window, 0.094), 8.0);
    }
}
