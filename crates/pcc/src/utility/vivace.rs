//! The utility of Vivace (NSDI 2018, eq. 1).

use super::function::Utility;
use crate::monitor::Measurement;

/// `x^t - b * x * gradient - c * x * L`, with x in Mbit/s (Vivace 2018, eq. 1).
///
/// The unit matters, because x^t and x are weighed against each other: c = 11.35 tolerates 5 % of loss at
/// 100 Mbit/s, 6.3 % at 10 and 4 % at 1000 (SPEC 2.1).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct Vivace {
    /// The exponent t of the rate, in 0..1 so that the utility is concave.
    pub exponent: f64,
    /// The weight b of the latency gradient.
    pub latency: f64,
    /// The weight c of loss.
    pub loss: f64,
    /// A smaller weight while there is little loss, as in the released code.
    #[cfg_attr(feature = "serde", serde(with = "crate::text::switch"))]
    pub small_loss: Option<SmallLoss>,
}

/// In an interval that loses at most a fraction `up_to`, the loss weight is `weight`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct SmallLoss {
    /// The largest fraction of loss that is small.
    pub up_to: f64,
    /// The weight instead of [`Vivace::loss`].
    pub weight: f64,
}

impl Vivace {
    /// Vivace-Latency: t = 0.9, b = 900, c = 11.35 (Vivace 2018, section 5).
    pub const LATENCY: Vivace = Vivace { exponent: 0.9, latency: 900.0, loss: 11.35, small_loss: None };
    /// Vivace-Loss: b = 0.
    pub const LOSS: Vivace = Vivace { latency: 0.0, ..Vivace::LATENCY };
    /// The variant for cellular links: b = 2 (Vivace 2018, section 5.1).
    pub const LTE: Vivace = Vivace { latency: 2.0, ..Vivace::LATENCY };
}

impl Utility for Vivace {
    fn utility(&self, interval: &Measurement) -> f64 {
        let rate = interval.rate.mbps();
        let loss_weight = match self.small_loss {
            Some(small) if interval.loss <= small.up_to => small.weight,
            _ => self.loss,
        };
        libm::pow(rate, self.exponent)
            - self.latency * rate * interval.rtt_gradient
            - loss_weight * rate * interval.loss
    }
}
