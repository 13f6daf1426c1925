//! A rate control as a part of a profile.

use super::allegro::{AllegroConfig, AllegroControl};
use super::queue_target::{QueueTargetConfig, QueueTargetControl};
use super::vivace::{VivaceConfig, VivaceControl};
use super::{RateBounds, RateControl};
use crate::initial_windows::InitialWindows;
use crate::units::Rate;
use crate::weight::Weight;
use alloc::boxed::Box;

/// A rate control algorithm and its constants.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum ControlConfig {
    /// Allegro's rate control.
    Allegro(AllegroConfig),
    /// Vivace's rate control.
    Vivace(VivaceConfig),
    /// The control that holds a number of packets in the queue.
    QueueTarget(QueueTargetConfig),
}

impl ControlConfig {
    /// The algorithm, with random choices drawn from `seed`.
    pub fn build(&self, seed: u64) -> Box<dyn RateControl> {
        match self {
            ControlConfig::Allegro(config) => Box::new(AllegroControl::new(config.clone(), seed)),
            ControlConfig::Vivace(config) => Box::new(VivaceControl::new(config.clone(), seed)),
            ControlConfig::QueueTarget(config) => Box::new(QueueTargetControl::new(config.clone())),
        }
    }

    /// The smallest and the largest rate.
    pub fn bounds(&self) -> RateBounds {
        match self {
            ControlConfig::Allegro(config) => config.bounds,
            ControlConfig::Vivace(config) => config.bounds,
            ControlConfig::QueueTarget(config) => config.bounds,
        }
    }

    /// The bounds of the rate, to be changed.
    pub(crate) fn bounds_mut(&mut self) -> &mut RateBounds {
        match self {
            ControlConfig::Allegro(config) => &mut config.bounds,
            ControlConfig::Vivace(config) => &mut config.bounds,
            ControlConfig::QueueTarget(config) => &mut config.bounds,
        }
    }

    /// The weight of a flow among its kind, to be changed; `None` where there is none.
    pub(crate) fn weight_mut(&mut self) -> Option<&mut Weight> {
        match self {
            ControlConfig::Allegro(_) | ControlConfig::Vivace(_) => None,
            ControlConfig::QueueTarget(config) => Some(&mut config.weight),
        }
    }

    /// What counts initial windows that are carried for others, to be changed; `None` where there is none.
    pub(crate) fn initial_windows_mut(&mut self) -> Option<&mut InitialWindows> {
        match self {
            ControlConfig::Allegro(_) | ControlConfig::Vivace(_) => None,
            ControlConfig::QueueTarget(config) => Some(&mut config.initial_windows),
        }
    }

    /// The rate that start-up begins with, to be changed.
    pub(crate) fn first_rate_mut(&mut self) -> &mut Rate {
        match self {
            ControlConfig::Allegro(config) => &mut config.start.rate,
            ControlConfig::Vivace(config) => &mut config.start.rate,
            ControlConfig::QueueTarget(config) => &mut config.first_rate,
        }
    }
}
