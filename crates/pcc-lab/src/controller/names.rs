//! The names of all controllers that the simulator has: the profiles of PCC, the kernel's PCC, and the baselines.

use pcc::profiles;
use pcc_baselines::{BASELINES, Baseline};
use pcc_tcp::Controller;

/// A controller of the simulator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    Profile(&'static profiles::Entry),
    /// The fixed-point core, under the kernel's name.
    Kernel(Controller),
    Baseline(&'static Baseline),
}

/// All names, those of one kind together: what errors and documents list.
pub fn names() -> impl Iterator<Item = &'static str> {
    let profiles = profiles::LIST.iter().map(|entry| entry.name);
    profiles.chain(Controller::ALL.map(Controller::name)).chain(pcc_baselines::names())
}

/// The controller with this name or alias.
pub(super) fn find(name: &str) -> Option<Named> {
    let profile = || profiles::entry(name).map(Named::Profile);
    let baseline = || pcc_baselines::find(name).map(Named::Baseline);
    profile().or_else(baseline).or_else(|| name.parse().ok().map(Named::Kernel))
}

/// The controller here that does what the congestion control of Linux with this name does, if there is one.
pub(crate) fn of_linux(name: &str) -> Option<&'static str> {
    let ours = Controller::ALL.into_iter().map(Controller::name).find(|ours| *ours == name);
    ours.or_else(|| BASELINES.iter().find(|baseline| baseline.linux == Some(name)).map(|baseline| baseline.name))
}

/// Whether a controller is one of Linux's TCP, paced or not.
pub(crate) fn runs_in_linux(name: &str) -> bool {
    pcc_baselines::find(name.strip_suffix("-paced").unwrap_or(name)).is_some_and(|baseline| baseline.linux.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_linux_run_there_and_nothing_else() {
        let linux: Vec<_> = names().filter(|name| runs_in_linux(name)).collect();
        for name in ["cubic", "cubic-paced", "newreno-paced", "bbr1"] {
            assert!(linux.contains(&name), "{name}");
        }
        for name in ["copa", "udt", "vivace-latency", "cubic-hystart"] {
            assert!(!linux.contains(&name), "{name}");
        }
    }
}
