//! The constants of the level control.

use crate::control::RateBounds;
use crate::units::Rate;

/// Constants of a rate control that holds a level: a number of packets in the queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct LevelConfig {
    /// Packets of the first round trip.
    pub first_window: u64,
    /// A rate to begin with instead, for a path that is known from before.
    pub first_rate: Rate,
    /// The pacing rate as a multiple of the window per round trip.
    pub pacing: f64,
    /// Whether it competes with others that keep the queue full.
    pub competes: bool,
    /// The smallest and the largest rate.
    pub bounds: RateBounds,
}
