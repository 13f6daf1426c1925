//! The controllers' names.

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
    /// All of them.
    pub const ALL: [Controller; 3] = [Controller::Vivace, Controller::VivaceLoss, Controller::Allegro];

    /// The kernel's name for it, at most 15 bytes: what `setsockopt(TCP_CONGESTION)` takes.
    pub fn name(self) -> &'static str {
        match self {
            Controller::Vivace => "pcc_vivace",
            Controller::VivaceLoss => "pcc_vivaceloss",
            Controller::Allegro => "pcc_allegro",
        }
    }

    /// The name of its profile in `pcc::profiles`.
    pub fn profile(self) -> &'static str {
        match self {
            Controller::Vivace => "vivace-latency",
            Controller::VivaceLoss => "vivace-loss",
            Controller::Allegro => "allegro-2015",
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no profile `{0}`: there are vivace-latency, vivace-loss and allegro")]
pub struct UnknownController(String);

/// By the name of the profile, where `allegro` will do, or the kernel's name.
impl FromStr for Controller {
    type Err = UnknownController;

    fn from_str(name: &str) -> Result<Controller, UnknownController> {
        let is_called = |controller: &Controller| [controller.name(), controller.profile()].contains(&name);
        let found = Controller::ALL.into_iter().find(is_called).or((name == "allegro").then_some(Controller::Allegro));
        found.ok_or_else(|| UnknownController(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_are_known_and_the_kernel_takes_them() {
        for controller in Controller::ALL {
            assert_eq!(controller.name().parse(), Ok(controller));
            assert_eq!(controller.profile().parse(), Ok(controller));
            assert!(controller.name().len() <= 15);
        }
        assert_eq!("allegro".parse(), Ok(Controller::Allegro));
        assert_eq!("cubic".parse::<Controller>(), Err(UnknownController("cubic".to_owned())));
    }
}
