//! Profiles on the command line, and the controllers that they stand for.

use pcc_tcp::kernel::{Controller, UnknownController};

/// Reads a profile from the command line.
pub fn profile(name: &str) -> Result<Controller, String> {
    name.parse().map_err(|error: UnknownController| error.to_string())
}

/// The controllers of these profiles, each once; all of them where none is named.
pub fn controllers(profiles: &[Controller]) -> Vec<Controller> {
    Controller::ALL.into_iter().filter(|controller| profiles.is_empty() || profiles.contains(controller)).collect()
}

/// Their names, for people.
pub fn names(controllers: &[Controller]) -> String {
    controllers.iter().map(|controller| controller.name()).collect::<Vec<_>>().join(", ")
}

/// The names of the profiles that the kernel can have, for help.
pub fn known_profiles() -> String {
    Controller::ALL.map(Controller::profile).join(", ")
}

/// Whether the controller of this name is PCC.
pub fn is_ours(name: &str) -> bool {
    Controller::ALL.iter().any(|controller| controller.name() == name)
}
