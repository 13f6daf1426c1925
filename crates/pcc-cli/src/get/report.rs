//! What the user sees: a progress bar on a terminal, plain lines elsewhere, JSON lines for scripts.

use crate::failure::Failure;
use crate::output::{json_lines, tell};
use crate::progress::{Look, Progress, Rates, rate};
use indicatif::HumanBytes;
use serde::Serialize;
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
    /// A server is there, and is the right one.
    Connected { peer: String },
    /// The file is on its way; so much of it was there already.
    Start { bytes: Option<u64>, have: u64 },
    /// How far it is: `there` bytes are there.
    Progress { there: u64, total: Option<u64>, bits_per_second: f64, rtt_ms: f64 },
    /// The connection is gone, and a new one is tried.
    Lost { reason: &'a str, retry_ms: u64 },
    /// The file is complete; `verified` if it matches a digest that the server sent.
    Done { file: String, bytes: u64, moved: u64, seconds: f64, bits_per_second: f64, verified: bool },
    /// The download has failed.
    Error { kind: &'static str, code: u8, message: &'a str },
}

/// Shows events to the user, as text or as JSON.
pub struct Reporter {
    json: bool,
    bar: Progress,
    rates: Rates,
}

impl Reporter {
    /// For a terminal, for a log, or for a script.
    pub fn new(json: bool) -> Reporter {
        Reporter { json, bar: Progress::new(&LOOK, 0, PLAIN_INTERVAL), rates: Rates::default() }
    }

    /// Reports an event.
    pub fn event(&self, event: &Event<'_>) {
        if self.json {
            // A script that stopped reading is no reason to stop the download. What ends it is said somewhere.
            if let Ok(line) = json_lines([event])
                && !tell(&line)
                && let Event::Error { message, .. } = event
            {
                self.bar.line(&format!("error: {message}"));
            }
            return;
        }
        match event {
            Event::Connected { peer } => self.bar.line(&format!("connected to {peer}")),
            Event::Start { bytes, have } => {
                let size = bytes.map_or("of unknown size".to_owned(), |bytes| HumanBytes(bytes).to_string());
                let there =
                    if *have > 0 { format!(", {} of it there already", HumanBytes(*have)) } else { String::new() };
                self.bar.line(&format!("{size}{there}"));
            }
            Event::Progress { there, total, bits_per_second, rtt_ms } => {
                let message = format!("{}, RTT {rtt_ms:.1} ms", rate(*bits_per_second));
                self.bar.set_length(total.unwrap_or(*there));
                self.bar.show(*there, &message, || {
                    let of = total.map_or(String::new(), |total| format!(" of {}", HumanBytes(total)));
                    format!("{}{of}, {message}", HumanBytes(*there))
                });
            }
            Event::Lost { reason, retry_ms } => {
                self.bar.line(&format!("{reason}; trying again in {:.1} s", *retry_ms as f64 / 1000.0));
            }
            Event::Done { file, bytes, seconds, bits_per_second, verified, .. } => {
                self.bar.clear();
                let check = if *verified { "verified" } else { "not verified: the server sent no digest" };
                let (bytes, rate) = (HumanBytes(*bytes), rate(*bits_per_second));
                self.bar.line(&format!("done: {file}, {bytes} in {seconds:.1} s ({rate}), {check}"));
            }
            Event::Error { message, .. } => {
                self.bar.clear();
                self.bar.line(&format!("error: {message}"));
            }
        }
    }

    /// Reports how far it is.
    pub fn progress(&self, there: u64, total: Option<u64>, rtt: Duration) {
        let (bits_per_second, rtt_ms) = (self.rates.of_late(there), rtt.as_secs_f64() * 1e3);
        self.event(&Event::Progress { there, total, bits_per_second, rtt_ms });
    }

    /// Reports how this command failed.
    pub fn failure(&self, failure: &Failure) {
        let (kind, code) = (failure.kind.name(), failure.kind.code());
        self.event(&Event::Error { kind, code, message: &failure.message });
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
