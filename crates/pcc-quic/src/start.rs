//! How the controller of a path is made.

use pcc::{CongestionControl, Pcc, Phase, Rate, Time};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a controller starts with.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Start {
    /// When the path came up, in the time of the events that will follow.
    pub now: Time,
    /// The largest packet that the path is known to carry, in bytes of UDP payload.
    pub mtu: u64,
    /// A seed for random choices, different for every path of every connection.
    pub seed: u64,
    /// The rate that the path doesn't exceed on average over some milliseconds; what left late is made up for. `None` for no
    /// limit.
    pub max_rate: Option<Rate>,
}

/// The controller of a path.
#[derive(Debug)]
pub(crate) enum Control {
    /// One of a profile. Its phase is locked when it changes, not for packets.
    Pcc { pcc: Box<Pcc>, phase: Arc<Mutex<Phase>> },
    /// Any other.
    Other(Box<dyn CongestionControl>),
}

impl Control {
    /// What a controller of a profile takes to be the right rate.
    pub(crate) fn rate(&self) -> Option<Rate> {
        match self {
            Control::Pcc { pcc, .. } => Some(pcc.rate()),
            Control::Other(_) => None,
        }
    }

    /// What a controller of a profile does at the moment.
    pub(crate) fn phase(&self) -> Option<Phase> {
        match self {
            Control::Pcc { phase, .. } => Some(*phase.lock().unwrap_or_else(PoisonError::into_inner)),
            Control::Other(_) => None,
        }
    }
}

impl Deref for Control {
    type Target = dyn CongestionControl;

    fn deref(&self) -> &(dyn CongestionControl + 'static) {
        match self {
            Control::Pcc { pcc, .. } => &**pcc,
            Control::Other(control) => &**control,
        }
    }
}

impl DerefMut for Control {
    fn deref_mut(&mut self) -> &mut (dyn CongestionControl + 'static) {
        match self {
            Control::Pcc { pcc, .. } => &mut **pcc,
            Control::Other(control) => &mut **control,
        }
    }
}

pub(crate) type Make = dyn Fn(&Start) -> Control + Send + Sync;

/// How to make the next controller. The controllers made share it, because noq clones them, and each clone is a controller of its own.
pub(crate) struct Build {
    make: Arc<Make>,
    seed: u64,
    max_rate: Option<Rate>,
    built: AtomicU64,
}

impl Build {
    pub(crate) fn new(make: Arc<Make>, seed: u64, max_rate: Option<Rate>) -> Build {
        Build { make, seed, max_rate, built: AtomicU64::new(0) }
    }

    /// The next controller, for a path that carries packets of `mtu` bytes.
    pub(crate) fn control(&self, now: Time, mtu: u16) -> Control {
        let seed = self.seed.wrapping_add(self.built.fetch_add(1, Ordering::Relaxed));
        let mut control = (self.make)(&Start { now, mtu: mtu.into(), seed, max_rate: self.max_rate });
        control.on_mtu_change(mtu.into());
        control
    }

    pub(crate) fn make(&self) -> Arc<Make> {
        self.make.clone()
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn max_rate(&self) -> Option<Rate> {
        self.max_rate
    }
}

impl fmt::Debug for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Build").field("max_rate", &self.max_rate).field("seed", &self.seed).finish_non_exhaustive()
    }
}
