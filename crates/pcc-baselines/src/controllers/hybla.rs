//! Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", 2004).
//!
//! As in Linux: the ratio comes from the minimum smoothed round-trip time, growth in slow start is bounded, and the
//! bandwidth estimate that the paper sets the first slow start threshold with is left out.

use crate::parts::window::{Ack, Rule, Window};

/// The round-trip time, in seconds, of the connection whose rate Hybla aims at (the paper's RTT0).
const REFERENCE_RTT: f64 = 0.025;
/// Growth in slow start is that of this ratio at most.
const MAX_SLOW_START_RATIO: f64 = 16.0;
/// The maximum window that slow start leads to, in packets.
const MAX_SLOW_START_WINDOW: f64 = 65_535.0;

/// Growth in time as that of NewReno on a short path, whatever the round-trip time.
#[derive(Debug)]
pub(crate) struct Hybla {
    min_rtt: f64,
}

impl Hybla {
    pub fn new() -> Hybla {
        Hybla { min_rtt: f64::INFINITY }
    }

    /// The paper's rho, at least one.
    fn ratio(&self) -> f64 {
        (self.min_rtt / REFERENCE_RTT).max(1.0)
    }
}

impl Rule for Hybla {
    fn on_ack(&mut self, _window: &Window, ack: &Ack) {
        self.min_rtt = self.min_rtt.min(ack.rtt.smoothed);
    }

    /// 2^rho - 1 for each packet.
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        let gain = libm::exp2(self.ratio().min(MAX_SLOW_START_RATIO)) - 1.0;
        let left = (MAX_SLOW_START_WINDOW - window.size).max(0.0);
        window.slow_start((ack.packets * gain).min(left));
    }

    /// rho^2 in a round trip.
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.size += self.ratio() * self.ratio() * ack.packets / window.size;
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        size / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    fn after(slow_start: bool, size: f64, rtt: f64, packets: f64) -> f64 {
        let threshold = if slow_start { f64::INFINITY } else { 0.0 };
        let (mut hybla, mut window) = (Hybla::new(), Window { size, threshold });
        let ack = ack(packets, rtt, true);
        hybla.on_ack(&window, &ack);
        if slow_start {
            hybla.slow_start(&mut window, &ack)
        } else {
            hybla.avoid(&mut window, &ack)
        }
        window.size
    }

    #[test]
    fn growth_scales_with_the_ratio() {
        assert_eq!(after(false, 100.0, 0.100, 100.0), 116.0, "4^2 in a round trip");
        assert_eq!(after(false, 100.0, 0.010, 100.0), 101.0, "as NewReno on a short path");
        assert_eq!(after(true, 10.0, 0.100, 1.0), 25.0, "2^4 - 1");
        assert_eq!(after(true, 10.0, 0.010, 1.0), 11.0);
        assert_eq!(after(true, 10.0, 0.800, 1.0), 65_535.0);
    }
}
