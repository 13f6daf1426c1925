//! The controllers that can be chosen by name.

use pcc::{Profile, profiles};
use std::fmt;
use std::str::FromStr;

/// A congestion controller, by name: ours, and those that come with noq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// PCC Vivace that keeps queues short (`vivace-latency`).
    #[default]
    VivaceLatency,
    /// PCC Vivace that reacts to loss only (`vivace-loss`).
    VivaceLoss,
    /// PCC Allegro (`allegro-2015`).
    Allegro,
    /// noq's CUBIC.
    Cubic,
    /// noq's NewReno.
    NewReno,
    /// noq's BBRv3.
    Bbr3,
}

impl Algorithm {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::VivaceLatency,
        Algorithm::VivaceLoss,
        Algorithm::Allegro,
        Algorithm::Cubic,
        Algorithm::NewReno,
        Algorithm::Bbr3,
    ];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::VivaceLatency => "vivace-latency",
            Algorithm::VivaceLoss => "vivace-loss",
            Algorithm::Allegro => "allegro",
            Algorithm::Cubic => "cubic",
            Algorithm::NewReno => "newreno",
            Algorithm::Bbr3 => "bbr3",
        }
    }

    /// The constants of one of ours, `None` for those of noq.
    pub fn profile(self) -> Option<Profile> {
        match self {
            Algorithm::VivaceLatency => Some(profiles::vivace_latency()),
            Algorithm::VivaceLoss => Some(profiles::vivace_loss()),
            Algorithm::Allegro => Some(profiles::allegro_2015()),
            Algorithm::Cubic | Algorithm::NewReno | Algorithm::Bbr3 => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name is none of [`Algorithm::ALL`].
#[derive(Debug, thiserror::Error)]
#[error("unknown controller \"{0}\"; known are vivace-latency, vivace-loss, allegro, cubic, newreno and bbr3")]
pub struct UnknownAlgorithm(String);

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|a| a.name() == name).ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}
