//! `--qlog FILE`: what connections do, packet by packet, for qvis and other tools that read qlog.
//!
//! noq writes packets, losses, timers and recovery metrics (draft-ietf-quic-qlog-main-schema-13 and
//! draft-ietf-quic-qlog-quic-events-12, as JSON text sequences, RFC 7464). Between them stands what only the controller knows, as events
//! of our own: `pcc:monitor_interval`, `pcc:decision` and `pcc:phase`. Rates are in bit/s, times in ms, as in the drafts. (The pacing
//! rate in noq's recovery metrics isn't: it is in bytes per second, and what noq was told, not the controller's rate.)

use crate::failure::{Context, Failure, Kind, Result};
use noq::TransportConfig;
use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};
use pcc::{Event, Observer, Role};
use pcc_quic::Transport;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Begins a record of a JSON text sequence (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1e;

/// The files of one command. The first connection writes into the file that the user named, the others beside it: a log is of one
/// connection.
#[derive(Clone, Debug)]
pub struct Qlog(Arc<Mutex<Files>>);

#[derive(Debug)]
struct Files {
    named: PathBuf,
    /// The one that the user named, until the first connection has it.
    first: Option<File>,
    /// The number of the latest.
    number: u32,
    /// Of all connections that were tried, oldest first.
    logs: Vec<Log>,
}

impl Qlog {
    /// Logs into this file. It is made now, so that an error shows before anything else is done.
    ///
    /// # Errors
    ///
    /// When it can't be made, or when something is there already: that may be all that its owner has of it.
    pub fn create(named: &Path) -> Result<Qlog> {
        let shown = named.display();
        let first = match File::create_new(named) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let message = format!("--qlog: {shown} is there already; name another file, or remove it");
                return Err(Failure::new(Kind::Exists, message));
            }
            done => done.doing(|| format!("write {shown}"))?,
        };
        let files = Files { named: named.to_owned(), first: Some(first), number: 1, logs: Vec::new() };
        Ok(Qlog(Arc::new(Mutex::new(files))))
    }

    /// The configuration of connections that log.
    pub fn config(&self, transport: &Transport) -> TransportConfig {
        let files = self.clone();
        // noq opens a connection's log just before it makes the controller of its first path.
        let mut config = transport.config_observed(move |_| Box::new(Decisions(files.files().logs.last().cloned())));
        config.qlog_factory(Arc::new(Connections { qlog: self.clone(), title: transport.algorithm.name() }));
        config
    }

    /// Writes what is still in memory, and says what went wrong, if anything did.
    pub fn finish(&self) -> io::Result<()> {
        let logs = self.files().logs.clone();
        logs.into_iter().try_for_each(|log| log.finish())
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> io::Result<BufWriter<File>> {
        let mut files = self.files();
        if let Some(first) = files.first.take() {
            return Ok(BufWriter::new(first));
        }
        loop {
            files.number += 1;
            match File::create_new(numbered(&files.named, files.number)) {
                // It is of an earlier run.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => return Ok(BufWriter::new(done?)),
            }
        }
    }
}

/// `a-2.qlog`, `a-3.qlog` and so on.
fn numbered(named: &Path, number: u32) -> PathBuf {
    let mut name = named.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = named.extension() {
        name.push(".");
        name.push(extension);
    }
    named.with_file_name(name)
}

struct Connections {
    qlog: Qlog,
    title: &'static str,
}

impl QlogFactory for Connections {
    fn for_connection(&self, _: Side, remote: SocketAddr, _: ConnectionId, now: Instant) -> Option<QlogConfig> {
        let log = Log(Arc::new(Mutex::new(State::Waiting(Vec::new()))));
        self.qlog.files().logs.push(log.clone());
        let mut config = QlogConfig::new(Box::new(Records { qlog: self.qlog.clone(), log, record: Vec::new() }));
        config.title(Some(format!("pcc, {}", self.title))).description(Some(format!("to {remote}"))).start_time(now);
        Some(config)
    }
}

/// The log of one connection.
#[derive(Clone, Debug)]
struct Log(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    /// The peer hasn't answered yet: of several addresses that are tried, one gets a file.
    Waiting(Vec<u8>),
    Open(BufWriter<File>),
    Failed(Option<io::Error>),
}

impl Log {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, record: &[u8]) {
        let mut state = self.state();
        let written = match &mut *state {
            State::Waiting(records) => {
                records.extend_from_slice(record);
                Ok(())
            }
            State::Open(file) => file.write_all(record),
            State::Failed(_) => Ok(()),
        };
        if let Err(error) = written {
            *state = State::Failed(Some(error));
        }
    }

    /// The peer answered.
    fn begin(&self, qlog: &Qlog) {
        let mut state = self.state();
        if let State::Waiting(records) = &*state {
            let opened = qlog.open().and_then(|mut file| file.write_all(records).map(|()| file));
            *state = opened.map_or_else(|error| State::Failed(Some(error)), State::Open);
        }
    }

    fn finish(&self) -> io::Result<()> {
        match &mut *self.state() {
            State::Waiting(_) => Ok(()),
            State::Open(file) => file.flush(),
            State::Failed(error) => error.take().map_or(Ok(()), Err),
        }
    }
}

