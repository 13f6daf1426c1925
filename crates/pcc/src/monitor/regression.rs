//! Least-squares fit of round-trip times against send times, from running sums.

/// Fits `rtt = intercept + gradient * send_time` over the acknowledged packets of one monitor interval.
///
/// Send time, not arrival time, is the regressor: against arrival times the slope would be g/(1+g) (SPEC 0.2).
/// Values are kept relative to the first sample, so that a large round-trip time doesn't drown a small trend.
#[derive(Clone, Debug, Default)]
pub struct Regression {
    samples: u64,
    first_rtt: f64,
    sum_s: f64,
    sum_r: f64,
    sum_ss: f64,
    sum_sr: f64,
    sum_rr: f64,
}

impl Regression {
    /// Adds a packet sent `sent` seconds after the interval's first one, with a round-trip time of `rtt` seconds.
    pub fn add(&mut self, sent: f64, rtt: f64) {
        if self.samples == 0 {
            self.first_rtt = rtt;
        }
        let r = rtt - self.first_rtt;
        self.samples += 1;
        self.sum_s += sent;
        self.sum_r += r;
        self.sum_ss += sent * sent;
        self.sum_sr += sent * r;
        self.sum_rr += r * r;
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The mean round-trip time in seconds, `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.first_rtt + self.sum_r / self.samples as f64)
    }

    /// The standard deviation of the round-trip times in seconds.
    pub fn deviation(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { libm::sqrt(self.variation_r() / self.samples as f64) }
    }

    /// The gradient, seconds of round-trip time per second of sending; zero where it isn't defined.
    pub fn gradient(&self) -> f64 {
        let variation = self.variation_s();
        if variation > 0.0 { self.covariation() / variation } else { 0.0 }
    }

    /// The standard error of the gradient, infinite with fewer than three samples or no spread of send times.
    pub fn gradient_error(&self) -> f64 {
        let variation = self.variation_s();
        if self.samples < 3 || variation <= 0.0 {
            return f64::INFINITY;
        }
        let residual = (self.variation_r() - self.gradient() * self.covariation()).max(0.0);
        libm::sqrt(residual / (self.samples - 2) as f64 / variation)
    }

    fn variation_s(&self) -> f64 {
        // A difference of rounded sums: below the rounding error it means no spread.
        let variation = self.sum_ss - self.sum_s * self.sum_s / self.samples.max(1) as f64;
        if variation > self.sum_ss * 1e-12 { variation } else { 0.0 }
    }

    fn variation_r(&self) -> f64 {
        (self.sum_rr - self.sum_r * self.sum_r / self.samples.max(1) as f64).max(0.0)
    }

    fn covariation(&self) -> f64 {
        self.sum_sr - self.sum_s * self.sum_r / self.samples.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_ramp_has_no_error() {
        let mut fit = Regression::default();
        for i in 0..200 {
            let s = f64::from(i) * 1e-4;
            fit.add(s, 0.8 + 0.07 * s);
        }
        assert!((fit.gradient() - 0.07).abs() < 1e-9, "{}", fit.gradient());
        assert!(fit.gradient_error() < 1e-6);
        assert!((fit.mean().unwrap() - (0.8 + 0.07 * 0.00995)).abs() < 1e-9);
    }

    #[test]
    fn standard_error_matches_the_textbook() {
        // y = 1, 2, 2, 4 at x = 0, 1, 2, 3: slope 0.9, residual sum 0.7, error sqrt(0.7 / 2 / 5).
        let mut fit = Regression::default();
        for (x, y) in [(0.0, 1.0), (1.0, 2.0), (2.0, 2.0), (3.0, 4.0)] {
            fit.add(x, y);
        }
        assert!((fit.gradient() - 0.9).abs() < 1e-12);
        assert!((fit.gradient_error() - (0.7f64 / 2.0 / 5.0).sqrt()).abs() < 1e-12);
        assert!((fit.deviation() - (4.75f64 / 4.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn degenerate_samples_have_no_gradient() {
        let mut fit = Regression::default();
        assert_eq!((fit.gradient(), fit.deviation(), fit.mean()), (0.0, 0.0, None));
        for _ in 0..5 {
            fit.add(0.25, 0.03);
        }
        assert_eq!((fit.gradient(), fit.gradient_error()), (0.0, f64::INFINITY));
    }
}
