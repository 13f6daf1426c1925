//! Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", JSAC 13(8), 1995).
//!
//! As in Linux: a round's minimum round-trip time is compared (paper: its mean), the window doubles every round trip of
//! slow start (paper: every other), and losses are found and answered as in NewReno.

use crate::parts::round_min::{Round, RoundMin};
use crate::parts::window::{Ack, Rule, Window};

/// Packets in the queue below which the window grows and above which it shrinks (the paper's alpha and beta).
const ALPHA: f64 = 2.0;
const BETA: f64 = 4.0;
/// Packets in the queue that end slow start (gamma).
const GAMMA: f64 = 1.0;
/// Rounds with fewer round-trip samples say nothing; the window then changes as NewReno's.
const MIN_SAMPLES: u32 = 3;

/// Keeps a few packets in the queue.
#[derive(Debug)]
pub(crate) struct Vegas {
    round: RoundMin,
    /// What the round before found, until the window was changed by it.
    finding: Finding,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Finding {
    /// Nothing, or it was used.
    None,
    TooFewSamples,
    /// The minimum round-trip time of the round and of all time, in seconds.
    Delay {
        round: f64,
        base: f64,
    },
}

impl Vegas {
    pub fn new() -> Vegas {
        Vegas { round: RoundMin::new(), finding: Finding::None }
    }

    fn take_finding(&mut self) -> Finding {
        std::mem::replace(&mut self.finding, Finding::None)
    }
}

/// How many of `size` packets stand in the queue (the paper's Diff, in packets).
fn queued(size: f64, round: f64, base: f64) -> f64 {
    size * (round - base) / base
}

/// One packet less, with the threshold below, so that slow start doesn't resume.
fn shrink(window: &mut Window, size: f64) {
    window.size = size;
    window.threshold = window.threshold.min(size);
}

impl Rule for Vegas {
    fn on_ack(&mut self, _window: &Window, ack: &Ack) {
        if let Some(Round { minimum, samples }) = self.round.update(ack) {
            self.finding = if samples < MIN_SAMPLES {
                Finding::TooFewSamples
            } else {
                Finding::Delay { round: minimum, base: ack.rtt.min.min(minimum) }
            };
        }
    }

    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        match self.take_finding() {
            Finding::Delay { round, base } if queued(window.size, round, base) > GAMMA => {
                // What the path carries without a queue, and one.
                shrink(window, window.size.min(window.size * base / round + 1.0));
            }
            _ => window.slow_start(ack.packets),
        }
    }

    fn avoid(&mut self, window: &mut Window, _ack: &Ack) {
        match self.take_finding() {
            Finding::None => {}
            Finding::TooFewSamples => window.size += 1.0,
            Finding::Delay { round, base } => {
                let queued = queued(window.size, round, base);
                if queued > BETA {
                    shrink(window, window.size - 1.0);
                } else if queued < ALPHA {
                    window.size += 1.0;
                }
            }
        }
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        self.finding = Finding::None;
        size / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    /// What a round of `samples` samples of `rtt`, on a path of 100 ms, makes of `window`.
    fn after(mut window: Window, rtt: f64, samples: u32) -> Window {
        let mut vegas = Vegas::new();
        let mut base = ack(1.0, rtt, false);
        base.rtt.min = 0.1;
        for _ in 0..samples {
            vegas.on_ack(&window, &base);
        }
        let next = Ack { round: true, ..base };
        vegas.on_ack(&window, &next);
        if window.in_slow_start() {
            vegas.slow_start(&mut window, &next)
        } else {
            vegas.avoid(&mut window, &next)
        }
        assert_eq!(vegas.finding, Finding::None, "a finding is used once");
        window
    }

    #[test]
    fn two_to_four_packets_are_kept_in_the_queue() {
        let window = Window { size: 100.0, threshold: 50.0 };
        for (rtt, size) in [(0.1, 101.0), (0.1019, 101.0), (0.1021, 100.0), (0.1039, 100.0), (0.1041, 99.0)] {
            assert_eq!(after(window, rtt, 10).size, size, "at {rtt} s");
        }
        assert_eq!(after(window, 0.2, 2).size, 101.0, "two samples say nothing");
    }

    #[test]
    fn slow_start_ends_when_a_packet_is_queued() {
        let window = Window { size: 100.0, threshold: f64::INFINITY };
        assert!(after(window, 0.1009, 10).in_slow_start());
        let left = after(window, 0.125, 10);
        assert!(!left.in_slow_start());
        assert_eq!(left.size, 81.0, "100 * 100 / 125, and one");
    }

    #[test]
    fn a_queue_that_is_full_shrinks_the_window_below_the_threshold() {
        let left = after(Window { size: 100.0, threshold: 100.0 }, 0.2, 10);
        assert!(!left.in_slow_start(), "one packet less must not begin slow start");
    }
}
