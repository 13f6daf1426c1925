//! Controllers by name, with any constant overridden.
//!
//! ```
//! let controller: pcc_lab::controller::ControllerConfig = toml::from_str(
//!     r#"
//!     name = "vivace-latency"
//!     utility = "x^0.9 - 11.35*x*loss"
//!     set.control.start.rate = "2mbit"
//!     set.control.moves-above = "off"
//!     set.guards.in-flight = 3
//!     "#,
//! )?;
//! let control = controller.build(1)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod constants;
mod error;
mod names;
#[cfg(test)]
mod tests;
mod utility;

pub use error::ControllerError;
pub(crate) use error::suggestion;
pub use names::names;
pub(crate) use names::{of_linux, runs_in_linux};
pub use utility::UtilitySpec;

use names::Named;
use pcc::{CongestionControl, Event, Observer, Profile};
use pcc_baselines::Baseline;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// A controller: one of [`pcc::profiles`] with what differs, the kernel's PCC, or a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerConfig {
    /// One of [`names`], or an alias.
    pub name: String,
    /// Constants of the profile to override, by the names of the fields of [`Profile`] in kebab-case: `control`,
    /// `utility` and `guards`. Rates have a unit (`"2mbit"`) or are in bit/s; `"off"` turns off what can be.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub set: toml::Table,
    /// A utility function instead of the profile's; `set.utility` is about this one then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utility: Option<UtilitySpec>,
}

impl ControllerConfig {
    /// The controller of this name, with its own constants.
    pub fn named(name: &str) -> ControllerConfig {
        ControllerConfig { name: name.to_owned(), set: toml::Table::new(), utility: None }
    }

    /// The profile with its overrides; other controllers have none.
    pub fn profile(&self) -> Result<Profile, ControllerError> {
        let mut profile = match self.find()? {
            Named::Profile(entry) => entry.profile(),
            Named::Kernel(_) | Named::Baseline(_) => {
                return Err(ControllerError::NoConstants { name: self.name.clone() });
            }
        };
        if let Some(spec) = &self.utility {
            let (utility, constants) = spec.resolve()?;
            profile.utility = utility;
            profile = constants::overridden(profile, &constants)?;
        }
        constants::overridden(profile, &self.set)
    }

    /// The number that the constant with this key is, such as `control.drain.every`.
    ///
    /// # Errors
    ///
    /// When there is no such constant, or it isn't a number.
    pub fn constant(&self, key: &str) -> Result<f64, ControllerError> {
        constants::number(&self.profile()?, key)
    }

    fn find(&self) -> Result<Named, ControllerError> {
        names::find(&self.name).ok_or_else(|| ControllerError::unknown("controller", &self.name, names()))
    }

    /// Whether [`build`](Self::build) will succeed.
    pub fn check(&self) -> Result<(), ControllerError> {
        self.recipe().map(drop)
    }

    /// A controller with random choices from `seed`.
    pub fn build(&self, seed: u64) -> Result<Box<dyn CongestionControl>, ControllerError> {
        Ok(self.recipe()?.build(seed))
    }

    /// A controller with random choices from `seed`, and the log of its events; only a profile has any.
    pub fn build_logged(&self, seed: u64) -> Result<(Box<dyn CongestionControl>, EventLog), ControllerError> {
        Ok(self.recipe()?.build_logged(seed))
    }

    /// Resolves the name and the constants once, to build many controllers.
    pub fn recipe(&self) -> Result<Recipe, ControllerError> {
        let as_it_is = self.set.is_empty() && self.utility.is_none();
        Ok(match self.find()? {
            Named::Kernel(controller) if as_it_is => Recipe::Kernel(controller),
            Named::Baseline(baseline) if as_it_is => Recipe::Baseline(baseline),
            _ => Recipe::Pcc(Box::new(self.profile()?)),
        })
    }
}

/// What makes controllers of one configuration, as many as are wanted.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// PCC in the Rust core, with these constants.
    Pcc(Box<Profile>),
    /// PCC as it runs in the Linux kernel, in fixed point.
    Kernel(pcc_tcp::Controller),
    /// A controller to compare with.
    Baseline(&'static Baseline),
}

impl Recipe {
    /// A controller with random choices from `seed`.
    pub fn build(&self, seed: u64) -> Box<dyn CongestionControl> {
        match self {
            Recipe::Pcc(profile) => Box::new(profile.build(seed)),
            Recipe::Kernel(controller) => controller.build(seed),
            Recipe::Baseline(baseline) => (baseline.constructor)(seed),
        }
    }

    /// A controller with random choices from `seed`, and the log of its events; only a profile has any.
    pub fn build_logged(&self, seed: u64) -> (Box<dyn CongestionControl>, EventLog) {
        let log = EventLog::default();
        match self {
            Recipe::Pcc(profile) => {
                let mut control = profile.build(seed);
                control.observe(Box::new(log.clone()));
                (Box::new(control), log)
            }
            Recipe::Kernel(_) | Recipe::Baseline(_) => (self.build(seed), log),
        }
    }
}

/// The events of a controller, shared with it.
#[derive(Clone, Debug, Default)]
pub struct EventLog(Arc<Mutex<Vec<Event>>>);

impl EventLog {
    /// Takes out what happened so far.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for EventLog {
    fn on_event(&mut self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(*event);
    }
}
