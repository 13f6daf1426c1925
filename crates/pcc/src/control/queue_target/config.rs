//! The constants of the control.

use crate::control::RateBounds;
use crate::units::Rate;
use crate::weight::Weight;

/// Constants of a rate control that holds a number of packets in the queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct QueueTargetConfig {
    /// Packets of the first round trip.
    pub first_window: u64,
    /// A rate to begin with instead, for a path that is known from before.
    pub first_rate: Rate,
    /// The pacing rate as a multiple of the window per round trip.
    pub pacing: f64,
    /// A factor on the packets in the queue that the utility wants: flows of this kind that share a queue divide the path by it.
    pub weight: Weight,
    /// Drains, which find out what of the delay isn't its own.
    pub drain: DrainConfig,
    /// Experiments that find out what of the loss isn't its own.
    pub loss: LossConfig,
    /// Whether it competes with others that keep the queue full. Else it yields to them: a queue that stands isn't background, whoever
    /// keeps it.
    pub competes: bool,
    /// The smallest and the largest rate.
    pub bounds: RateBounds,
}

/// Constants of drains.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct DrainConfig {
    /// The time between two, in seconds.
    pub every: f64,
    /// The part of the packets that would be in flight without a queue that are sent during one, in 0..=1.
    pub part: f64,
    /// If more than this part of the queue remains, in 0..=1, others keep it.
    pub others: f64,
}

/// Constants of experiments on loss.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct LossConfig {
    /// Loss beyond the background that asks for one, in 0..=1.
    pub excess: f64,
    /// The part of the excess that has to vanish for the loss to be its own, in 0..=1.
    pub response: f64,
    /// The largest loss that is taken for the path's, in 0..=1.
    pub highest: f64,
}
