//! Westwood+ (Mascolo, Casetti, Gerla, Sanadidi and Wang, MobiCom 2001; Grieco and Mascolo, CCR 34(2), 2004).
//!
//! The bandwidth is filtered twice, as in Linux (paper: once).

use crate::parts::window::{Ack, Rule, Window};
use pcc::Time;

/// The minimum time, in seconds, that the bandwidth is measured over; on longer paths it is a round trip.
const MIN_MEASUREMENT: f64 = 0.05;
/// What a new measurement weighs in the filter.
const WEIGHT: f64 = 1.0 / 8.0;

/// NewReno whose window after a loss is what the path delivered in the minimum round-trip time.
#[derive(Debug, Default)]
pub(crate) struct Westwood {
    /// When the measurement began and what was acknowledged since, in packets.
    begin: Option<Time>,
    acked: f64,
    /// The rate after one filter and after both, in packets a second.
    filtered: Option<[f64; 2]>,
    /// In seconds.
    min_rtt: f64,
}

impl Westwood {
    fn measured(&mut self, rate: f64) {
        let [once, twice] = self.filtered.get_or_insert([rate; 2]);
        *once += WEIGHT * (rate - *once);
        *twice += WEIGHT * (*once - *twice);
    }
}

impl Rule for Westwood {
    fn on_ack(&mut self, _window: &Window, ack: &Ack) {
        self.min_rtt = ack.rtt.min;
        let Some(begin) = self.begin else {
            self.begin = Some(ack.now);
            return;
        };
        self.acked += ack.packets;
        let time = ack.now.since(begin).as_secs_f64();
        if time > ack.rtt.latest.max(MIN_MEASUREMENT) {
            self.measured(self.acked / time);
            (self.begin, self.acked) = (Some(ack.now), 0.0);
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.additive_increase(ack.packets);
    }

    /// The eligible rate times the minimum round-trip time; half the window while nothing was measured.
    fn after_loss(&mut self, size: f64) -> f64 {
        self.filtered.map_or(size / 2.0, |[_, rate]| (rate * self.min_rtt).min(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack_at;

    #[test]
    fn the_window_after_a_loss_is_what_the_path_delivers() {
        let (mut westwood, window) = (Westwood::default(), Window { size: 200.0, threshold: 0.0 });
        assert_eq!(westwood.after_loss(200.0), 100.0);
        // 100 packets every 101 ms, of which 100 ms are the path's delay.
        for n in 0..200 {
            westwood.on_ack(&window, &ack_at(f64::from(n) * 0.101, 100.0, 0.1));
        }
        let after = westwood.after_loss(200.0);
        assert!((after - 100.0 / 1.01).abs() < 1e-6, "{after}");
        assert_eq!(westwood.after_loss(50.0), 50.0, "never more than before");
    }

    #[test]
    fn the_filter_weighs_a_measurement_by_an_eighth() {
        let mut westwood = Westwood::default();
        westwood.measured(800.0);
        assert_eq!(westwood.filtered, Some([800.0, 800.0]));
        westwood.measured(1600.0);
        assert_eq!(westwood.filtered, Some([900.0, 812.5]));
    }
}
