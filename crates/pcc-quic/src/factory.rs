//! Puts controllers of ours under noq connections.

use crate::controller::Adapter;
use noq_proto::congestion::{Controller, ControllerFactory};
use pcc::{CongestionControl, Observer, Pcc, Profile, Rate, Time};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What a controller starts with.
#[derive(Clone, Copy, Debug)]
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

/// noq's factory for any [`CongestionControl`].
///
/// ```
/// # use std::sync::Arc;
/// let mut transport = noq::TransportConfig::default();
/// transport.congestion_controller_factory(Arc::new(pcc_quic::Factory::profile(pcc::profiles::vivace_latency())));
/// ```
///
/// [`Transport`](crate::Transport) also sets what else in noq's configuration helps such a controller.
#[derive(Clone, Debug)]
pub struct Factory {
    pub(crate) build: Arc<Build>,
}

type ControlFn = dyn Fn(&Start) -> Box<dyn CongestionControl> + Send + Sync;

/// How to make the next controller; shared with the controllers made, which may have to be cloned.
pub(crate) struct Build {
    control: Arc<ControlFn>,
    max_rate: Option<Rate>,
    seed: u64,
    built: AtomicU64,
}

impl Factory {
    /// A factory of the controllers that `control` returns; it is called for each path of each connection.
    pub fn new(control: impl Fn(&Start) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Factory {
        Factory::assemble(Arc::new(control), fastrand::u64(..), None)
    }

    /// A factory of controllers with the constants of `profile`.
    pub fn profile(profile: Profile) -> Factory {
        Factory::new(move |start| Box::new(build(&profile, start)))
    }

    /// As [`profile`](Self::profile), with an observer for each controller.
    pub fn observed(
        profile: Profile,
        observe: impl Fn(&Start) -> Box<dyn Observer> + Send + Sync + 'static,
    ) -> Factory {
        Factory::new(move |start| {
            let mut control = build(&profile, start);
            control.observe(observe(start));
            Box::new(control)
        })
    }

    /// The same with random choices that come from `seed`, so that a run can be repeated. Else the seed is drawn:
    /// flows that start together must not probe in step.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Factory {
        Factory::assemble(self.build.control.clone(), seed, self.build.max_rate)
    }

    /// The same with a rate that each connection stays below.
    #[must_use]
    pub fn with_max_rate(self, max: Rate) -> Factory {
        Factory::assemble(self.build.control.clone(), self.build.seed, Some(max))
    }

    fn assemble(control: Arc<ControlFn>, seed: u64, max_rate: Option<Rate>) -> Factory {
        Factory { build: Arc::new(Build { control, max_rate, seed, built: AtomicU64::new(0) }) }
    }
}

fn build(profile: &Profile, start: &Start) -> Pcc {
    match start.max_rate {
        Some(max) => profile.clone().with_max_rate(max).build(start.seed),
        None => profile.build(start.seed),
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Adapter::new(self.build.clone(), now, current_mtu))
    }
}

impl Build {
    /// The next controller, for a path that carries packets of `mtu` bytes.
    pub(crate) fn control(&self, now: Time, mtu: u16) -> Box<dyn CongestionControl> {
        let seed = self.seed.wrapping_add(self.built.fetch_add(1, Ordering::Relaxed));
        let mut control = (self.control)(&Start { now, mtu: mtu.into(), seed, max_rate: self.max_rate });
        control.on_mtu_change(mtu.into());
        control
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
