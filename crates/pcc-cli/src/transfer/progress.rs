//! What the user sees: a progress bar on a terminal, plain lines elsewhere, JSON lines for scripts.

use super::walk::LeftOut;
use crate::failure::{Context, Failure, Kind, Result, printable};
use crate::output::{hand_over, json_lines, leads_nowhere, show, write_secret};
use crate::peer::endpoint::shown;
use crate::progress::{Look, Progress, Rates, rate};
use indicatif::HumanBytes;
use serde::Serialize;
use std::borrow::Cow;
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

/// Everything that is reported. With `--json`, one line each.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// Something that would be sent.
    Entry {
        #[serde(flatten)]
        name: Name<'a>,
        kind: &'static str,
        size: u64,
    },
    /// Something below a named folder that is not sent.
    LeftOut {
        #[serde(flatten)]
        name: Name<'a>,
        reason: &'a str,
    },
    /// How much would be sent.
    Total { files: usize, bytes: u64 },
    /// The receiver is ready.
    Ticket { ticket: &'a str, addresses: &'a [SocketAddr], resuming: bool },
    /// The same, with the ticket in a file.
    TicketFile { file: String, addresses: &'a [SocketAddr] },
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
    Done {
        /// Files that have arrived, or were there already.
        files: usize,
        bytes: u64,
        /// Files that were there already.
        there: usize,
        /// Files that have not arrived, and what the sender left out, as far as this side knows of it.
        missing: usize,
        /// Bytes that came over the network.
        moved: u64,
        seconds: f64,
        bits_per_second: f64,
    },
    /// A transfer of `pcc recv --keep` is over: complete, or left as it is. What came over the network, and how fast, is
    /// known of those that are complete.
    Transfer {
        date: String,
        sender: String,
        result: &'static str,
        files: usize,
        bytes: u64,
        there: Option<usize>,
        missing: usize,
        moved: Option<u64>,
        seconds: f64,
        bits_per_second: Option<f64>,
        reason: Option<String>,
    },
    /// Programs can connect here.
    Listening { kind: &'static str, address: SocketAddr },
    /// The transfer has failed.
    Error { kind: &'static str, code: u8, message: &'a str },
}

/// A path for JSON, which has only Unicode. One that is not gets its bytes too, in base64.
#[derive(Serialize)]
pub struct Name<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

impl Name<'_> {
    /// Of this path.
    pub fn of(path: &[u8]) -> Name<'_> {
        let is_text = std::str::from_utf8(path).is_ok();
        let path_bytes = (!is_text).then(|| data_encoding::BASE64.encode(path));
        Name { path: String::from_utf8_lossy(path), path_bytes }
    }

    fn shown(&self) -> String {
        printable(self.path.as_bytes())
    }
}

impl Event<'_> {
    /// That something is left out.
    pub fn left_out(left_out: &LeftOut) -> Event<'_> {
        Event::LeftOut { name: Name::of(&left_out.path), reason: &left_out.why.reason }
    }
}

