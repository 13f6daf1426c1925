//! What a utility function is.

use crate::monitor::Measurement;
use core::fmt::Debug;

/// Turns the result of a monitor interval into one number; the controller moves the rate to where it grows.
///
/// Any function of a measurement can be one:
///
/// ```
/// use pcc::utility::{Utility, UtilityConfig};
/// use pcc::{Measurement, Profile, profiles};
///
/// #[derive(Debug)]
/// struct ThroughputOnly;
///
/// impl Utility for ThroughputOnly {
///     fn utility(&self, interval: &Measurement) -> f64 {
///         interval.throughput().mbps()
///     }
/// }
///
/// let profile = Profile { utility: UtilityConfig::own(ThroughputOnly), ..profiles::vivace_loss() };
/// let controller = profile.build(1);
/// ```
pub trait Utility: Debug + Send + Sync {
    /// The utility of an interval. Allegro only compares utilities; Vivace takes their slope in units of
    /// utility per Mbit/s, so their scale matters there.
    fn utility(&self, interval: &Measurement) -> f64;
}

/// The sigmoid 1 / (1 + e^(steepness * y)), which falls from 1 to 0 around y = 0 (Allegro 2015, section 2.2).
pub fn sigmoid(steepness: f64, y: f64) -> f64 {
    // Beyond 700 the exponential leaves the range of f64 (SPEC 1.2).
    1.0 / (1.0 + libm::exp((steepness * y).clamp(-700.0, 700.0)))
}
