//! What happens in a transfer, as people and scripts are told of it.

use super::walk::LeftOut;
use crate::failure::printable;
use crate::progress::rate;
use indicatif::HumanBytes;
use serde::Serialize;
use std::borrow::Cow;
use std::net::SocketAddr;

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

    /// For people: a line, or two. How far a transfer is changes too often for that, and has none.
    pub fn text(&self) -> Option<String> {
        Some(match self {
            Event::Checking { .. } | Event::Progress(_) => return None,
            Event::Entry { name, kind, size } => {
                let size = if *kind == "file" { HumanBytes(*size).to_string() } else { (*kind).to_owned() };
                format!("{size:>11}  {}", name.shown())
            }
            Event::LeftOut { name, reason } => format!("\"{}\" is left out: {reason}", name.shown()),
            Event::Total { files, bytes } => format!("{}, {}", counted(*files), HumanBytes(*bytes)),
            Event::Ticket { resuming, .. } => {
                let what = if *resuming { "Taking up an unfinished transfer. " } else { "" };
                format!("{what}On the other machine: pcc send PATH..., which asks for this ticket:")
            }
            Event::TicketFile { file, .. } => {
                format!("the ticket is in {file}; on the other machine: pcc send --ticket-file COPY PATH...")
            }
            Event::Confirm { code, sender } => format!(
                "code {code}: the receiver's user is asked for it; tell them, but nobody else\n\
                 (for a receiver that takes what this sender sends without asking: --from {sender})"
            ),
            Event::Ask { peer } => {
                format!("{peer} has the ticket; type the code that pcc send shows there, and Enter:")
            }
            Event::Connected { peer } => format!("connected to {peer}"),
            Event::Start { files, bytes, have } => {
                let there =
                    if *have > 0 { format!(", {} of it there already", HumanBytes(*have)) } else { String::new() };
                format!("{}, {}{there}", counted(*files), HumanBytes(*bytes))
            }
            Event::Refused { peer, reason, .. } => format!("refused {peer}: {reason}"),
            Event::Lost { reason, retry_ms: None } => format!("{reason}; waiting for it to come back"),
            Event::Lost { reason, retry_ms: Some(ms) } => {
                format!("{reason}; trying again in {:.1} s", *ms as f64 / 1000.0)
            }
            Event::Note { message } => (*message).to_owned(),
            Event::Done { files, bytes, there, missing, moved, seconds, bits_per_second } => {
                let of_it = of_it(*bytes, Some(*there), *missing, Some(*moved));
                let (files, rate) = (counted(*files), rate(*bits_per_second));
                format!("done: {files}, {of_it} in {seconds:.1} s ({rate}), all verified as they were read")
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
                let (files, of_it) = (counted(*files), of_it(*bytes, *there, *missing, *moved));
                let at = bits_per_second.map_or(String::new(), |bits| format!(" ({})", rate(bits)));
                let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
                format!("{date} {sender} {result}: {files}, {of_it} in {seconds:.1} s{at}{why}")
            }
            Event::Listening { kind, address } => format!("{kind}: listening on {address}"),
            Event::Error { message, .. } => format!("error: {message}"),
        })
    }
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

impl Snapshot {
    /// How the path does, for people.
    pub fn path(&self) -> String {
        let loss = if self.loss > 0.0 { format!(", loss {:.2} %", self.loss * 100.0) } else { String::new() };
        format!("{}, RTT {:.1} ms{loss}", rate(self.bits_per_second), self.rtt_ms)
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

    fn text(event: &Event<'_>) -> String {
        event.text().expect("a text")
    }

    #[test]
    fn only_how_far_it_is_has_no_text() {
        assert_eq!(Event::Progress(Snapshot::default()).text(), None);
        assert_eq!(Event::Checking { bytes: 1, total: 2 }.text(), None);
        let path = Snapshot { rtt_ms: 20.0, loss: 0.015, ..Snapshot::default() }.path();
        assert!(path.ends_with(", RTT 20.0 ms, loss 1.50 %"), "{path}");
        assert!(Snapshot::default().path().ends_with(", RTT 0.0 ms"));
    }

    #[test]
    fn what_is_sent_is_a_table() {
        let entry = |path, kind, size| text(&Event::Entry { name: Name::of(path), kind, size });
        assert_eq!(entry(b"a", "file", 2048), "   2.00 KiB  a");
        assert_eq!(entry(b"b\n", "folder", 0), "     folder  b\\u{a}", "a name is never two lines");
    }

    #[test]
    fn a_sender_is_asked_for_in_two_lines() {
        let asked = text(&Event::Confirm { code: "123-456", sender: "pccsme" });
        let [code, from] = asked.lines().collect::<Vec<_>>()[..] else { panic!("{asked}") };
        assert!(code.starts_with("code 123-456: ") && from.ends_with("--from pccsme)"), "{asked}");
    }

    #[test]
    fn a_lost_peer_is_tried_again_or_waited_for() {
        let lost = |retry_ms| text(&Event::Lost { reason: "gone".to_owned(), retry_ms });
        assert_eq!(lost(Some(1500)), "gone; trying again in 1.5 s");
        assert_eq!(lost(None), "gone; waiting for it to come back");
    }

    #[test]
    fn the_end_says_how_much_it_was() {
        let (files, bytes, bits_per_second) = (2, 2048, 8000.0);
        let done = Event::Done { files, bytes, there: 1, missing: 0, moved: bytes, seconds: 2.0, bits_per_second };
        let done = text(&done);
        assert!(done.starts_with("done: 2 files, 2.00 KiB, 1 of them there already in 2.0 s ("), "{done}");
        let left = Event::Transfer {
            date: "now".to_owned(),
            sender: "me".to_owned(),
            result: "left",
            files,
            bytes,
            there: None,
            missing: 1,
            moved: None,
            seconds: 2.0,
            bits_per_second: None,
            reason: Some("gone".to_owned()),
        };
        assert_eq!(text(&left), "now me left: 2 files, 2.00 KiB, 1 missing in 2.0 s: gone");
    }

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
}
