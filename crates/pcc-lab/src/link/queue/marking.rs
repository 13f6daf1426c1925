//! When a queue marks.

use super::limit::Limit;

/// When a queue marks packets that can be marked.
#[derive(Clone, Copy, Debug)]
pub(in crate::link) struct Marking {
    /// Where it would drop them to keep the queue short.
    pub instead_of_drops: bool,
    /// When it holds more than this.
    pub above: Option<Limit>,
}
