//! The stages of a run.

use std::time::Instant;

/// The stages of a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Everything is set up.
    Ready,
    /// Flows count from this instant.
    Going(Instant),
    /// The run is over: all flows end.
    Over,
}
