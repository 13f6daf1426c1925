//! How the controller of a path is made.

use pcc::{CongestionControl, Phase, Rate, Time};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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
    /// A rate that the connection stays below, on average over some milliseconds: lateness is made up for.
    pub max_rate: Option<Rate>,
}

/// A controller, and where its phase can be read if it has phases. That is locked when the phase changes, not for packets.
pub(crate) struct Made {
    pub(crate) control: Box<dyn CongestionControl>,
    pub(crate) phase: Option<Arc<Mutex<Phase>>>,
}

pub(crate) type Make = dyn Fn(&Start) -> Made + Send + Sync;

/// How to make the next controller; shared with the controllers made, which may have to be cloned.
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
    pub(crate) fn control(&self, now: Time, mtu: u16) -> Made {
        let seed = self.seed.wrapping_add(self.built.fetch_add(1, Ordering::Relaxed));
        let mut made = (self.make)(&Start { now, mtu: mtu.into(), seed, max_rate: self.max_rate });
        made.control.on_mtu_change(mtu.into());
        made
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
