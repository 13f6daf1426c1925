//! Which links a flow passes, how long the way back is, what a queue on it holds, and when the flows of a group begin.

use super::error::ScenarioError;
use super::fault::{Fault, no_such};
use super::file::Scenario;
use super::flow::{Flow, MAX_FLOWS};
use super::link::Link;
use super::queue::QueueLimit;
use crate::link::{Limit, PathConfig, QueueConfig};
use crate::quantity::show_duration;
use pcc::Time;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

impl Scenario {
    /// The links that a flow passes.
    pub(crate) fn route(&self, flow: &Flow) -> Result<Vec<usize>, Fault> {
        match &flow.route {
            None => match (0..self.link.len()).filter(|index| !self.is_reverse(*index)).collect() {
                route if route == [0; 0] => {
                    Err(("route", "every link carries acknowledgements: name one to pass".to_owned()))
                }
                route => Ok(route),
            },
            Some(names) if names.is_empty() => Err(("route", "a route has at least one link".to_owned())),
            Some(names) => names.iter().map(|name| self.link_named(name).map_err(|reason| ("route", reason))).collect(),
        }
    }

    /// Whether a link carries acknowledgements only: it is some flow's way back and on nobody's route.
    pub(super) fn is_reverse(&self, index: usize) -> bool {
        let name = self.link[index].name.as_deref();
        name.is_some()
            && self.flow.iter().any(|flow| flow.reverse.as_deref() == name)
            && !self.flow.iter().flat_map(|flow| flow.route.iter().flatten()).any(|link| Some(link.as_str()) == name)
    }

    /// The link that a flow's acknowledgements pass.
    pub(super) fn reverse(&self, flow: &Flow) -> Result<Option<usize>, Fault> {
        flow.reverse.as_ref().map(|name| self.link_named(name).map_err(|reason| ("reverse", reason))).transpose()
    }

    fn link_named(&self, name: &str) -> Result<usize, String> {
        self.link.iter().position(|link| link.name.as_deref() == Some(name)).ok_or_else(|| {
            let known: Vec<&str> = self.link.iter().filter_map(|link| link.name.as_deref()).collect();
            no_such("link", name, &known)
        })
    }

    /// What a flow's acknowledgements take, besides the delay of its reverse link.
    pub(super) fn reverse_delay(&self, flow: &Flow) -> Result<Duration, Fault> {
        let forward: Duration = self.route(flow)?.into_iter().map(|index| self.link[index].delay).sum();
        let back = self.reverse(flow)?.map_or(Duration::ZERO, |index| self.link[index].delay);
        match flow.rtt {
            Some(rtt) => rtt
                .checked_sub(forward + back)
                .ok_or_else(|| ("rtt", format!("this must be at least {:?}, the delay of the links", forward + back))),
            None if flow.reverse.is_some() => Ok(Duration::ZERO),
            None => Ok(forward),
        }
    }

    /// The round trip of a flow with empty queues; of delays that change, the first counts.
    pub(super) fn round_trip(&self, flow: &Flow) -> Result<Duration, Fault> {
        let links = self.route(flow)?.into_iter().chain(self.reverse(flow)?);
        Ok(links.map(|index| self.link[index].delay).sum::<Duration>() + self.reverse_delay(flow)?)
    }

    /// The queue of a link, by its index.
    ///
    /// # Errors
    ///
    /// When its limit is a multiple of a bandwidth-delay product that isn't one number.
    pub(super) fn queue(&self, link: usize) -> Result<Option<QueueConfig>, Fault> {
        let Some(QueueConfig { kind, limit, ecn, mark_above }) = self.link[link].queue else { return Ok(None) };
        let limit = match limit {
            QueueLimit::Fixed(limit) => limit,
            QueueLimit::Bdp(multiple) => Limit::Bytes((multiple * self.bandwidth_delay_product(link)?).round() as u64),
        };
        Ok(Some(QueueConfig { kind, limit, ecn, mark_above }))
    }

    /// The bandwidth-delay product of a link and the flows that pass it, in bytes.
    fn bandwidth_delay_product(&self, link: usize) -> Result<f64, Fault> {
        let fault = |reason: &str| Err(("queue", format!("{reason}; write a size instead, such as \"75kB\"")));
        let Some(rate) = self.link[link].constant_rate() else {
            return fault("a multiple of the BDP needs a rate, and one that neither schedule nor vary changes");
        };
        // What is wrong with a route or a round trip is said of the flow.
        let passes = |flow: &_| self.route(flow).is_ok_and(|route| route.contains(&link));
        let passing = self.flow.iter().filter(|flow| passes(flow));
        let round_trips: BTreeSet<_> = passing.filter_map(|flow| self.round_trip(flow).ok()).collect();
        match (round_trips.first(), round_trips.last()) {
            (Some(least), Some(most)) if least == most => Ok(rate.bytes_per_sec() * least.as_secs_f64()),
            (Some(least), Some(most)) => fault(&format!(
                "the round trips of the flows that pass differ, from {} to {}, and so does their BDP",
                show_duration(*least),
                show_duration(*most)
            )),
            _ => fault("no flow passes, so that there is no round trip for a BDP"),
        }
    }

    /// The links for a run, with random choices from `rng`; `folder` is where trace files are.
    pub(super) fn links(&self, folder: &Path, rng: &mut fastrand::Rng) -> Result<Vec<PathConfig>, ScenarioError> {
        let build = |(index, link): (usize, &Link)| {
            let at = |(key, reason): Fault| ScenarioError::at(format!("link.{index}.{key}"), reason);
            self.queue(index).and_then(|queue| link.build(queue, folder, self.duration, rng)).map_err(at)
        };
        self.link.iter().enumerate().map(build).collect()
    }

    /// How many transfers come on average, where a flow asks for a load of its route.
    pub(super) fn transfers(&self, flow: &Flow, links: &[PathConfig]) -> Result<Option<f64>, Fault> {
        let (Some(load), Some(size)) = (flow.load, flow.size) else { return Ok(None) };
        let end = Time::ZERO + self.end(flow);
        let capacity = self.route(flow)?.into_iter().filter_map(|link| links[link].capacity(Time::ZERO, end)).min();
        let Some(capacity) = capacity else {
            return Err(("load", "this is a share of the rate of the route, and no link of it has one".to_owned()));
        };
        let transfers = capacity as f64 * load / size as f64;
        if transfers > f64::from(MAX_FLOWS) {
            return Err(("load", format!("these are {transfers:.0} transfers; at most {MAX_FLOWS} can be simulated")));
        }
        Ok(Some(transfers))
    }

    /// When a flow ends.
    fn end(&self, flow: &Flow) -> Duration {
        flow.stop.map_or(self.duration, |stop| stop.min(self.duration))
    }

    /// When the flows of a group begin.
    pub(super) fn starts(&self, flow: &Flow, transfers: Option<f64>, rng: &mut fastrand::Rng) -> Vec<Duration> {
        let Some(transfers) = transfers else {
            return (0..flow.count).map(|index| flow.start + flow.stagger * index).collect();
        };
        let end = self.end(flow);
        let mean_gap = end.as_secs_f64() / transfers;
        let mut starts = Vec::new();
        let mut at = flow.start;
        while at < end {
            starts.push(at);
            // An exponential gap, by inversion; 1 - u is never 0.
            at += Duration::from_secs_f64((-libm::log(1.0 - rng.f64()) * mean_gap).min(1e6));
        }
        starts
    }
}
