//! What the user sees: lines on standard error, or JSON lines on standard output.

use super::counters::Counters;
use super::outcome::{Carried, End};
use super::target::Target;
use crate::failure::Failure;
use crate::output::{hand_over, json_lines, leads_nowhere, show, write_secret};
use indicatif::HumanBytes;
use serde::Serialize;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

/// Everything that is reported. With `--json`, one line each.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// The far side is ready.
    Ticket { ticket: &'a str, addresses: &'a [SocketAddr] },
    /// The same, with the ticket in a file.
    TicketFile { file: String, addresses: &'a [SocketAddr] },
    /// Programs can connect here.
    Listening { kind: &'static str, address: SocketAddr },
    /// The other side is connected and authenticated: the connection of this name in `pcc proxy status`.
    Connected { peer: String, id: String },
    /// The connection to the other side is gone.
    Lost { peer: String, reason: String },
    /// There is no connection to the other side, and another try follows.
    Retry { reason: String, retry_ms: u64 },
    /// Somebody without the ticket, or too many, were turned away.
    Refused { peer: String, kind: &'static str, reason: String },
    /// A program got no tunnel or flow.
    Denied { from: String, target: Option<String>, reason: String },
    /// A tunnel has ended, or a flow, which also has a number of dropped datagrams.
    Closed { from: String, target: String, up: u64, down: u64, dropped: Option<u64>, seconds: f64, end: End },
    /// A UDP association has ended. So many of its datagrams belonged to no flow: fragments, and what makes no sense.
    Disassociated { from: String, dropped: u64 },
    /// Nothing new is begun; so many tunnels are still open.
    Draining { open: usize },
    /// Something the user should know.
    Note { message: &'a str },
    /// This side has failed.
    Error { kind: &'static str, code: u8, message: &'a str },
}

/// Shows events to the user, as text or as JSON.
pub struct Reporter {
    json: bool,
    counters: Counters,
}

impl Reporter {
    /// For a person or a log, or for a script.
    pub fn new(json: bool) -> Reporter {
        Reporter { json, counters: Counters::default() }
    }

    /// What was reported so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Reports an event.
    pub fn event(&self, event: &Event<'_>) {
        match event {
            Event::Closed { end, dropped, .. } => self.counters.ended(*end, *dropped),
            Event::Disassociated { dropped, .. } => self.counters.dropped(*dropped),
            Event::Denied { .. } => self.counters.denied(),
            Event::Refused { .. } => self.counters.refused(),
            _ => {}
        }
        if self.json {
            if let Ok(line) = json_lines([event]) {
                // A script that stopped reading is no reason to stop. What ends it is said somewhere.
                let shown = show(&line);
                if matches!(event, Event::Error { .. }) && (shown.is_err() || leads_nowhere()) {
                    let _ = writeln!(io::stderr(), "{}", self::line(event));
                }
            }
        } else {
            // Nobody reads it.
            let _ = writeln!(io::stderr(), "{}", line(event));
        }
    }

    /// Writes the ticket into a file, and nowhere else.
    pub fn ticket_into(&self, file: &Path, ticket: &str, addresses: &[SocketAddr]) -> io::Result<()> {
        write_secret(file, &format!("{ticket}\n"))?;
        self.event(&Event::TicketFile { file: file.display().to_string(), addresses });
        Ok(())
    }

    /// Prints the ticket. Unlike other output it is needed: without it nobody can connect, unless it isn't new.
    pub fn ticket(&self, ticket: &str, addresses: &[SocketAddr], is_new: bool) -> io::Result<()> {
        let event = Event::Ticket { ticket, addresses };
        if self.json {
            return hand_over(&json_lines([&event])?, is_new);
        }
        self.event(&event);
        hand_over(&format!("{ticket}\n"), is_new)
    }

    /// Reports that a tunnel has ended, or a flow, which has a number of dropped datagrams.
    pub fn closed(
        &self,
        from: String,
        target: &Target,
        began: Instant,
        carried: &Carried,
        dropped: Option<u64>,
        end: End,
    ) {
        let (up, down) = carried.bytes();
        let seconds = began.elapsed().as_secs_f64();
        self.event(&Event::Closed { from, target: target.to_string(), up, down, dropped, seconds, end });
    }

    /// Reports how this command failed.
    pub fn failure(&self, failure: &Failure) {
        let (kind, code) = (failure.kind.name(), failure.kind.code());
        self.event(&Event::Error { kind, code, message: &failure.message });
    }
}

fn line(event: &Event<'_>) -> String {
    match event {
        Event::Ticket { .. } => {
            "On the other machine: pcc proxy connect or pcc proxy pipe, which ask for this ticket:".to_owned()
        }
        Event::TicketFile { file, .. } => {
            format!("the ticket is in {file}; on the other machine: pcc proxy connect --ticket-file COPY")
        }
        Event::Listening { kind, address } => format!("{kind}: listening on {address}"),
        Event::Connected { peer, id } => format!("connected to {peer}, connection {id}"),
        Event::Lost { peer, reason } => format!("lost {peer}: {reason}"),
        Event::Retry { reason, retry_ms } => format!("{reason}; trying again in {:.1} s", *retry_ms as f64 / 1000.0),
        Event::Refused { peer, reason, .. } => format!("refused {peer}: {reason}"),
        Event::Denied { from, target: Some(target), reason } => format!("{from} -> {target}: {reason}"),
        Event::Denied { from, target: None, reason } => format!("{from}: {reason}"),
        Event::Closed { from, target, up, down, dropped, seconds, end } => {
            let dropped = dropped.map_or(String::new(), |dropped| format!(", UDP, {dropped} dropped"));
            let end = match end {
                End::Closed => "closed",
                End::Reset => "reset",
                End::Lost => "lost with the connection",
                End::Idle => "idle",
            };
            let (up, down) = (HumanBytes(*up), HumanBytes(*down));
            format!("{from} -> {target}: {up} up, {down} down in {seconds:.1} s{dropped}, {end}")
        }
        Event::Disassociated { from, dropped } => {
            format!("{from}: its UDP association has ended, {dropped} datagrams dropped")
        }
        Event::Draining { open } => {
            format!("ending: nothing new is begun, {open} connections are still open; once more to cut them off")
        }
        Event::Note { message } => (*message).to_owned(),
        Event::Error { message, .. } => format!("error: {message}"),
    }
}