/// What noq writes to: passes on whole records.
struct Records {
    qlog: Qlog,
    log: Log,
    record: Vec<u8>,
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.record.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") {
            self.log.add(&self.record);
            if matches!(&*self.log.state(), State::Waiting(_)) && contains(&self.record, b"packet_received") {
                self.log.begin(&self.qlog);
            }
            self.record.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn contains(record: &[u8], what: &[u8]) -> bool {
    record.windows(what.len()).any(|part| part == what)
}

/// Writes what a controller does.
#[derive(Debug)]
struct Decisions(Option<Log>);

impl Observer for Decisions {
    fn on_event(&mut self, event: &Event) {
        let (Some(log), Some((name, data))) = (&self.0, described(event)) else { return };
        let mut record = vec![RECORD_SEPARATOR];
        // A controller's time begins with its path, and the log's with the connection.
        record.extend(json!({ "time": millis(event.time()), "name": name, "data": data }).to_string().bytes());
        record.push(b'\n');
        log.add(&record);
    }
}

fn millis(time: pcc::Time) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The name of an event, and what it says.
fn described(event: &Event) -> Option<(&'static str, Value)> {
    Some(match event {
        Event::Interval { role, result, utility, .. } => {
            let role = match role {
                Role::Start => "start",
                Role::Probe { faster: true, .. } => "probe_faster",
                Role::Probe { .. } => "probe_slower",
                Role::Move => "move",
                _ => "hold",
            };
            let data = json!({
                "role": role,
                "started": millis(result.start),
                "target_rate": result.target.bits_per_sec(),
                "sending_rate": result.rate.bits_per_sec(),
                "goodput": result.throughput().bits_per_sec(),
                "packets_sent": result.packets_sent,
                "packets_lost": result.packets_lost,
                "loss": result.loss,
                "rtt": result.rtt * 1e3,
                "min_rtt": result.min_rtt * 1e3,
                "rtt_gradient": result.rtt_gradient,
                "utility": utility,
            });
            ("pcc:monitor_interval", data)
        }
        Event::Decision { from, to, cut, .. } => {
            let (old, new) = (from.bits_per_sec(), to.bits_per_sec());
            ("pcc:decision", json!({ "old": old, "new": new, "cut": cut.map(|cut| format!("{cut:?}").to_lowercase()) }))
        }
        Event::Phase { phase, .. } => ("pcc:phase", json!({ "new": format!("{phase:?}").to_lowercase() })),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::{AckedPacket, CongestionControl, SentPacket, Time, profiles};
    use std::time::Duration;

    #[test]
    fn later_connections_write_beside_the_named_file() {
        let names = [("a.qlog", "a-2.qlog"), ("d/a.b.sqlog", "d/a.b-2.sqlog"), ("log", "log-2")];
        for (named, second) in names {
            assert_eq!(numbered(Path::new(named), 2), Path::new(second));
        }
    }

    #[test]
    fn what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [named, second, third] = ["a.qlog", "a-2.qlog", "a-3.qlog"].map(|name| folder.path().join(name));
        std::fs::write(&second, "of an earlier run").unwrap();
        let qlog = Qlog::create(&named).unwrap();
        for _ in 0..2 {
            qlog.open().unwrap().write_all(b"x").unwrap();
        }
        let texts = [&named, &second, &third].map(|path| std::fs::read_to_string(path).unwrap());
        assert_eq!(texts, ["x", "of an earlier run", "x"]);
        let refused = Qlog::create(&named).unwrap_err();
        assert!(refused.kind == Kind::Exists && refused.message.contains("a.qlog is there already"), "{refused}");
        assert_eq!(std::fs::read(&named).unwrap(), b"x");
    }

    #[test]
    fn records_of_transport_and_controller_stay_whole() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("a.qlog");
        let qlog = Qlog::create(&named).unwrap();
        let log = Log(Arc::new(Mutex::new(State::Waiting(Vec::new()))));
        qlog.files().logs.push(log.clone());
        let mut transport = Records { qlog: qlog.clone(), log: log.clone(), record: Vec::new() };
        let mut control = profiles::vivace_latency().build(1);
        control.observe(Box::new(Decisions(Some(log))));

        transport.write_all(b"\x1e{\"file\"").unwrap();
        let rtt = Duration::from_millis(20);
        for number in 0..1000 {
            let time = Time::from_nanos(number * 1_000_000);
            control.on_packet_sent(&SentPacket { time, number, bytes: 1200 });
            if let Some(number) = number.checked_sub(20) {
                control.on_packet_acked(&AckedPacket { time, number, sent: time - rtt, bytes: 1200, rtt });
                control.on_batch_end(time);
            }
        }
        transport.write_all(b":1}\n").unwrap();
        qlog.finish().unwrap();
        assert_eq!(std::fs::read(&named).unwrap(), b"", "nobody has answered");
        transport.write_all(b"\x1e{\"name\":\"quic:packet_received\"}\n").unwrap();
        qlog.finish().unwrap();

        let text = std::fs::read_to_string(&named).unwrap();
        let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(&line[1..]).unwrap()).collect();
        assert!(text.lines().all(|line| line.starts_with('\x1e')));
        assert!(records.iter().any(|record| record["file"] == 1));
        let decision = records.iter().find(|record| record["name"] == "pcc:decision").expect("start-up doubles");
        assert!(decision["data"]["new"].as_f64() > decision["data"]["old"].as_f64(), "{decision}");
        assert_eq!(records.last().unwrap()["name"], "quic:packet_received");
    }
}
