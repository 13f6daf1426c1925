//! A view into a running controller: every monitor interval, decision and change of state.

use crate::control::{Cut, Phase};
use crate::monitor::{Measurement, Role};
use crate::units::{Rate, Time};
use core::fmt::Debug;
use core::time::Duration;

/// Something that happened inside a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The result of a monitor interval is known.
    #[non_exhaustive]
    Interval {
        /// When the result was known: at the end of a batch of acknowledgements.
        time: Time,
        /// What the interval was for.
        role: Role,
        /// What was measured.
        result: Measurement,
        /// What the utility function makes of the result, before noise filters.
        utility: f64,
    },
    /// The base rate changed.
    #[non_exhaustive]
    Decision {
        /// When it changed.
        time: Time,
        /// The rate before.
        from: Rate,
        /// The rate from now on.
        to: Rate,
        /// What cut the rate; `None` if the rate control chose the new one.
        cut: Option<Cut>,
    },
    /// The phase changed.
    #[non_exhaustive]
    Phase {
        /// When it changed.
        time: Time,
        /// The phase from now on.
        phase: Phase,
    },
}

impl Event {
    /// When it happened, in the time that the controller is told.
    pub fn time(&self) -> Time {
        match self {
            Event::Interval { time, .. } | Event::Decision { time, .. } | Event::Phase { time, .. } => *time,
        }
    }

    /// The same event in a time whose origin is earlier by this much.
    #[must_use]
    pub fn shifted(mut self, by: Duration) -> Event {
        match &mut self {
            Event::Interval { time, result, .. } => {
                *time += by;
                result.start += by;
            }
            Event::Decision { time, .. } | Event::Phase { time, .. } => *time += by,
        }
        self
    }
}

/// Receives the events of a controller: for logs, plots, tests. See [`Pcc::observe`](crate::Pcc::observe).
pub trait Observer: Debug + Send + Sync {
    /// Called for each event, in order.
    fn on_event(&mut self, event: &Event);
}
