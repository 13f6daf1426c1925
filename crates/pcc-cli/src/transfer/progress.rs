//! What the user sees: a progress bar on a terminal, plain lines elsewhere, JSON lines for scripts.

use super::event::{Event, Snapshot};
use crate::failure::{Context, Failure, Kind, Result};
use crate::output::{hand_over, json_lines, leads_nowhere, show, tell, write_secret};
use crate::peer::endpoint::shown;
use crate::progress::{Look, Progress, Rates};
use indicatif::HumanBytes;
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often progress is reported.
pub const INTERVAL: Duration = Duration::from_millis(200);
/// How often a plain line is written when there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);
const LOOK: Look = Look { template: "{bar:30} {bytes}/{total_bytes} {msg} ETA {eta}", chars: "█░" };

/// What is said, and of which of several receivers.
#[derive(Serialize)]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver: Option<&'a str>,
    #[serde(flatten)]
    event: &'a Event<'a>,
}

/// Shows events to the user, as text or as JSON.
pub struct Reporter {
    json: bool,
    /// Whether it reports on several transfers, of which only the ends matter.
    is_log: bool,
    /// What the receiver is called, if it is one of several.
    receiver: Option<String>,
    refused: AtomicU64,
    unreported: Arc<AtomicU64>,
    progress: Progress,
    rates: Rates,
}

impl Reporter {
    /// For a terminal, for a log, or for a script.
    pub fn new(json: bool) -> Self {
        let progress = Progress::new(&LOOK, 0, PLAIN_INTERVAL);
        let (refused, unreported) = (AtomicU64::new(0), Arc::default());
        Self { json, is_log: false, receiver: None, refused, unreported, progress, rates: Rates::default() }
    }

    /// For what goes to one of several receivers at the same time.
    pub fn of_one(json: bool, receiver: String) -> Self {
        Self { receiver: Some(receiver), progress: Progress::of_lines(PLAIN_INTERVAL), ..Self::new(json) }
    }

    /// For a log of many transfers.
    pub fn log(json: bool) -> Self {
        Self { is_log: true, ..Self::new(json) }
    }

    /// Reports an event.
    pub fn event(&self, event: &Event<'_>) {
        if self.is_log
            && let Event::Connected { .. } | Event::Checking { .. } | Event::Start { .. } | Event::Progress(_) = event
        {
            return;
        }
        if self.json {
            return self.json(event);
        }
        match event {
            Event::Checking { bytes, total } => {
                self.show("checking what is there", &Snapshot { stored: *bytes, total: *total, ..Snapshot::default() });
            }
            Event::Progress(snapshot) => self.show(&snapshot.path(), snapshot),
            Event::Done { .. } | Event::Error { .. } => self.progress.clear(),
            _ => {}
        }
        if let Some(text) = event.text() {
            text.lines().for_each(|line| self.line(line));
        }
    }

    /// Reports an event that is the result of the command: what of it belongs on standard output must get there, unless nobody
    /// reads it any more.
    pub fn result(&self, event: &Event<'_>) -> Result<()> {
        let written = match event.text() {
            _ if self.json => json_lines([event]).map_err(io::Error::from).and_then(|line| show(&line)),
            Some(text) if matches!(event, Event::Entry { .. }) => show(&format!("{text}\n")),
            _ => {
                self.event(event);
                Ok(())
            }
        };
        written.map_err(|e| Failure::new(Kind::Other, format!("cannot print the list: {e}")))
    }

    fn json(&self, event: &Event<'_>) {
        let Ok(line) = json_lines([Said { receiver: self.receiver.as_deref(), event }]) else { return };
        // A script that stopped reading is no reason to stop the transfer. What ends it is said somewhere.
        let is_told = tell(&line);
        if let (Event::Error { .. }, Some(text)) = (event, event.text())
            && (!is_told || leads_nowhere())
        {
            self.line(&text);
        }
    }

    /// Reports that somebody was turned away.
    pub fn refused(&self, address: SocketAddr, failure: &Failure) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let (kind, reason) = (failure.kind.name(), failure.message.clone());
        self.event(&Event::Refused { peer: shown(address), kind, reason });
    }

    /// Where those are counted of whom the door doesn't report each.
    pub fn unreported(&self) -> Arc<AtomicU64> {
        self.unreported.clone()
    }

    /// How many were turned away.
    pub fn refusals(&self) -> u64 {
        self.refused.load(Ordering::Relaxed) + self.unreported.load(Ordering::Relaxed)
    }

    /// Prints the ticket. Unlike other output it is needed: without it nobody can send.
    pub fn ticket(&self, ticket: &str, addresses: &[SocketAddr], resuming: bool) -> Result<()> {
        // One that an earlier start has printed may be known.
        let is_new = !resuming && !self.is_log;
        let printed = self.print_ticket(&Event::Ticket { ticket, addresses, resuming }, ticket, is_new);
        printed.map_err(|e| {
            Failure::new(Kind::Other, format!("cannot print the ticket, without which nobody can send: {e}"))
        })
    }

    /// Writes the ticket into a file, and nowhere else.
    pub fn ticket_into(&self, file: &Path, ticket: &str, addresses: &[SocketAddr]) -> Result<()> {
        let written = write_secret(file, &format!("{ticket}\n"));
        written.doing(|| format!("write the ticket into {}", file.display()))?;
        self.event(&Event::TicketFile { file: file.display().to_string(), addresses });
        Ok(())
    }

    fn print_ticket(&self, event: &Event<'_>, ticket: &str, is_new: bool) -> io::Result<()> {
        if self.json {
            return hand_over(&json_lines([event])?, is_new);
        }
        self.event(event);
        hand_over(&format!("{ticket}\n"), is_new)
    }

    /// Reports how this command failed.
    pub fn failure(&self, failure: &Failure) {
        let (kind, code) = (failure.kind.name(), failure.kind.code());
        self.event(&Event::Error { kind, code, message: &failure.message });
    }

    /// The rate of late, given how much is there now.
    pub fn rate(&self, stored: u64) -> f64 {
        self.rates.of_late(stored)
    }

    fn line(&self, text: &str) {
        match &self.receiver {
            Some(receiver) => self.progress.line(&format!("{receiver}: {text}")),
            None => self.progress.line(text),
        }
    }

    fn show(&self, message: &str, snapshot: &Snapshot) {
        let Snapshot { stored, total, .. } = *snapshot;
        self.progress.set_length(total);
        let of = self.receiver.as_ref().map_or(String::new(), |receiver| format!("{receiver}: "));
        let line = || format!("{of}{} of {}, {message}", HumanBytes(stored), HumanBytes(total));
        self.progress.show(stored, message, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::event::Name;

    #[test]
    fn names_that_are_no_text_are_exact() {
        let said = |path: &[u8]| {
            let event = Event::LeftOut { name: Name::of(path), reason: "why" };
            serde_json::to_value(Said { receiver: None, event: &event }).unwrap()
        };
        let wanted = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(said("für".as_bytes()), wanted(r#"{"event": "left-out", "path": "für", "reason": "why"}"#));
        let odd = r#"{"event": "left-out", "path": "a\ufffd", "path_bytes": "Yf8=", "reason": "why"}"#;
        assert_eq!(said(b"a\xff"), wanted(odd));
    }

    #[test]
    fn the_look_is_valid() {
        assert!(LOOK.is_valid());
    }
}
