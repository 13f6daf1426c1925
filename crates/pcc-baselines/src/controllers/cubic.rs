//! CUBIC (RFC 9438).
//!
//! As in Linux the Reno-friendly window grows by 0.53 packets a round trip throughout, where the RFC has 1 from the
//! window before the loss on (section 4.3), and has whole packets, which takes 7 % off a window of 16.

use crate::parts::hystart::HyStart;
use crate::parts::window::{Ack, Rule, Window};
use pcc::Time;

/// RFC 9438, section 5, in packets a second cubed.
const C: f64 = 0.4;
/// The fraction of the window that a loss leaves (section 4.6).
const BETA: f64 = 0.7;
/// What makes additive increase with `BETA` as fast as Reno (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The maximum that the window grows to in a round trip, as a multiple (section 4.2).
const MAX_GROWTH: f64 = 1.5;

/// Growth as a cubic function of the time since the last reduction.
#[derive(Debug, Default)]
pub(crate) struct Cubic {
    hystart: Option<HyStart>,
    /// The window before the last loss, lowered by fast convergence.
    w_max: f64,
    epoch: Option<Epoch>,
}

/// Congestion avoidance since the last reduction or slow start.
#[derive(Debug)]
struct Epoch {
    last: Time,
    /// Seconds, without those in which nothing was acknowledged for longer than a round trip (section 5.8).
    elapsed: f64,
    /// The plateau of the cubic function, in packets and seconds.
    origin: f64,
    k: f64,
    /// The window that Reno would have.
    w_est: f64,
}

impl Cubic {
    /// Without HyStart++.
    pub fn new() -> Cubic {
        Cubic::default()
    }

    /// With HyStart++ in the first slow start.
    pub fn with_hystart() -> Cubic {
        Cubic { hystart: Some(HyStart::default()), ..Cubic::default() }
    }
}

impl Epoch {
    /// RFC 9438, section 4.2, with equation 2.
    fn new(now: Time, size: f64, w_max: f64) -> Epoch {
        let origin = w_max.max(size);
        Epoch { last: now, elapsed: 0.0, origin, k: libm::cbrt((origin - size) / C), w_est: size }
    }

    /// RFC 9438, equation 1.
    fn w_cubic(&self, time: f64) -> f64 {
        let distance = time - self.k;
        C * distance * distance * distance + self.origin
    }
}

