//! A view into a running controller: every monitor interval, decision and change of state.

use crate::control::{Cut, Phase};
use crate::monitor::{Measurement, Role};
use crate::units::{Rate, Time};
use core::fmt::Debug;

/// Something that happened inside a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The result of a monitor interval is known.
    Interval {
        /// When.
        time: Time,
        /// What it was for.
        role: Role,
        /// What came of it.
        result: Measurement,
        /// What it was worth, before noise filters.
        utility: f64,
    },
    /// The base rate changed.
    Decision {
        /// When.
        time: Time,
        /// The rate before.
        from: Rate,
        /// The rate from now on.
        to: Rate,
        /// The cut, if it wasn't the controller's own choice.
        cut: Option<Cut>,
    },
    /// The phase changed.
    Phase {
        /// When.
        time: Time,
        /// The phase from now on.
        phase: Phase,
    },
}

/// Receives the events of a controller: for logs, plots, tests.
pub trait Observer: Debug + Send + Sync {
    /// Called for each event, in order.
    fn on_event(&mut self, event: &Event);
}
