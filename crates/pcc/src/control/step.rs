//! From a utility gradient to a change of rate: confidence amplifier and dynamic change boundary (Vivace 2018, section 4.2).

use crate::units::Rate;

/// How confidence grows with decisions in the same direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Amplifier {
    /// 1, 2, 3, 5, 7, 9, ... from the first decision in a direction on; a reversal starts over (Vivace 2018, section 4.2).
    Paper,
    /// The released sender's: steeper, and after reversals it waits for a "swing buffer" to drain (SPEC 2.4).
    Released,
}

/// The constants of the step. Begin with those of a [profile](crate::profiles), and change what differs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[non_exhaustive]
pub struct StepConfig {
    /// theta_0, the step in (Mbit/s)^2 per unit of utility.
    pub theta: f64,
    /// How the step grows with confidence (m).
    pub amplifier: Amplifier,
    /// omega_0, the first bound of a change as a fraction of the rate.
    pub boundary: f64,
    /// delta, the growth of that bound each time a change hits it, as a fraction of the rate too.
    pub boundary_growth: f64,
    /// The smallest change.
    pub min_change: MinStep,
}

/// The smallest change of a rate, so that a difference shows: `rate`, but at most a fraction `most` of the rate that
/// is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct MinStep {
    /// The change as a rate.
    pub rate: Rate,
    /// The largest fraction of the rate that this may be, in 0..1.
    pub most: f64,
}

impl MinStep {
    /// Any change may be as small as it likes.
    pub const NONE: MinStep = MinStep { rate: Rate::ZERO, most: 0.0 };

    /// The smallest change of `rate`, as a fraction of it.
    pub fn fraction(self, rate: Rate) -> f64 {
        (self.rate / rate).min(self.most)
    }
}

/// Reversals that the swing buffer counts at most.
const MAX_SWING: u32 = 2;

/// The state of the step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    config: StepConfig,
    /// The sign of the last decision, 0 before the first.
    direction: f64,
    /// Paper: decisions in a row (tau). Released: the amplifier's counter.
    run: f64,
    swing: u32,
    /// How often the boundary has grown (k).
    growths: u32,
}

impl Step {
    pub fn new(config: StepConfig) -> Step {
        Step { config, direction: 0.0, run: 0.0, swing: 0, growths: 0 }
    }

    /// Forgets all confidence.
    pub fn reset(&mut self) {
        *self = Step::new(self.config);
    }

    /// The change of rate in Mbit/s for a utility gradient (utility per Mbit/s) at `rate`, and whether the
    /// direction is that of the decision before.
    pub fn advance(&mut self, gradient: f64, rate: Rate) -> (f64, bool) {
        let sign = gradient.signum();
        let same = sign == self.direction;
        self.count(same);
        self.direction = sign;
        let wanted = self.config.theta * self.multiplier() * gradient.abs();
        let min_change = self.config.min_change.fraction(rate) * rate.mbps();
        (sign * self.bound(wanted, rate.mbps()).max(min_change), same)
    }

    fn count(&mut self, same: bool) {
        let first = self.direction == 0.0;
        match self.config.amplifier {
            Amplifier::Paper if same => self.run += 1.0,
            Amplifier::Paper => (self.run, self.growths) = (1.0, 0),
            Amplifier::Released if same && self.swing > 0 => self.swing -= 1,
            Amplifier::Released if same => self.run += if self.run > 3.0 { 0.5 } else { 1.0 },
            Amplifier::Released => {
                (self.run, self.growths) = (0.0, 0);
                self.swing = if first { 0 } else { (self.swing + 1).min(MAX_SWING) };
            }
        }
    }

    fn multiplier(&self) -> f64 {
        let run = self.run;
        match self.config.amplifier {
            Amplifier::Paper if run <= 3.0 => run.max(1.0),
            Amplifier::Paper => 2.0 * run - 3.0,
            Amplifier::Released if run < 3.0 => run + 1.0,
            Amplifier::Released if run < 6.0 => 2.0 * run - 2.0,
            Amplifier::Released if run < 9.0 => 4.0 * run - 14.0,
            Amplifier::Released => 8.0 * run - 50.0,
        }
    }

