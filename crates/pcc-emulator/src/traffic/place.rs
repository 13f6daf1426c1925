//! Where and when the flows of a group run.

use crate::error::EmulatorError;
use crate::host::Namespace;
use std::time::Instant;
use tokio::sync::watch;

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

/// Where a group is set up: a namespace for each end.
pub(super) struct Place<'a> {
    pub left: &'a Namespace,
    pub right: &'a Namespace,
    /// The index of the `[[flow]]`, from 0 on.
    pub index: usize,
    pub stage: &'a watch::Sender<Stage>,
}

impl Place<'_> {
    pub fn fault(&self, key: &'static str, reason: impl ToString) -> EmulatorError {
        EmulatorError::Flow { flow: self.index, key, reason: reason.to_string() }
    }
}
