//! What the utility function wants: the packets in the queue at which more rate is worth no more.

use crate::monitor::Measurement;
use crate::units::Rate;
use crate::utility::Utility;

/// The packets that may be wanted.
const LEAST: f64 = 1e-6;
const MOST: f64 = 10_000.0;
/// How far rates are compared apart, as a fraction.
const STEP: f64 = 0.05;
/// Halvings of the range of answers, on a logarithmic scale: good for a part in a thousand.
const HALVINGS: u32 = 15;

/// The number of own packets in the queue at which the slope of `utility` over the rate is zero, for a flow of `window` packets of `packet`
/// bytes that takes all prices as given: each further packet would cost the delay of the queue as it stands.
pub(super) fn wanted_in_queue(utility: &dyn Utility, window: f64, packet: f64, base: f64) -> f64 {
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
        worth(1.0 + STEP) > worth(1.0 - STEP)
    };
    let (mut low, mut high) = (LEAST, MOST);
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
