//! What is emulated: links, routes, and how long.

use super::addressing::Addressing;
use crate::error::EmulatorError;
use pcc::Rate;
use pcc_lab::link::{Capacity, PathConfig};
use std::time::Duration;

/// Above this rate the packets that are due within [`QUANTUM`] are delivered together.
const SEPARATE_UP_TO: Rate = Rate::from_mbps(200.0);

/// At 1 Gbit/s 4 packets; without, the emulator takes three times the processor time.
const QUANTUM: Duration = Duration::from_micros(50);

/// An emulation: what is between the left and the right side.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// The links; routes name them by index.
    pub links: Vec<PathConfig>,
    /// The route of each flow.
    pub routes: Vec<Route>,
    /// Which flow a packet belongs to.
    pub addressing: Addressing,
    /// What happens later than this after the start isn't counted.
    pub duration: Duration,
    /// What happens earlier than this after the start isn't counted in the totals.
    pub measure_from: Duration,
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether [`Sample`](pcc_lab::sim::Sample)s are taken, and the outcomes of segments are kept.
    pub record: bool,
}

/// The links that a flow passes, in both directions.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// The links from left to right, in order.
    pub forward: Vec<usize>,
    /// The links from right to left, in order.
    pub reverse: Vec<usize>,
    /// How much longer the way back is.
    pub reverse_delay: Duration,
    /// What happens after this isn't counted of the flow.
    pub stop: Option<Duration>,
}

impl EmulatorConfig {
    /// Whether each route has links that are there.
    pub(super) fn check(&self) -> Result<(), EmulatorError> {
        for (flow, route) in self.routes.iter().enumerate() {
            if let Some(link) = route.forward.iter().chain(&route.reverse).find(|link| **link >= self.links.len()) {
                return Err(EmulatorError::Route { flow, link: *link, links: self.links.len() });
            }
        }
        Ok(())
    }

    /// How long a packet may wait for those that are delivered with it.
    pub(super) fn quantum(&self) -> Duration {
        let fast = |link: &PathConfig| {
            let constant = match &link.capacity {
                Capacity::Constant(rate) => Some(*rate),
                Capacity::Unlimited | Capacity::Trace(_) => None,
            };
            let changes = link.schedule.iter().filter_map(|change| change.rate);
            constant.into_iter().chain(changes).any(|rate| rate > SEPARATE_UP_TO)
        };
        if self.links.iter().any(fast) { QUANTUM } else { Duration::ZERO }
    }
}
