//! Where a group is set up.

use super::stage::Stage;
use crate::error::EmulatorError;
use crate::host::Namespace;
use tokio::sync::watch;

/// Where a group is set up.
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
