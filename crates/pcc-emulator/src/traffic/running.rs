//! What is read of a group while it runs and after.

use super::pacing::PacingErrors;
use super::record::Record;
use super::worker::Worker;
use std::sync::Arc;

/// A group that is set up or runs.
pub(super) struct Running {
    pub records: Vec<Arc<Record>>,
    pub sender: Worker,
    pub receiver: Worker,
    pub pacing: PacingErrors,
}
