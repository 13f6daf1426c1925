//! The utility that divides a link in chosen shares (Vivace 2018, eq. 3).

use super::function::Utility;
use crate::monitor::Measurement;
use crate::units::Rate;

/// `x - c * x * (1 / (1 - L) - 1)`: with c_i = C / x_i* for each flow and the x_i* adding up to the capacity C,
/// the flows settle at x_i* without loss (Vivace 2018, eq. 3 and theorem 4).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct Heterogeneous {
    /// The price c of loss, at least 1: the smaller, the larger the share. (The [`Weight`](crate::Weight) of a flow is the other way
    /// round.)
    pub price: f64,
}

impl Heterogeneous {
    /// The price for a flow that should get `share` of a link of `capacity`.
    pub fn for_share(share: Rate, capacity: Rate) -> Heterogeneous {
        Heterogeneous { price: capacity / share }
    }
}

impl Utility for Heterogeneous {
    fn utility(&self, interval: &Measurement) -> f64 {
        let rate = interval.rate.mbps();
        // A total loss would divide by zero; a millionth of arrivals is bad enough.
        let arrived = (1.0 - interval.loss).max(1e-6);
        rate - self.price * rate * (1.0 / arrived - 1.0)
    }
}
