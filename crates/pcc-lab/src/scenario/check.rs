//! What is wrong with a scenario that the types of its keys can't tell.

use super::error::ScenarioError;
use super::fault::check_text;
use super::file::Scenario;
use crate::link::Change;
use crate::sim::HEADER_BYTES;
use pcc::Time;
use std::path::Path;

/// What is wrong with a time that never comes.
const AT_END: &str = "this must be before the end, which is at duration";

/// The most bytes of a transfer that no link slows down: all of it may be on its way at once.
const MAX_UNLIMITED: u64 = 1_000_000_000;

/// The most random changes of a link.
const MAX_CHANGES: u128 = 1_000_000;

impl Scenario {
    /// Checks what the types of the keys can't; `folder` is where relative paths begin.
    ///
    /// # Errors
    ///
    /// The first key that is wrong, and why.
    pub(super) fn check(&self, folder: &Path) -> Result<(), ScenarioError> {
        let fault = |key: &str, reason: &str| Err(ScenarioError::at(key.to_owned(), reason.to_owned()));
        if self.duration.is_zero() {
            return fault("duration", "this must be more than 0s");
        }
        if self.measure_from >= self.duration {
            return fault("measure-from", "this must be before the end, which is at duration");
        }
        if self.seeds == 0 {
            return fault("seeds", "this must be at least 1");
        }
        if !(HEADER_BYTES + 1..=65_535).contains(&self.packet_size) {
            return fault("packet-size", "this must be between 41 and 65535 bytes, of which 40 are headers");
        }
        if self.link.is_empty() {
            return fault("link", "a scenario needs at least one [[link]]");
        }
        if self.flow.is_empty() {
            return fault("flow", "a scenario needs at least one [[flow]]");
        }
        self.check_names()?;
        self.kernel.check().map_err(|(key, reason)| ScenarioError::at(format!("kernel.{key}"), reason))?;
        for (index, link) in self.link.iter().enumerate() {
            link.check(folder).map_err(|(key, reason)| ScenarioError::at(format!("link.{index}.{key}"), reason))?;
            let late = |change: &Change| change.at >= Time::ZERO + self.duration;
            if let Some(change) = link.schedule.iter().position(late) {
                return fault(&format!("link.{index}.schedule.{change}"), AT_END);
            }
            if link.changes_in(self.duration) > MAX_CHANGES {
                let reason = format!("these are more than {MAX_CHANGES} changes");
                return Err(ScenarioError::at(format!("link.{index}.vary.every"), reason));
            }
        }
        for (index, flow) in self.flow.iter().enumerate() {
            let at = |(key, reason): (&str, String)| ScenarioError::at(format!("flow.{index}.{key}"), reason);
            flow.check().map_err(at)?;
            if flow.start >= self.duration {
                return fault(&format!("flow.{index}.start"), AT_END);
            }
            if flow.start + flow.stagger * (flow.count - 1) >= self.duration {
                let reason = "with this the last of them begins after the end, which is at duration";
                return fault(&format!("flow.{index}.stagger"), reason);
            }
            let limited = self.route(flow).map_err(at)?.iter().any(|link| self.link[*link].is_limited());
            if !limited && flow.is_endless() {
                let reason =
                    "no link of its route has a rate: it would send without end; add rate = \"100mbit\" to one";
                return fault(&format!("flow.{index}"), reason);
            }
            if !limited && flow.size.is_some_and(|size| size > MAX_UNLIMITED) {
                let reason = "no link of its route has a rate: all of it may be on its way at once, so this must be at most 1GB; add rate = \"100mbit\" to a link, for example";
                return fault(&format!("flow.{index}.size"), reason);
            }
            if flow.load.is_some() {
                // Links that change at random are looked at again when a run begins.
                let links = self.links(folder, &mut fastrand::Rng::with_seed(1))?;
                self.transfers(flow, &links).map_err(at)?;
            }
            self.reverse(flow).map_err(at)?;
            self.reverse_delay(flow).map_err(at)?;
        }
        for (index, link) in self.link.iter().enumerate() {
            let at = |key: &str, reason| ScenarioError::at(format!("link.{index}.{key}"), reason);
            let queue = self.queue(index).map_err(|(key, reason)| at(key, reason))?;
            let (key, largest) = link.largest_packet(queue);
            if largest < self.packet_size.into() && !self.is_reverse(index) {
                let size = self.packet_size;
                let reason =
                    format!("at most {largest} bytes fit; a packet of {size} bytes must, or nothing gets through");
                return Err(at(key, reason));
            }
        }
        Ok(())
    }

    /// Checks what tables, plots and terminals show, and that a link's name is its own.
    fn check_names(&self) -> Result<(), ScenarioError> {
        let links = self.link.iter().map(|link| link.name.as_deref().unwrap_or_default());
        let links: Vec<(String, &str)> =
            links.enumerate().map(|(index, name)| (format!("link.{index}.name"), name)).collect();
        let labels = self.flow.iter().enumerate().map(|(index, flow)| (format!("flow.{index}.name"), flow.label()));
        let title = ("title".to_owned(), self.title.as_str());
        for (key, text) in [title].into_iter().chain(links.clone()).chain(labels) {
            check_text(text).map_err(|reason| ScenarioError::at(key, reason))?;
        }
        let flows = self.flow.iter().map(|flow| flow.name.as_deref().unwrap_or_default());
        let flows: Vec<(String, &str)> =
            flows.enumerate().map(|(index, name)| (format!("flow.{index}.name"), name)).collect();
        for (what, names) in [("link", links), ("flow", flows)] {
            for (index, (key, name)) in names.iter().enumerate().filter(|(_, (_, name))| !name.is_empty()) {
                if names[..index].iter().any(|(_, other)| other == name) {
                    return Err(ScenarioError::at(key.clone(), format!("another {what} is called {name}, too")));
                }
            }
        }
        Ok(())
    }
}
