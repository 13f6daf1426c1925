//! The controllers that can be chosen by name.

use pcc::profiles::{self, Entry};
use pcc::{Profile, Weight};
use std::fmt;
use std::str::FromStr;

/// A congestion controller, by name: one of [`pcc::profiles`], or one that comes with noq.
///
/// ```
/// use pcc_quic::Algorithm;
///
/// let algorithm: Algorithm = "allegro".parse()?;
/// assert_eq!(algorithm.name(), "allegro-2015");
/// assert!("tahoe".parse::<Algorithm>().is_err());
/// # Ok::<(), pcc_quic::UnknownAlgorithm>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// PCC with the constants of a profile.
    Pcc(&'static Entry),
    /// noq's CUBIC.
    Cubic,
    /// noq's NewReno.
    NewReno,
    /// noq's BBRv3.
    Bbr3,
}

impl Algorithm {
    /// The algorithms that come with noq.
    pub const OF_NOQ: &'static [Algorithm] = &[Algorithm::Cubic, Algorithm::NewReno, Algorithm::Bbr3];

    /// All of them, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = Algorithm> {
        profiles::LIST.iter().rev().map(Algorithm::Pcc).chain(Algorithm::OF_NOQ.iter().copied())
    }

    /// All names, as help and errors show them.
    pub fn names() -> String {
        Algorithm::all().map(Algorithm::name).collect::<Vec<_>>().join(", ")
    }

    /// The name that [`FromStr`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Pcc(entry) => entry.name,
            Algorithm::Cubic => "cubic",
            Algorithm::NewReno => "newreno",
            Algorithm::Bbr3 => "bbr3",
        }
    }

    /// The constants of an algorithm of ours, `None` for one of noq.
    pub fn profile(self) -> Option<Profile> {
        match self {
            Algorithm::Pcc(entry) => Some(entry.profile()),
            Algorithm::Cubic | Algorithm::NewReno | Algorithm::Bbr3 => None,
        }
    }

    /// Whether connections that share a bottleneck can divide it by weights.
    pub fn has_weight(self) -> bool {
        self.profile().is_some_and(|profile| profile.with_weight(Weight::default()).is_some())
    }
}

impl Default for Algorithm {
    /// The default profile, [`profiles::DEFAULT`].
    fn default() -> Self {
        profiles::entry(profiles::DEFAULT).map_or(Algorithm::Cubic, Algorithm::Pcc)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown controller \"{0}\"; known are {names}", names = Algorithm::names())]
pub struct UnknownAlgorithm(String);

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// The algorithm with this name, or this alias of a profile.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let of_noq = || Algorithm::OF_NOQ.iter().copied().find(|algorithm| algorithm.name() == name);
        let found = profiles::entry(name).map(Algorithm::Pcc).or_else(of_noq);
        found.ok_or_else(|| UnknownAlgorithm(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        for algorithm in Algorithm::all() {
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
        }
        assert_eq!(Algorithm::default().name(), profiles::DEFAULT);
        assert!("reno".parse::<Algorithm>().unwrap_err().to_string().ends_with(&Algorithm::names()));
    }
}
