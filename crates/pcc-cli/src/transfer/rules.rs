//! What the receiver's user wants of what comes.

use super::manifest::{PERMISSIONS, What};
use rustix::fs::Mode;
use std::time::Duration;

/// What the receiver's user wants of what comes.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether files that exist are replaced.
    pub overwrite: bool,
    /// Whether files that exist are kept if they have the size and time of what comes.
    pub sync: bool,
    /// Whether these are compared by their contents instead.
    pub checksum: bool,
    /// Whether the sender's permissions are kept. If not, everybody may read whom `umask` does not forbid it.
    pub permissions: bool,
    /// Whether links that lead out of a sent folder are refused.
    pub safe_links: bool,
    /// What this user gives nobody.
    pub umask: u32,
    /// How long nothing may move while a sender is connected.
    pub patience: Duration,
}

impl Rules {
    /// Never more than the sender grants, unless its permissions are not to be kept, and never what the umask forbids.
    pub fn mode(&self, what: &What) -> Mode {
        let granted = match what {
            What::File { mode, .. } | What::Dir { mode, .. } if self.permissions => *mode,
            What::File { mode, .. } if mode & 0o100 == 0 => 0o666,
            _ => 0o777,
        };
        Mode::from_raw_mode((granted & !self.umask & PERMISSIONS) as _)
    }
}
