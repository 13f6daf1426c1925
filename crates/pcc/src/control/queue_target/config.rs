//! The constants of the control.

use crate::control::RateBounds;
use crate::initial_windows::InitialWindows;
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
    /// Connections of applications that begin over this one: each brings a first window of its own, as long as start-up goes on.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub initial_windows: InitialWindows,
    /// When start-up ends.
    pub start: StartConfig,
    /// How much of the delay may be noise.
    pub noise: NoiseConfig,
    /// Drains, which find out what of the delay isn't its own.
    pub drain: DrainConfig,
    /// Growth beside others.
    pub growth: GrowthConfig,
    /// Experiments that find out what of the loss isn't its own.
    pub loss: LossConfig,
    /// Whether it competes with others that keep the queue full. Else it yields to them: a queue that stands isn't background, whoever
    /// keeps it.
    pub competes: bool,
    /// The smallest and the largest rate.
    pub bounds: RateBounds,
}

/// Constants of start-up.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct StartConfig {
    /// A queue of this part of the base round-trip time ends it at once, at least 0.
    pub long_queue: f64,
    /// It goes on after it was held because of a queue if the delivery rate grew by this factor meanwhile, at least 1.
    pub grows: f64,
}

impl Default for StartConfig {
    fn default() -> Self {
        StartConfig { long_queue: 0.25, grows: 1.5 }
    }
}

/// Constants of what may be noise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct NoiseConfig {
    /// Packets arrive together if they do within this part of the time in which they were sent, in 0..=1.
    pub together: f64,
    /// So many times the mean time for which packets are held up may be noise.
    pub reach: f64,
    /// As much of that, in seconds, may also be a queue that the utility doesn't ask for, but that outlasts pauses of the path.
    pub free: f64,
    /// The largest part of the smallest round-trip time that this may be, in 0..=1.
    pub free_part: f64,
}

impl Default for NoiseConfig {
    fn default() -> Self {
        NoiseConfig { together: 0.25, reach: 4.0, free: 0.001, free_part: 0.125 }
    }
}

/// Constants of growth beside others.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct GrowthConfig {
    /// A flow with a longer round-trip time than this, in seconds, grows as fast as one with it, and gives way to a queue as fast, whoever keeps it.
    pub rtt: f64,
    /// Loss in excess of the background that ends growth, in 0..=1.
    pub loss: f64,
    /// What remains of the additional packets then, in 0..=1.
    pub decrease: f64,
}

impl Default for GrowthConfig {
    fn default() -> Self {
        GrowthConfig { rtt: 0.04, loss: 0.02, decrease: 0.7 }
    }
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

impl Default for DrainConfig {
    fn default() -> Self {
        DrainConfig { every: 2.0, part: 0.95, others: 0.5 }
    }
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

impl Default for LossConfig {
    fn default() -> Self {
        LossConfig { excess: 0.015, response: 0.4, highest: 0.25 }
    }
}
