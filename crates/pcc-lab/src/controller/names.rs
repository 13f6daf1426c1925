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

/// The baselines that have a window only; what paces them in Linux follows from it, if anything does.
const WINDOW_BASED: [&str; 9] =
    ["bic", "cubic", "cubic-hystart", "hybla", "illinois", "ledbat", "newreno", "vegas", "westwood"];

/// Whether a controller has a window only, and no rate of its own.
pub(crate) fn is_window_based(name: &str) -> bool {
    pcc_baselines::find(name).is_some_and(|baseline| WINDOW_BASED.contains(&baseline.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_linux_but_bbr_have_windows() {
        for baseline in BASELINES.iter().filter(|baseline| baseline.linux.is_some()) {
            assert_eq!(is_window_based(baseline.name), baseline.name != "bbr1", "{}", baseline.name);
        }
        assert!(WINDOW_BASED.iter().all(|name| pcc_baselines::find(name).is_some()));
    }
}
