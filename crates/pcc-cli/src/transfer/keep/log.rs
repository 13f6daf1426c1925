//! A line for each transfer that is over, and their sums for Prometheus.

use crate::failure::{Kind, Result};
use crate::metrics::Page;
use crate::peer::credentials::SenderId;
use crate::transfer::event::Event;
use crate::transfer::progress::Reporter;
use crate::transfer::session::Summary;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a transfer that is complete ends with.
const COMPLETE: &str = "complete";

/// Takes note of transfers.
pub struct Log {
    reporter: Arc<Reporter>,
    sums: Mutex<Sums>,
}

#[derive(Default)]
struct Sums {
    open: usize,
    results: BTreeMap<&'static str, u64>,
    files: u64,
    bytes: u64,
    moved: u64,
    /// When the last transfer of each sender was complete, in seconds since 1970.
    last: BTreeMap<String, u64>,
}

/// A transfer that is open.
pub struct Open<'a> {
    log: &'a Log,
    sender: SenderId,
}

impl Log {
    /// One of which nothing is in it.
    pub fn new(reporter: Arc<Reporter>) -> Self {
        Self { reporter, sums: Mutex::default() }
    }

    /// Where it is shown.
    pub fn reporter(&self) -> &Arc<Reporter> {
        &self.reporter
    }

    /// A transfer of this sender is open from now on.
    pub fn begin(&self, sender: SenderId) -> Open<'_> {
        self.sums().open += 1;
        Open { log: self, sender }
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sums for Prometheus.
    pub fn page(&self) -> String {
        let sums = self.sums();
        let mut page = Page::new("pcc_recv");
        page.add_one("open_transfers", "gauge", "Transfers that are under way or wait for their sender", sums.open);
        let results = sums.results.iter().map(|(result, count)| (vec![("result", (*result).to_owned())], *count));
        page.add("transfers_total", "counter", "Transfers that were over, by how they ended", results);
        page.add_one("files_total", "counter", "Files of complete transfers", sums.files);
        page.add_one("bytes_total", "counter", "Bytes of these files", sums.bytes);
        page.add_one("moved_bytes_total", "counter", "Bytes of these that were not there before", sums.moved);
        let refusals = self.reporter.refusals();
        page.add_one("refused_total", "counter", "Attempts to connect that were turned away", refusals);
        let last = sums.last.iter().map(|(sender, seconds)| (vec![("sender", sender.clone())], *seconds));
        let meaning = "When the last transfer of a sender was complete, in seconds since 1970";
        page.add("last_completion_timestamp_seconds", "gauge", meaning, last);
        page.finish()
    }
}

impl Open<'_> {
    /// It is over, with this result. One of which nothing was begun leaves no line unless it failed.
    pub fn end(self, summary: Option<Summary>, result: &Result<()>) {
        let failure = result.as_ref().err();
        let name = failure.map_or(COMPLETE, |failure| failure.kind.name());
        let is_there = failure.is_none_or(|failure| failure.kind == Kind::Incomplete);
        let is_nothing = matches!(failure.map(|f| f.kind), Some(Kind::LostPeer | Kind::Interrupted) | None);
        let now = SystemTime::now();
        if summary.is_some() || !is_nothing {
            let (files, bytes) = summary.as_ref().map_or((0, 0), |summary| (summary.files, summary.bytes));
            let done = summary.as_ref().filter(|_| is_there);
            self.log.reporter.event(&Event::Transfer {
                date: httpdate::fmt_http_date(now),
                sender: self.sender.to_string(),
                result: name,
                files,
                bytes,
                there: done.map(|summary| summary.there),
                missing: summary.as_ref().map_or(0, |summary| summary.missing),
                moved: done.map(|summary| summary.moved),
                seconds: summary.as_ref().map_or(0.0, Summary::seconds),
                bits_per_second: done.map(Summary::bits_per_second),
                reason: failure.map(ToString::to_string),
            });
            let mut sums = self.log.sums();
            *sums.results.entry(name).or_default() += 1;
            if let Some(summary) = done.filter(|_| failure.is_none()) {
                sums.files += summary.files as u64;
                sums.bytes += summary.bytes;
                sums.moved += summary.moved;
                let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                sums.last.insert(self.sender.to_string(), seconds);
            }
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.log.sums().open -= 1;
    }
}
