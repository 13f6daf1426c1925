//! What the user sees: a progress bar on a terminal, plain lines elsewhere, JSON lines for scripts.

use crate::failure::Failure;
use crate::output::{json_lines, show, write};
use crate::progress::{Look, Progress, Rates, rate};
use indicatif::HumanBytes;
use serde::Serialize;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Duration;

/// How often progress is reported.
pub const INTERVAL: Duration = Duration::from_millis(200);
/// How often a plain line is written when there is no terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);
const LOOK: Look = Look { template: "{bar:30} {bytes}/{total_bytes} {msg} ETA {eta}", chars: "█░" };

/// Everything that is reported. With `--json`, one line each.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// Something that would be sent.
    Entry { path: String, kind: &'static str, size: u64 },
    /// The receiver is ready.
    Ticket { ticket: &'a str, addresses: &'a [SocketAddr], resuming: bool },
    /// Blocks of an earlier attempt are hashed again.
    Checking { bytes: u64, total: u64 },
    /// The receiver's user is asked for this code; `sender` is by what `--from` knows this sender.
    Confirm { code: &'a str, sender: &'a str },
    /// The user is asked for the code that this sender shows.
    Ask { peer: String },
    /// The other side is connected and authenticated.
    Connected { peer: String },
    /// Both sides know what is to be sent, and what is there already.
    Start { files: usize, bytes: u64, have: u64 },
    /// How far it is: `stored` bytes are verified and written at the receiver.
    Progress(Snapshot),
    /// The receiver turned someone away.
    Refused { peer: String, kind: &'static str, reason: String },
    /// The connection is gone; the other side may come back.
    Lost { reason: String, retry_ms: Option<u64> },
    /// Something the user should know.
    Note { message: &'a str },
    /// The transfer is complete.
    Done { files: usize, bytes: u64, moved: u64, seconds: f64, bits_per_second: f64 },
    /// The transfer has failed.
    Error { kind: &'static str, code: u8, message: &'a str },
}

/// How far a transfer is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Bytes verified and written at the receiver.
    pub stored: u64,
    /// Bytes of all files.
    pub total: u64,
    /// The rate of the last seconds in bit/s.
    pub bits_per_second: f64,
    /// The smoothed round-trip time.
    pub rtt_ms: f64,
    /// Packets lost, as a share of those sent. Only the sender knows.
    pub loss: f64,
}

/// Shows events to the user, as text or as JSON.
pub struct Reporter {
    json: bool,
    progress: Progress,
    rates: Rates,
}

impl Reporter {
    /// For a terminal, for a log, or for a script.
    pub fn new(json: bool) -> Self {
        Self { json, progress: Progress::new(&LOOK, 0, PLAIN_INTERVAL), rates: Rates::default() }
    }

    /// Reports an event.
    pub fn event(&self, event: &Event<'_>) {
        if self.json {
            if let Ok(line) = json_lines([event]) {
                // A script that stopped reading is no reason to stop the transfer.
                let _ = show(&line);
            }
            return;
        }
        match event {
            Event::Ticket { resuming, .. } => {
                let what = if *resuming { "Taking up an unfinished transfer. " } else { "" };
                self.progress
                    .line(&format!("{what}On the other machine: pcc send PATH..., which asks for this ticket:"));
            }
            Event::Checking { bytes, total } => {
                self.show("checking what is there", &Snapshot { stored: *bytes, total: *total, ..Snapshot::default() });
            }
            Event::Entry { path, .. } => {
                // Whoever stopped reading has seen enough.
                let _ = show(&format!("{path}\n"));
            }
            Event::Confirm { code, .. } => {
                self.progress
                    .line(&format!("code {code}: the receiver's user is asked for it; tell them, but nobody else"));
            }
            Event::Ask { peer } => {
                self.progress
                    .line(&format!("{peer} has the ticket; type the code that pcc send shows there, and Enter:"));
            }
            Event::Connected { peer } => self.progress.line(&format!("connected to {peer}")),
            Event::Start { files, bytes, have } => {
                let there =
                    if *have > 0 { format!(", {} of it there already", HumanBytes(*have)) } else { String::new() };
                self.progress.line(&format!("{files} files, {}{there}", HumanBytes(*bytes)));
            }
            Event::Progress(snapshot) => {
                let loss =
                    if snapshot.loss > 0.0 { format!(", loss {:.2} %", snapshot.loss * 100.0) } else { String::new() };
                let path = format!("{}, RTT {:.1} ms{loss}", rate(snapshot.bits_per_second), snapshot.rtt_ms);
                self.show(&path, snapshot);
            }
            Event::Refused { peer, reason, .. } => self.progress.line(&format!("refused {peer}: {reason}")),
            Event::Lost { reason, retry_ms } => {
                let next = match retry_ms {
                    Some(ms) => format!("trying again in {:.1} s", *ms as f64 / 1000.0),
                    None => "waiting for it to come back".to_owned(),
                };
                self.progress.line(&format!("{reason}; {next}"));
            }
            Event::Note { message } => self.progress.line(message),
            Event::Done { files, bytes, seconds, bits_per_second, .. } => {
                self.progress.clear();
                self.progress.line(&format!(
                    "done: {files} files, {} in {seconds:.1} s ({}), all verified as they were read",
                    HumanBytes(*bytes),
                    rate(*bits_per_second)
                ));
            }
            Event::Error { message, .. } => {
                self.progress.clear();
                self.progress.line(&format!("error: {message}"));
            }
        }
    }

    /// Prints the ticket. Unlike other output it is needed: without it nobody can send.
    pub fn ticket(&self, ticket: &str, addresses: &[SocketAddr], resuming: bool) -> io::Result<()> {
        let event = Event::Ticket { ticket, addresses, resuming };
        let line = if self.json {
            json_lines([&event])?
        } else {
            self.event(&event);
            format!("{ticket}\n")
        };
        match write(&line)? {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(io::ErrorKind::BrokenPipe.into()),
        }
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

    fn show(&self, message: &str, snapshot: &Snapshot) {
        let Snapshot { stored, total, .. } = *snapshot;
        self.progress.set_length(total);
        self.progress.show(stored, message, || format!("{} of {}, {message}", HumanBytes(stored), HumanBytes(total)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_is_valid() {
        assert!(LOOK.is_valid());
    }
}
