//! The weight of a flow among those that share a bottleneck.

use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicU32, Ordering};

/// Weights are kept in millionths: 32 bits hold them all, and every processor with an `Arc` has atomics of that size.
const UNIT: f64 = 1e6;

/// A flow's weight: flows that share a bottleneck divide it in proportion to theirs (Vivace 2018, section 5.4).
///
/// Clones share one value, so that a weight can be changed while controllers that were built with it run. They take the new one within a
/// round trip:
///
/// ```
/// use pcc::{Profile, Weight};
///
/// let weight = Weight::new(0.7)?;
/// let profile = Profile::default().with_weight(weight.clone()).expect("the default profile has a weight");
/// let controller = profile.build(1);
/// weight.set(0.3)?;
/// # Ok::<(), pcc::InvalidWeight>(())
/// ```
#[derive(Clone)]
pub struct Weight(Arc<AtomicU32>);

impl Weight {
    /// The smallest weight.
    pub const MIN: f64 = 0.01;
    /// The largest weight.
    pub const MAX: f64 = 100.0;

    /// A weight from [`MIN`](Self::MIN) to [`MAX`](Self::MAX), exact to a millionth.
    pub fn new(weight: f64) -> Result<Weight, InvalidWeight> {
        Ok(Weight(Arc::new(AtomicU32::new(stored(weight)?))))
    }

    /// The weight now.
    pub fn get(&self) -> f64 {
        f64::from(self.0.load(Ordering::Relaxed)) / UNIT
    }

    /// Changes it, for all controllers that were built with it or with clones of it. An invalid weight changes nothing.
    pub fn set(&self, weight: f64) -> Result<(), InvalidWeight> {
        self.0.store(stored(weight)?, Ordering::Relaxed);
        Ok(())
    }
}

fn stored(weight: f64) -> Result<u32, InvalidWeight> {
    let valid = (Weight::MIN..=Weight::MAX).contains(&weight);
    if valid { Ok(libm::round(weight * UNIT) as u32) } else { Err(InvalidWeight) }
}

impl Default for Weight {
    /// The weight 1.
    fn default() -> Weight {
        Weight(Arc::new(AtomicU32::new(UNIT as u32)))
    }
}

impl PartialEq for Weight {
    fn eq(&self, other: &Weight) -> bool {
        self.get() == other.get()
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Weight").field(&self.get()).finish()
    }
}

impl FromStr for Weight {
    type Err = InvalidWeight;

    fn from_str(text: &str) -> Result<Weight, InvalidWeight> {
        Weight::new(text.parse().map_err(|_| InvalidWeight)?)
    }
}

/// Not a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidWeight;

impl fmt::Display for InvalidWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a weight is a number from {} to {}", Weight::MIN, Weight::MAX)
    }
}

impl core::error::Error for InvalidWeight {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_what_is_set() {
        let weight = Weight::default();
        let clone = weight.clone();
        assert_eq!(weight.set(0.7), Ok(()));
        assert_eq!((clone.get(), Weight::default().get()), (0.7, 1.0));
    }

    #[test]
    fn what_is_no_weight_is_refused_and_changes_nothing() {
        let weight: Weight = "2.5".parse().unwrap();
        for wrong in [0.0, -1.0, 0.009, 100.1, f64::NAN, f64::INFINITY] {
            assert_eq!(weight.set(wrong), Err(InvalidWeight));
        }
        assert_eq!("heavy".parse::<Weight>(), Err(InvalidWeight));
        assert_eq!(weight.get(), 2.5);
    }
}
