//! The controllers by name.

use pcc::profiles::{self, Entry};
use std::fmt;
use std::str::FromStr;

/// A profile of PCC as a congestion control of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Controller {
    /// The profile `vivace-latency`.
    Vivace,
    /// The profile `vivace-loss`.
    VivaceLoss,
    /// The profile `allegro-2015`.
    Allegro,
}

impl Controller {
    /// All controllers that the kernel can have.
    pub const ALL: [Controller; 3] = [Controller::Vivace, Controller::VivaceLoss, Controller::Allegro];

    /// The kernel's name for it, at most 15 bytes: what `setsockopt(TCP_CONGESTION)` takes. The simulator has it under the
    /// same name.
    pub fn name(self) -> &'static str {
        self.entry().and_then(|entry| entry.kernel).unwrap_or_default()
    }

    /// The name of its profile in [`pcc::profiles`].
    pub fn profile(self) -> &'static str {
        match self {
            Controller::Vivace => "vivace-latency",
            Controller::VivaceLoss => "vivace-loss",
            Controller::Allegro => "allegro-2015",
        }
    }

    /// What the simulator called it before it had the kernel's name.
    fn former_name(self) -> &'static str {
        match self {
            Controller::Vivace => "kernel-vivace",
            Controller::VivaceLoss => "kernel-vivace-loss",
            Controller::Allegro => "kernel-allegro",
        }
    }

    fn entry(self) -> Option<&'static Entry> {
        profiles::entry(self.profile())
    }

    fn is_called(self, name: &str) -> bool {
        let is_the_profile = || profiles::entry(name).is_some_and(|entry| Some(entry) == self.entry());
        [self.name(), self.former_name()].contains(&name) || is_the_profile()
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController(String);

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Controller::ALL.map(Controller::profile).join(", ");
        write!(f, "there is no profile `{}` for the kernel: there are {known}", self.0)
    }
}

impl std::error::Error for UnknownController {}

/// By the name of the profile, one of its aliases, or the kernel's name.
impl FromStr for Controller {
    type Err = UnknownController;

    fn from_str(name: &str) -> Result<Controller, UnknownController> {
        let found = Controller::ALL.into_iter().find(|controller| controller.is_called(name));
        found.ok_or_else(|| UnknownController(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_known_and_the_kernel_takes_them() {
        for controller in Controller::ALL {
            for name in [controller.name(), controller.profile(), controller.former_name()] {
                assert_eq!(name.parse(), Ok(controller));
            }
            assert!((1..=15).contains(&controller.name().len()), "{controller:?}");
        }
        let in_the_list = profiles::LIST.iter().filter(|entry| entry.kernel.is_some()).count();
        assert_eq!(in_the_list, Controller::ALL.len());
        assert_eq!("allegro".parse(), Ok(Controller::Allegro));
        let unknown = "cubic".parse::<Controller>().unwrap_err().to_string();
        assert!(unknown.ends_with("there are vivace-latency, vivace-loss, allegro-2015"), "{unknown}");
    }
}
