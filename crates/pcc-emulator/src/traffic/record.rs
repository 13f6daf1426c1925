//! What is known of a flow.

use super::group::{TrafficFlow, TrafficReport};
use pcc_lab::controller::EventLog;
use pcc_lab::sim::BIN;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The report of a flow as it grows; both sides write into it.
#[derive(Debug, Default)]
pub(super) struct Record(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    report: TrafficReport,
    /// Logs of controllers, and when after the origin their time began.
    logs: Vec<(Duration, EventLog)>,
    /// Whether the run is over.
    closed: bool,
}

impl Record {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The flow has ended because of this. The first reason stays.
    pub fn fail(&self, reason: impl ToString) {
        let mut state = self.state();
        if !state.closed {
            state.report.error.get_or_insert_with(|| reason.to_string());
        }
    }

    /// The run is over: what ends from now on hasn't failed.
    pub fn close(&self) {
        self.state().closed = true;
    }

    /// The receiver says that it got this many bytes.
    pub fn set_payload(&self, bytes: u64) {
        self.state().report.payload_bytes = Some(bytes);
    }

    /// A controller whose time began at `began` after the origin writes into this log.
    pub fn add_log(&self, began: Duration, log: EventLog) {
        self.state().logs.push((began, log));
    }

    /// Takes the report out.
    pub fn take(&self) -> TrafficReport {
        let mut state = self.state();
        let logs = std::mem::take(&mut state.logs);
        let events = logs.iter().flat_map(|(began, log)| log.take().into_iter().map(|event| event.shifted(*began)));
        TrafficReport { events: events.collect(), ..std::mem::take(&mut state.report) }
    }
}

/// Counts what a receiver gets.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    record: Arc<Record>,
    origin: Instant,
    start: Duration,
    /// The size of a transfer in bytes; `None` if there is no end.
    whole: Option<u64>,
}

impl Meter {
    pub fn new(record: Arc<Record>, origin: Instant, flow: &TrafficFlow) -> Meter {
        let whole = match flow.app {
            pcc_lab::sim::App::Transfer { bytes } => Some(bytes),
            _ => None,
        };
        record.state().report.payload_bytes = Some(0);
        Meter { record, origin, start: flow.start, whole }
    }

    /// Counts bytes that have arrived now.
    pub fn add(&self, bytes: u64) {
        let now = self.origin.elapsed();
        let report = &mut self.record.state().report;
        let total = report.payload_bytes.get_or_insert_default();
        *total += bytes;
        if self.whole.is_some_and(|whole| *total >= whole) {
            report.completed.get_or_insert(now.saturating_sub(self.start));
        }
        let bin = (now.as_nanos() / BIN.as_nanos()) as usize;
        if report.payload_bins.len() <= bin {
            report.payload_bins.resize(bin + 1, 0);
        }
        if let Some(in_bin) = report.payload_bins.get_mut(bin) {
            *in_bin += bytes;
        }
    }
}
