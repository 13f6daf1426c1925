//! Where a run is.

use std::time::Instant;

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Everything is set up.
    Ready,
    /// Flows count from this instant.
    Going(Instant),
    /// It is over.
    Over,
}