impl Rule for Cubic {
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        self.epoch = None;
        match &mut self.hystart {
            Some(hystart) if window.threshold == f64::INFINITY => hystart.slow_start(window, ack),
            _ => window.slow_start(ack.packets),
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        let size = window.size;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, size, self.w_max));
        epoch.elapsed += ack.now.since(epoch.last).as_secs_f64().min(ack.rtt.smoothed);
        epoch.last = ack.now;
        epoch.w_est += ack.packets / size * ALPHA;
        if epoch.w_cubic(epoch.elapsed) < epoch.w_est {
            window.size = size.max(libm::floor(epoch.w_est));
        } else {
            let target = epoch.w_cubic(epoch.elapsed + ack.rtt.smoothed).clamp(size, MAX_GROWTH * size);
            window.size += ack.packets * (target - size) / size;
        }
    }

    /// With fast convergence (RFC 9438, section 4.7).
    fn after_loss(&mut self, size: f64) -> f64 {
        self.epoch = None;
        self.w_max = if size < self.w_max { size * (1.0 + BETA) / 2.0 } else { size };
        libm::floor(size * BETA)
    }

    fn reset(&mut self) {
        *self = Cubic { hystart: self.hystart.take(), ..Cubic::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::{ack, ack_at};

    #[test]
    fn the_plateau_is_where_the_loss_was() {
        let epoch = Epoch::new(Time::ZERO, 700.0, 1000.0);
        assert!((epoch.k - 9.085_603).abs() < 1e-6, "cbrt(1000 * 0.3 / 0.4)");
        assert!((epoch.w_cubic(0.0) - 700.0).abs() < 1e-9);
        assert!((epoch.w_cubic(epoch.k) - 1000.0).abs() < 1e-9);
        assert!((epoch.w_cubic(epoch.k + 10.0) - 1400.0).abs() < 1e-9);
        assert_eq!(Epoch::new(Time::ZERO, 700.0, 0.0).k, 0.0, "after slow start without a loss");
    }

    /// 100 ms round trips at 700 packets, where Reno is slower than the cubic function.
    #[test]
    fn the_window_follows_the_cubic_function() {
        let mut cubic = Cubic::new();
        let mut window = Window { size: cubic.after_loss(1000.0), threshold: 700.0 };
        for n in 0..=50 {
            let target = Epoch::new(Time::ZERO, 700.0, 1000.0).w_cubic(f64::from(n) * 0.1 + 0.1);
            let all = window.size;
            cubic.avoid(&mut window, &ack_at(f64::from(n) * 0.1, all, 0.1));
            let first = n == 0; // in which Reno is ahead
            assert!(first || (window.size - target).abs() < 1e-6, "{} instead of {target}", window.size);
        }
    }

    /// At 5 packets and 10 ms the cubic function stands still.
    #[test]
    fn a_short_path_gets_what_reno_gets() {
        let mut cubic = Cubic::new();
        let mut window = Window { size: cubic.after_loss(10.0), threshold: 7.0 };
        for n in 1..=6 {
            let all = window.size;
            cubic.avoid(&mut window, &ack_at(f64::from(n) * 0.01, all, 0.01));
            let reno = 7.0 + 0.9 / 1.7 * f64::from(n);
            assert!(
                window.size <= reno && window.size > reno - 1.2,
                "{} where Reno, which takes half, has {reno}",
                window.size
            );
        }
        assert_eq!(window.size.fract(), 0.0, "whole packets");
        assert_eq!(cubic.after_loss(11.0), 7.0);
    }

    #[test]
    fn convergence_and_reset() {
        let mut cubic = Cubic::new();
        assert_eq!(cubic.after_loss(100.0), 70.0);
        assert_eq!(cubic.w_max, 100.0);
        cubic.after_loss(80.0);
        assert_eq!(cubic.w_max, 68.0, "80 * 1.7 / 2: gives way to others");
        cubic.after_loss(90.0);
        assert_eq!(cubic.w_max, 90.0);
        cubic.reset();
        assert_eq!(cubic.w_max, 0.0);
    }

    #[test]
    fn every_loss_begins_an_epoch() {
        let mut window = Window { size: 1000.0, threshold: 0.0 };
        let mut cubic = Cubic::new();
        cubic.avoid(&mut window, &ack_at(0.0, 1.0, 0.1));
        window.size = cubic.after_loss(1000.0);
        cubic.avoid(&mut window, &ack_at(50.0, 1.0, 0.1));
        let epoch = cubic.epoch.expect("in congestion avoidance");
        assert_eq!((epoch.elapsed, epoch.origin), (0.0, 1000.0));
    }

    #[test]
    fn growth_is_bounded() {
        let mut cubic = Cubic::new();
        cubic.after_loss(10.0);
        let mut window = Window { size: 10.0, threshold: 7.0 };
        for _ in 0..2000 {
            cubic.avoid(&mut window, &ack(0.01, 600.0, false));
        }
        assert!(window.size < 10.0 * 9.0, "half a packet for each acknowledged: {}", window.size);
    }

    #[test]
    fn hystart_is_for_the_first_slow_start() {
        for (threshold, ends) in [(f64::INFINITY, true), (1e6, false)] {
            let mut cubic = Cubic::with_hystart();
            let mut window = Window { size: 10.0, threshold };
            for round in 0..10 {
                for n in 0..10 {
                    cubic.slow_start(&mut window, &ack(1.0, 0.1 * 1.5f64.powi(round), n == 0));
                }
            }
            assert_eq!(window.threshold < 1e6, ends);
        }
    }
}
