//! What the utility function wants: the packets in the queue at which more rate is worth no more.

use crate::monitor::Measurement;
use crate::units::{Rate, larger};
use crate::utility::Utility;

/// The packets that may be wanted.
const LEAST_WANTED: f64 = 1e-6;
const MOST_WANTED: f64 = 10_000.0;
/// No path takes less time, in seconds, whatever a peer claims: a queue of any length would be short beside that.
const SHORTEST: f64 = 20e-6;
/// How far rates are compared apart, as a fraction.
const RATE_STEP: f64 = 0.05;
/// Halvings of the range of answers, on a logarithmic scale: good for a part in a thousand.
const HALVINGS: u32 = 15;

/// The number of own packets in the queue at which the slope of `utility` over the rate is zero, for a flow of `window` packets of `packet`
/// bytes that takes all prices as given: each further packet would cost the delay of the queue as it stands.
pub(super) fn wanted_in_queue(utility: &dyn Utility, window: f64, packet: f64, base: f64) -> f64 {
    let base = larger(base, SHORTEST);
    let slope_is_positive = |queued: f64| {
        // Of `window` packets, `queued` wait: so does each for that part of its round trip.
        let queued = queued.min(0.99 * window);
        let rtt = base * window / (window - queued);
        let worth = |factor: f64| {
            let mut result = Measurement::new(Rate::from_bits_per_sec(8.0 * packet * window / rtt * factor), 1);
            result.packet_bytes = packet;
            (result.rtt, result.previous_rtt, result.min_rtt) = (rtt, rtt, base);
            utility.utility(&result)
        };
        worth(1.0 + RATE_STEP) > worth(1.0 - RATE_STEP)
    };
    let (mut low, mut high) = (LEAST_WANTED, MOST_WANTED);
    for _ in 0..HALVINGS {
        let middle = libm::sqrt(low * high);
        if slope_is_positive(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::Logarithmic;

    #[test]
    fn a_claim_that_the_path_takes_no_time_is_not_believed() {
        let wanted = |base| wanted_in_queue(&Logarithmic::DEFAULT, 50.0, 1250.0, base);
        assert!((3.0..4.0).contains(&wanted(0.04)), "{}: k, and what is sent in 0.15 ms", wanted(0.04));
        assert!(wanted(0.0) < 50.0, "{}: more than the window", wanted(0.0));
    }
}
