//! What keeps a controller registered.

use std::fmt;

/// What keeps a controller registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A pin in [`super::PINS`], until it is removed.
    Pin,
    /// A process: the controller goes when it ends.
    Process {
        /// The id of the process.
        id: u32,
        /// The name of its program.
        name: String,
    },
    /// A pin elsewhere, or a process that this user can't look into.
    Unknown,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Pin => f.write_str("pinned"),
            Holder::Process { id, name } => write!(f, "process {id} ({name})"),
            Holder::Unknown => f.write_str("unknown"),
        }
    }
}
