//! Puts controllers of ours under noq connections.

use crate::controller::Adapter;
use crate::start::{Build, Control, Make, Start};
use noq_proto::congestion::{Controller, ControllerFactory};
use pcc::{CongestionControl, Event, Observer, Pcc, Phase, Profile, Rate};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// noq's factory for any [`CongestionControl`].
///
/// ```
/// # use std::sync::Arc;
/// let mut transport = noq::TransportConfig::default();
/// transport.congestion_controller_factory(Arc::new(pcc_quic::Factory::profile(pcc::Profile::default())));
/// ```
///
/// A noq configuration belongs to one connection: a client passes it to `Endpoint::connect_with`, a server to
/// `Incoming::accept_with`. So each connection can have a controller of its own. What it knows and does can be read
/// with [`Statistics::of`](crate::Statistics::of).
///
/// [`Transport`](crate::Transport) also sets what else in noq's configuration helps such a controller.
#[derive(Clone, Debug)]
pub struct Factory {
    build: Arc<Build>,
}

impl Factory {
    /// A factory of the controllers that `control` returns; it is called for each path of each connection.
    ///
    /// [`Statistics`](crate::Statistics) knows neither rate nor phase of these.
    pub fn new(control: impl Fn(&Start) -> Box<dyn CongestionControl> + Send + Sync + 'static) -> Factory {
        Factory::assemble(Arc::new(move |start| Control::Other(control(start))), fastrand::u64(..), None)
    }

    /// A factory of controllers with the constants of `profile`.
    pub fn profile(profile: Profile) -> Factory {
        let make = move |start: &Start| watched(&profile, start, None);
        Factory::assemble(Arc::new(make), fastrand::u64(..), None)
    }

    /// As [`profile`](Self::profile), with an observer for each controller.
    pub fn observed(
        profile: Profile,
        observe: impl Fn(&Start) -> Box<dyn Observer> + Send + Sync + 'static,
    ) -> Factory {
        let make = move |start: &Start| watched(&profile, start, Some(observe(start)));
        Factory::assemble(Arc::new(make), fastrand::u64(..), None)
    }

    /// The same with random choices that come from `seed`, so that a run can be repeated. Without it each factory draws a seed, because
    /// flows that start together must not probe in step.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Factory {
        Factory::assemble(self.build.make(), seed, self.build.max_rate())
    }

    /// The same with a rate that no path exceeds on average over some milliseconds, whatever its controller says. One that
    /// has a window and no pacing rate is then paced as noq would do it, at 5/4 of window / round-trip time, up to this rate.
    #[must_use]
    pub fn with_max_rate(self, max: Rate) -> Factory {
        Factory::assemble(self.build.make(), self.build.seed(), Some(max))
    }

    fn assemble(make: Arc<Make>, seed: u64, max_rate: Option<Rate>) -> Factory {
        Factory { build: Arc::new(Build::new(make, seed, max_rate)) }
    }
}

/// A controller whose phase can be read, with the user's observer, if there is one.
fn watched(profile: &Profile, start: &Start, next: Option<Box<dyn Observer>>) -> Control {
    let mut pcc: Pcc = match start.max_rate {
        Some(max) => profile.clone().with_max_rate(max).build(start.seed),
        None => profile.build(start.seed),
    };
    let phase = Arc::new(Mutex::new(Phase::Starting));
    pcc.observe(Box::new(PhaseObserver { phase: phase.clone(), next }));
    Control::Pcc { pcc: Box::new(pcc), phase }
}

/// Notes the phase, and passes all events on to the user's observer.
#[derive(Debug)]
struct PhaseObserver {
    phase: Arc<Mutex<Phase>>,
    next: Option<Box<dyn Observer>>,
}

impl Observer for PhaseObserver {
    fn on_event(&mut self, event: &Event) {
        if let Event::Phase { phase, .. } = event {
            *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = *phase;
        }
        if let Some(next) = &mut self.next {
            next.on_event(event);
        }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Adapter::new(self.build.clone(), now, current_mtu))
    }
}