    /// Applies the change boundary to a wanted change, both in Mbit/s, and lets it grow or shrink.
    fn bound(&mut self, wanted: f64, rate: f64) -> f64 {
        let StepConfig { boundary, boundary_growth, amplifier, .. } = self.config;
        let limit = (boundary + f64::from(self.growths) * boundary_growth) * rate;
        if wanted > limit {
            self.growths = self.growths.saturating_add(1);
            return limit;
        }
        self.growths = match amplifier {
            // The smallest k with wanted <= (boundary + k * growth) * rate.
            Amplifier::Paper => libm::ceil((wanted / rate - boundary) / boundary_growth).max(0.0) as u32,
            Amplifier::Released => self.growths.saturating_sub(1),
        };
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper() -> Step {
        Step::new(StepConfig {
            theta: 1.0,
            amplifier: Amplifier::Paper,
            boundary: 0.05,
            boundary_growth: 0.1,
            min_change: MinStep::NONE,
        })
    }

    /// T-10: m(tau) = 1, 2, 3, 5, 7, 9.
    #[test]
    fn amplifier_grows_as_printed() {
        let mut step = paper();
        let changes: Vec<f64> = (0..6).map(|_| step.advance(0.01, Rate::from_mbps(100.0)).0).collect();
        for (change, m) in changes.iter().zip([1.0, 2.0, 3.0, 5.0, 7.0, 9.0]) {
            assert!((change - 0.01 * m).abs() < 1e-12, "{changes:?}");
        }
        assert!((step.advance(-0.01, Rate::from_mbps(100.0)).0 + 0.01).abs() < 1e-12, "a reversal starts over");
    }

    /// T-11: a change that is always too large is bounded by 0.05, 0.15, 0.25, ... of the rate, and the bound
    /// falls back to the smallest that fits.
    #[test]
    fn boundary_grows_and_recalibrates() {
        let mut step = paper();
        let rate = Rate::from_mbps(100.0);
        let changes: Vec<f64> = (0..4).map(|_| step.advance(1e6, rate).0).collect();
        for (change, expected) in changes.iter().zip([5.0, 15.0, 25.0, 35.0]) {
            assert!((change - expected).abs() < 1e-9, "{changes:?}");
        }
        // m is now 7: a gradient of 1 wants 7 Mbit/s, for which k = 1 is the smallest that fits.
        assert!((step.advance(1.0, rate).0 - 7.0).abs() < 1e-9);
        assert_eq!(step.growths, 1);
    }

    /// A change that is just at the boundary may be above it after rounding, and then asks for endless growth.
    #[test]
    fn a_boundary_that_does_not_grow_stays() {
        for mbps in 1..1000 {
            let mut step = Step::new(StepConfig { boundary_growth: 0.0, ..paper().config });
            let (rate, boundary) = (Rate::from_mbps(f64::from(mbps)), 0.05 * f64::from(mbps));
            for gradient in [boundary, 1e6, 1e6] {
                let (change, _) = step.advance(gradient, rate);
                assert!((change - boundary).abs() < 1e-9, "{change} at {mbps} Mbit/s");
            }
        }
    }

    #[test]
    fn swing_buffer_delays_the_amplifier() {
        let config = StepConfig { amplifier: Amplifier::Released, ..paper().config };
        let mut step = Step::new(config);
        let rate = Rate::from_mbps(100.0);
        let change = |step: &mut Step, gradient: f64| step.advance(gradient, rate).0 / 0.01;
        assert!((change(&mut step, 0.01) - 1.0).abs() < 1e-9);
        assert!((change(&mut step, 0.01) - 2.0).abs() < 1e-9, "no reversal yet, confidence grows at once");
        assert!((change(&mut step, -0.01) + 1.0).abs() < 1e-9);
        assert!((change(&mut step, 0.01) - 1.0).abs() < 1e-9, "two reversals fill the buffer");
        let after: Vec<f64> = (0..3).map(|_| change(&mut step, 0.01).round()).collect();
        assert_eq!(after, [1.0, 1.0, 2.0], "two decisions drain it before confidence grows");
    }

    #[test]
    fn smallest_change_is_relative_at_low_rates() {
        let min_change = MinStep { rate: Rate::from_mbps(0.5), most: 0.2 };
        let config = StepConfig { min_change, ..paper().config };
        assert!((Step::new(config).advance(1e-9, Rate::from_mbps(100.0)).0 - 0.5).abs() < 1e-9);
        assert!((Step::new(config).advance(1e-9, Rate::from_mbps(1.0)).0 - 0.2).abs() < 1e-9);
    }
}