/// What is said, and of which of several receivers.
#[derive(Serialize)]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver: Option<&'a str>,
    #[serde(flatten)]
    event: &'a Event<'a>,
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
            if let Ok(line) = json_lines([Said { receiver: self.receiver.as_deref(), event }]) {
                // A script that stopped reading is no reason to stop the transfer. What ends it is said somewhere.
                let shown = show(&line);
                if let Event::Error { message, .. } = event
                    && (shown.is_err() || leads_nowhere())
                {
                    self.line(&format!("error: {message}"));
                }
            }
            return;
        }
        match event {
            Event::Ticket { resuming, .. } => {
                let what = if *resuming { "Taking up an unfinished transfer. " } else { "" };
                self.line(&format!("{what}On the other machine: pcc send PATH..., which asks for this ticket:"));
            }
            Event::TicketFile { file, .. } => {
                self.line(&format!(
                    "the ticket is in {file}; on the other machine: pcc send --ticket-file COPY PATH..."
                ));
            }
            Event::Checking { bytes, total } => {
                self.show("checking what is there", &Snapshot { stored: *bytes, total: *total, ..Snapshot::default() });
            }
            Event::Entry { name, kind, size } => {
                let size = if *kind == "file" { HumanBytes(*size).to_string() } else { (*kind).to_owned() };
                // Whoever stopped reading has seen enough.
                let _ = show(&format!("{size:>11}  {}\n", name.shown()));
            }
            Event::LeftOut { name, reason } => self.line(&format!("\"{}\" is left out: {reason}", name.shown())),
            Event::Total { files, bytes } => self.line(&format!("{}, {}", counted(*files), HumanBytes(*bytes))),
            Event::Confirm { code, sender } => {
                self.line(&format!("code {code}: the receiver's user is asked for it; tell them, but nobody else"));
                self.line(&format!(
                    "(for a receiver that takes what this sender sends without asking: --from {sender})"
                ));
            }
            Event::Ask { peer } => {
                self.line(&format!("{peer} has the ticket; type the code that pcc send shows there, and Enter:"));
            }
            Event::Connected { peer } => self.line(&format!("connected to {peer}")),
            Event::Start { files, bytes, have } => {
                let there =
                    if *have > 0 { format!(", {} of it there already", HumanBytes(*have)) } else { String::new() };
                self.line(&format!("{}, {}{there}", counted(*files), HumanBytes(*bytes)));
            }
            Event::Progress(snapshot) => {
                let loss =
                    if snapshot.loss > 0.0 { format!(", loss {:.2} %", snapshot.loss * 100.0) } else { String::new() };
                let path = format!("{}, RTT {:.1} ms{loss}", rate(snapshot.bits_per_second), snapshot.rtt_ms);
                self.show(&path, snapshot);
            }
            Event::Refused { peer, reason, .. } => self.line(&format!("refused {peer}: {reason}")),
            Event::Lost { reason, retry_ms } => {
                let next = match retry_ms {
                    Some(ms) => format!("trying again in {:.1} s", *ms as f64 / 1000.0),
                    None => "waiting for it to come back".to_owned(),
                };
                self.line(&format!("{reason}; {next}"));
            }
            Event::Note { message } => self.line(message),
            Event::Done { files, bytes, there, missing, moved, seconds, bits_per_second } => {
                self.progress.clear();
                let of_it = of_it(*bytes, Some(*there), *missing, Some(*moved));
                let rate = rate(*bits_per_second);
                self.line(&format!(
                    "done: {}, {of_it} in {seconds:.1} s ({rate}), all verified as they were read",
                    counted(*files)
                ));
            }
            Event::Transfer {
                date,
                sender,
                result,
                files,
                bytes,
                there,
                missing,
                moved,
                seconds,
                bits_per_second,
                reason,
            } => {
                let of_it = of_it(*bytes, *there, *missing, *moved);
                let at = bits_per_second.map_or(String::new(), |bits| format!(" ({})", rate(bits)));
                let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
                let files = counted(*files);
                let line = format!("{date} {sender} {result}: {files}, {of_it} in {seconds:.1} s{at}{why}");
                self.line(&line);
            }
            Event::Listening { kind, address } => self.line(&format!("{kind}: listening on {address}")),
            Event::Error { message, .. } => {
                self.progress.clear();
                self.line(&format!("error: {message}"));
            }
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

/// So many files.
fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

/// How much it was, and what became of it, as far as that is known.
fn of_it(bytes: u64, there: Option<usize>, missing: usize, moved: Option<u64>) -> String {
    let mut text = HumanBytes(bytes).to_string();
    if let Some(there) = there.filter(|there| *there > 0) {
        text += &format!(", {there} of them there already");
    }
    if let Some(moved) = moved.filter(|moved| *moved != bytes) {
        text += &format!(", {} of it moved", HumanBytes(moved));
    }
    if missing > 0 {
        text += &format!(", {missing} missing");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_what_is_not_plain() {
        assert_eq!(of_it(2048, Some(0), 0, Some(2048)), "2.00 KiB");
        let all = of_it(4096, Some(3), 2, Some(2048));
        assert_eq!(all, "4.00 KiB, 3 of them there already, 2.00 KiB of it moved, 2 missing");
        assert_eq!(of_it(4096, None, 0, None), "4.00 KiB");
    }

    #[test]
    fn one_file_is_no_files() {
        assert_eq!([0, 1, 2].map(counted), ["0 files", "1 file", "2 files"]);
    }

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
