//! What the user sees: the access log on standard output and all else on standard error; with `--json` all of it as JSON
//! lines on standard output.

use crate::failure::{Failure, printable};
use crate::output::{json_lines, show};
use http::request::Parts;
use http::{StatusCode, Version};
use serde::Serialize;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Everything that is reported. With `--json`, one line each.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// Clients can connect.
    Serving {
        folder: String,
        urls: &'a [String],
        /// The pin of the certificate's key.
        pin: String,
        self_signed: bool,
        /// The congestion controller of HTTP/3.
        controller: String,
        /// That of HTTP/1.1 and 2, if it can be known.
        tcp_controller: Option<String>,
    },
    /// A response has ended.
    Request(&'a Line),
    /// New connections get another certificate, with this pin.
    Reloaded { pin: String },
    /// Something the user should know.
    Note { message: &'a str },
    /// Nothing new is begun; so many connections are still open.
    Draining { open: usize },
    /// The command has failed.
    Error { kind: &'static str, code: u8, message: &'a str },
}

/// A response that has ended, for the log.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    peer: IpAddr,
    /// When the request came, as in HTTP.
    date: String,
    method: String,
    path: String,
    version: &'static str,
    status: u16,
    /// Bytes of content that were handed to the transport.
    bytes: u64,
    seconds: f64,
    /// Whether that was all.
    complete: bool,
}

/// Shows events to the user, as text or as JSON.
pub struct Reporter {
    json: bool,
}

impl Reporter {
    /// For a person or a log, or for a script.
    pub fn new(json: bool) -> Reporter {
        Reporter { json }
    }

    /// Reports an event. Whoever stopped reading is no reason to stop.
    pub fn event(&self, event: &Event<'_>) {
        if self.json {
            if let Ok(line) = json_lines([event]) {
                let _ = show(&line);
            }
        } else if let Event::Request(line) = event {
            let _ = show(&format!("{}\n", line.text()));
        } else {
            let _ = writeln!(io::stderr(), "{}", text(event));
        }
    }

    /// Reports how this command failed.
    pub fn failure(&self, failure: &Failure) {
        let (kind, code) = (failure.kind.name(), failure.kind.code());
        self.event(&Event::Error { kind, code, message: &failure.message });
    }
}

fn text(event: &Event<'_>) -> String {
    match event {
        Event::Serving { folder, urls, pin, self_signed, controller, tcp_controller } => {
            let tcp = tcp_controller.as_deref().unwrap_or("the system's own");
            let urls = urls.join(" ");
            let why = if *self_signed { "a certificate that nobody signed; " } else { "" };
            format!(
                "serving {folder} at {urls}\nHTTP/3 under {controller}, HTTP/1.1 and 2 under {tcp}\n{why}clients can know \
                this server by its key: pcc get --pin {pin}"
            )
        }
        Event::Request(line) => line.text(),
        Event::Reloaded { pin } => format!("the certificate was read again; pcc get --pin {pin}"),
        Event::Note { message } => (*message).to_owned(),
        Event::Draining { open } => {
            format!("ending: nothing new is begun, {open} connections are still open; once more to cut them off")
        }
        Event::Error { message, .. } => format!("error: {message}"),
    }
}

impl Line {
    /// In the Common Log Format, and behind it the seconds that the response took, and `-` if it was not complete.
    fn text(&self) -> String {
        let Line { peer, method, path, version, status, bytes, seconds, .. } = self;
        // "Sun, 06 Nov 1994 08:49:37 GMT" as "06/Nov/1994:08:49:37 +0000".
        let mut parts = self.date.split(' ').skip(1);
        let mut part = || parts.next().unwrap_or_default();
        let date = format!("{}/{}/{}:{} +0000", part(), part(), part(), part());
        let (method, path) = (quoted(method), quoted(path));
        let cut = if self.complete { "" } else { " -" };
        format!("{peer} - - [{date}] \"{method} {path} {version}\" {status} {bytes} {seconds:.3}{cut}")
    }
}

/// Text from the network as it may be between quotes: nothing in it ends them.
fn quoted(text: &str) -> String {
    printable(text.as_bytes()).replace('\\', "\\\\").replace('"', "\\\"")
}

/// Takes note of a response, and reports it when it has ended.
pub struct Record {
    /// Bytes of content that were handed to the transport.
    pub bytes: u64,
    /// Whether that is all.
    pub is_complete: bool,
    line: Line,
    began: Instant,
    reporter: Arc<Reporter>,
}

impl Record {
    /// A request that has come.
    pub fn new(peer: IpAddr, request: &Parts, reporter: Arc<Reporter>) -> Record {
        let path = request.uri.path_and_query().map_or(request.uri.path(), |path| path.as_str());
        Record::of(peer, request.method.as_str(), path, request.version, reporter)
    }

    /// A request that could not be read, and was answered with this status and without content.
    pub fn unreadable(peer: IpAddr, version: Version, status: StatusCode, reporter: Arc<Reporter>) {
        let mut record = Record::of(peer, "-", "-", version, reporter);
        record.answered(status);
        record.is_complete = true;
    }

    fn of(peer: IpAddr, method: &str, path: &str, version: Version, reporter: Arc<Reporter>) -> Record {
        let version = match version {
            Version::HTTP_3 => "HTTP/3",
            Version::HTTP_2 => "HTTP/2",
            Version::HTTP_10 => "HTTP/1.0",
            _ => "HTTP/1.1",
        };
        let line = Line {
            peer: peer.to_canonical(),
            date: httpdate::fmt_http_date(SystemTime::now()),
            method: method.to_owned(),
            path: path.to_owned(),
            version,
            status: 0,
            bytes: 0,
            seconds: 0.0,
            complete: false,
        };
        Record { bytes: 0, is_complete: false, line, began: Instant::now(), reporter }
    }

    /// What it is answered with.
    pub fn answered(&mut self, status: StatusCode) {
        self.line.status = status.as_u16();
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        (self.line.bytes, self.line.complete) = (self.bytes, self.is_complete);
        self.line.seconds = self.began.elapsed().as_secs_f64();
        self.reporter.event(&Event::Request(&self.line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_in_the_common_format() {
        let mut line = Line {
            peer: "192.0.2.7".parse().unwrap(),
            date: "Sun, 06 Nov 1994 08:49:37 GMT".into(),
            method: "GET".into(),
            path: "/a\"b\u{1b}[2J\\".into(),
            version: "HTTP/3",
            status: 206,
            bytes: 1024,
            seconds: 0.25,
            complete: true,
        };
        let expected = r#"192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] "GET /a\"b\\u{1b}[2J\\ HTTP/3" 206 1024 0.250"#;
        assert_eq!(line.text(), expected);
        line.complete = false;
        assert_eq!(line.text(), format!("{expected} -"));
    }
}
