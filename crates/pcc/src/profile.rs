//! What defines a controller: a utility function, a rate control and guards, with all their constants.

use crate::control::{ControlConfig, RateBounds};
use crate::controller::{Guards, Pcc};
use crate::initial_windows::InitialWindows;
use crate::ranges::{self, InvalidConstant};
use crate::units::Rate;
use crate::utility::UtilityConfig;
use crate::weight::Weight;
use alloc::borrow::Cow;

/// Everything that defines a controller.
///
/// [`profiles`](crate::profiles) has ready ones; your own is one of them with what differs:
///
/// ```
/// use pcc::profiles;
///
/// let mut profile = profiles::vivace_loss();
/// profile.name = "careful".into();
/// profile.guards.brake_loss = 0.3;
/// profile.validate()?;
/// let controller = profile.build(1);
/// # Ok::<(), pcc::InvalidConstant>(())
/// ```
///
/// With the feature `serde` it is a table with the names of all fields in kebab-case as keys: rates are numbers of
/// bit/s or texts such as `"2mbit"`, and `"off"` is what is `None` here. A utility function of your own has no text:
/// to serialise it is an error. To deserialise a constant that is outside of its [range](Self::validate) is one, too.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(remote = "Self", rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct Profile {
    /// Its name, such as `vivace-2018-latency`.
    pub name: Cow<'static, str>,
    /// The utility function: what the result of an interval is worth.
    pub utility: UtilityConfig,
    /// The rate control: how the rate follows the utility.
    pub control: ControlConfig,
    /// The limits that protect the path, whatever the rate control does.
    pub guards: Guards,
}

impl Profile {
    /// Whether each constant is within its range. The ready profiles are valid, and so is what comes from text.
    ///
    /// # Errors
    ///
    /// The first constant that isn't within its range, with its key in text, its value and its range.
    pub fn validate(&self) -> Result<(), InvalidConstant> {
        ranges::check(&self.utility, &self.control, &self.guards)
    }

    /// A controller with random choices drawn from `seed`. Flows that start together need different seeds, or they
    /// probe in step. With constants that are not [valid](Self::validate) it may send next to nothing, or far too much, but doesn't
    /// panic.
    pub fn build(&self, seed: u64) -> Pcc {
        Pcc::new(self.utility.shared(), self.control.build(seed), self.guards)
    }

    /// The same with a rate never to exceed, probes included.
    #[must_use]
    pub fn with_max_rate(mut self, max: Rate) -> Profile {
        let bounds = self.control.bounds_mut();
        *bounds = RateBounds { min: bounds.min.min(max), max };
        self
    }

    /// The same beginning at `rate`, for a path that is known from before: start-up then has less to search.
    #[must_use]
    pub fn with_first_rate(mut self, rate: Rate) -> Profile {
        *self.control.first_rate_mut() = rate;
        self
    }

    /// The same with a weight among flows of its kind, which may change while controllers run. `None` for a profile that knows no weights:
    /// `queue-target`, `bulk` and `scavenger` do.
    #[must_use]
    pub fn with_weight(mut self, weight: Weight) -> Option<Profile> {
        *self.control.weight_mut()? = weight;
        Some(self)
    }

    /// The same for a connection that carries those of applications, each of which brings a first window of its own. Build one controller
    /// only of the profile that this returns: two would share `begun`, and take each other's windows. `None` for a profile without a window:
    /// `queue-target`, `bulk` and `scavenger` have one; `scavenger` begins with a single one all the same.
    #[must_use]
    pub fn with_initial_windows(mut self, begun: InitialWindows) -> Option<Profile> {
        *self.control.initial_windows_mut()? = begun;
        Some(self)
    }

    /// The smallest and the largest rate.
    pub fn bounds(&self) -> RateBounds {
        self.control.bounds()
    }
}
