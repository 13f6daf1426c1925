//! Illinois (Liu, Basar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed
//! networks", Performance Evaluation 65, 2008).

use crate::parts::window::{Ack, Rule, Window};

/// The packets that a round trip adds: the range, and without knowledge of the delay.
const MAX_ALPHA: f64 = 10.0;
const MIN_ALPHA: f64 = 0.3;
const BASE_ALPHA: f64 = 1.0;
/// The fraction of the window that a loss takes.
const MIN_BETA: f64 = 0.125;
const MAX_BETA: f64 = 0.5;
/// Smaller windows behave as NewReno.
const WINDOW_THRESHOLD: f64 = 15.0;
/// Rounds of short delay before growth is fastest again.
const THETA: u32 = 5;
/// Delays, as fractions of the maximum, up to which growth is fastest and the reduction smallest, and from which on
/// the reduction is largest (the paper's eta 1 to 3).
const ETA: [f64; 3] = [0.01, 0.1, 0.8];

/// Additive increase and multiplicative decrease whose factors follow the queueing delay.
#[derive(Debug)]
pub(crate) struct Illinois {
    alpha: f64,
    beta: f64,
    /// The extremes of the round-trip time, in seconds.
    base_rtt: f64,
    max_rtt: f64,
    /// Of this round.
    sum: f64,
    samples: u32,
    /// Whether the delay has been long since growth was fastest.
    was_long: bool,
    short_rounds: u32,
}

impl Illinois {
    pub fn new() -> Illinois {
        Illinois {
            alpha: MAX_ALPHA,
            beta: MAX_BETA,
            base_rtt: f64::INFINITY,
            max_rtt: 0.0,
            sum: 0.0,
            samples: 0,
            was_long: false,
            short_rounds: 0,
        }
    }

    /// Sets both factors by the mean delay of the round that ends.
    fn end_round(&mut self, size: f64) {
        if size < WINDOW_THRESHOLD {
            (self.alpha, self.beta) = (BASE_ALPHA, MAX_BETA);
        } else if self.samples > 0 {
            let delay = (self.sum / f64::from(self.samples) - self.base_rtt).max(0.0);
            let max_delay = self.max_rtt - self.base_rtt;
            self.alpha = self.alpha(delay, max_delay);
            self.beta = beta(delay, max_delay);
        }
        (self.sum, self.samples) = (0.0, 0);
    }

    /// The paper's f1, with its rule to leave the slow side only after `THETA` rounds.
    fn alpha(&mut self, delay: f64, max_delay: f64) -> f64 {
        let short = ETA[0] * max_delay;
        if delay > short {
            (self.was_long, self.short_rounds) = (true, 0);
            let (delay, max_delay) = (delay - short, max_delay - short);
            return max_delay * MAX_ALPHA / (max_delay + delay * (MAX_ALPHA - MIN_ALPHA) / MIN_ALPHA);
        }
        self.short_rounds += 1;
        if self.was_long && self.short_rounds < THETA {
            return self.alpha;
        }
        self.was_long = false;
        MAX_ALPHA
    }
}

/// The paper's f2.
fn beta(delay: f64, max_delay: f64) -> f64 {
    let [from, to] = [ETA[1] * max_delay, ETA[2] * max_delay];
    if delay <= from {
        MIN_BETA
    } else if delay >= to {
        MAX_BETA
    } else {
        MIN_BETA + (MAX_BETA - MIN_BETA) * (delay - from) / (to - from)
    }
}

impl Rule for Illinois {
    fn on_ack(&mut self, window: &Window, ack: &Ack) {
        if ack.round {
            self.end_round(window.size);
        }
        let rtt = ack.rtt.latest;
        (self.base_rtt, self.max_rtt) = (self.base_rtt.min(rtt), self.max_rtt.max(rtt));
        self.sum += rtt;
        self.samples += 1;
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.size += self.alpha * ack.packets / window.size;
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        size * (1.0 - self.beta)
    }

    fn reset(&mut self) {
        (self.alpha, self.beta) = (BASE_ALPHA, MAX_BETA);
        (self.was_long, self.short_rounds) = (false, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    /// A round at a window of `size` with one sample of `rtt`, on a path of 100 to 200 ms.
    fn round(illinois: &mut Illinois, size: f64, rtt: f64) -> (f64, f64) {
        illinois.on_ack(&Window { size, threshold: 0.0 }, &ack(size, rtt, false));
        illinois.end_round(size);
        (illinois.alpha, illinois.beta)
    }

    fn path() -> Illinois {
        Illinois { base_rtt: 0.1, max_rtt: 0.2, ..Illinois::new() }
    }

    #[test]
    fn factors_follow_the_delay() {
        assert_eq!(round(&mut path(), 100.0, 0.1), (MAX_ALPHA, MIN_BETA));
        let (alpha, beta) = round(&mut path(), 100.0, 0.2);
        assert!((alpha - MIN_ALPHA).abs() < 1e-9 && beta == MAX_BETA);
        let (alpha, beta) = round(&mut path(), 100.0, 0.145);
        // d_a - d_1 = 44 ms, d_m - d_1 = 99 ms; and 45 ms is half-way from 10 to 80 ms.
        assert!((alpha - 0.99 / (0.099 + 0.044 * 9.7 / 0.3)).abs() < 1e-9);
        assert!((beta - 0.3125).abs() < 1e-9);
    }

    #[test]
    fn a_small_window_is_that_of_reno() {
        assert_eq!(round(&mut path(), 14.0, 0.1), (1.0, 0.5));
    }

    #[test]
    fn fast_growth_returns_after_five_short_rounds() {
        let mut illinois = path();
        let (slow, _) = round(&mut illinois, 100.0, 0.15);
        for _ in 0..4 {
            assert_eq!(round(&mut illinois, 100.0, 0.1).0, slow);
        }
        assert_eq!(round(&mut illinois, 100.0, 0.1).0, MAX_ALPHA);
        assert_eq!(illinois.after_loss(80.0), 70.0);
        illinois.reset();
        assert_eq!(illinois.after_loss(80.0), 40.0);
    }
}
