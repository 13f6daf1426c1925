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
