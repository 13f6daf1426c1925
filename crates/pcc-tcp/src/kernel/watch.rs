//! What the controllers do, as it happens.

use super::connection::phase;
use super::layout::{EventRecord, IntervalRecord, LAYOUT, Watcher};
use super::loaded::{Loaded, loaded};
use super::{Connection, Error};
use crate::measured::real;
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use pcc::{Measurement, Phase, Rate, Role, Time};
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc;
use std::time::Duration;
use zerocopy::FromBytes;

pub use crate::ffi::Ack;

/// The kernel makes records for so long after a watcher has been heard of ...
const PATIENCE: Duration = Duration::from_secs(3);
/// ... which is therefore as often as this.
const REFRESH: Duration = Duration::from_secs(1);

/// Something that happened in a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A monitor interval closed.
    Interval(Interval),
    /// The sender was told something.
    Event(SenderEvent),
}

/// A monitor interval whose result is known.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Interval {
    /// The connection that it belongs to.
    pub connection: Connection,
    /// When its result was known, on the machine's monotonic clock.
    pub time: Time,
    /// What the interval was for, such as a probe.
    pub role: Role,
    /// What came of it, after noise filters. `previous_rtt` and `rtt_deviation` aren't measured.
    pub result: Measurement,
    /// The utility of the result.
    pub utility: f64,
    /// The phase of the rate control from now on.
    pub phase: Phase,
    /// The pacing rate that follows.
    pub rate: Rate,
}

/// What the sender was told, and the rate that it chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderEvent {
    /// The connection that it happened in.
    pub connection: Connection,
    /// Which of the sender's calls it was.
    pub kind: EventKind,
    /// What the kernel told the sender.
    pub ack: Ack,
    /// The pacing rate from then on, in bit/s.
    pub rate: u64,
}

/// The kinds of events that a sender is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The connection got its controller.
    Init {
        /// From which its random choices come.
        seed: u32,
    },
    /// An acknowledgement was taken in.
    Ack,
    /// The retransmission timer expired.
    Timeout,
    /// Sending begins with nothing in flight.
    FirstSent,
}

/// A look at all controllers of this machine. There can be one at a time.
///
/// While it lives, acknowledgements cost the kernel a little more, and for a few seconds after its process was killed.
pub struct Watch {
    sources: Vec<Source>,
    records: mpsc::Receiver<Record>,
    sender: mpsc::Sender<Record>,
    events: bool,
    refreshed: Time,
}

/// Programs that were loaded together.
struct Source {
    loaded: Loaded,
    ring: RingBuffer<'static>,
    /// Records that were dropped before this watcher began.
    dropped_before: u64,
}

impl Watch {
    /// Begins to watch: intervals, and with `events` also all that senders are told.
    ///
    /// # Errors
    ///
    /// When no controller of PCC is loaded, or one of another version, when another process watches already, and when the caller
    /// may not do it.
    pub fn begin(events: bool) -> Result<Watch, Error> {
        let (sender, records) = mpsc::channel();
        let mut watch = Watch { sources: Vec::new(), records, sender, events, refreshed: Time::ZERO };
        watch.refresh(now())?;
        Ok(watch)
    }

    /// What happened since the call before. To be called more often than once in two seconds, and with events so often
    /// that a few thousand of them fit in between.
    ///
    /// # Errors
    ///
    /// When another process began to watch in spite of this one, or the programs can't be read anymore.
    pub fn poll(&mut self) -> Result<Vec<Record>, Error> {
        let now = now();
        if now >= self.refreshed + REFRESH {
            self.refresh(now)?;
        }
        for source in &self.sources {
            source.ring.consume().map_err(Error::bpf("reading the records"))?;
        }
        Ok(self.records.try_iter().collect())
    }

    /// How many records didn't come because they were not fetched in time.
    ///
    /// # Errors
    ///
    /// When the counter can't be read.
    pub fn dropped(&self) -> Result<u64, Error> {
        self.sources.iter().map(|source| Ok(source.loaded.dropped()?.saturating_sub(source.dropped_before))).sum()
    }

    /// Says to all programs that there is a watcher, also to those that were loaded in the meantime.
    fn refresh(&mut self, now: Time) -> Result<(), Error> {
        let pid = std::process::id();
        let all = loaded()?;
        self.sources.retain(|source| all.iter().any(|loaded| loaded.id == source.loaded.id));
        for loaded in all {
            let watcher = loaded.watcher()?;
            if watcher.pid != pid && Time::from_nanos(watcher.until) > now {
                return Err(Error::Watched { pid: watcher.pid });
            }
            let until = (now + PATIENCE).as_nanos();
            let known = self.sources.iter().any(|source| source.loaded.id == loaded.id);
            let ring = (!known).then(|| self.open(&loaded)).transpose()?;
            loaded.set_watcher(&Watcher { layout: LAYOUT, pid, until, events: self.events.into(), unused: 0 })?;
            if let Some(ring) = ring {
                self.sources.push(Source { dropped_before: loaded.dropped()?, loaded, ring });
            }
        }
        self.refreshed = now;
        Ok(())
    }

    /// Its ring, without what a watcher left there that was killed.
    fn open(&self, loaded: &Loaded) -> Result<RingBuffer<'static>, Error> {
        let failed = Error::bpf("opening the records");
        let sender = self.sender.clone();
        let mut builder = RingBufferBuilder::new();
        let callback = move |bytes: &[u8]| {
            if let Some(record) = Record::read(bytes) {
                // The receiver lives as long as the ring.
                let _ = sender.send(record);
            }
            0
        };
        builder.add(&loaded.records, callback).map_err(&failed)?;
        let ring = builder.build().map_err(&failed)?;
        ring.consume().map_err(&failed)?;
        self.records.try_iter().for_each(drop);
        Ok(ring)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let nobody = Watcher { layout: LAYOUT, pid: 0, until: 0, events: 0, unused: 0 };
        let pid = std::process::id();
        for Source { loaded, .. } in &self.sources {
            if loaded.watcher().is_ok_and(|watcher| watcher.pid == pid) {
                // Without it the programs notice soon.
                let _ = loaded.set_watcher(&nobody);
            }
        }
    }
}

impl Record {
    /// `None` for something unknown.
    fn read(bytes: &[u8]) -> Option<Record> {
        // `enum kind` of `bpf/watch.h`.
        if u32::from_ne_bytes(*bytes.first_chunk()?) == 0 {
            let record = IntervalRecord::read_from_bytes(bytes).ok()?;
            return Some(Record::Interval(Interval {
                connection: Connection::new(&record.connection),
                time: Time::from_nanos(record.now),
                role: record.plan.role(),
                result: record.result.in_rust(),
                utility: real(record.utility),
                phase: phase(record.phase),
                rate: Rate::from_bits_per_sec(record.pacing as f64),
            }));
        }
        let record = EventRecord::read_from_bytes(bytes).ok()?;
        let kind = match record.kind {
            1 => EventKind::Init { seed: record.seed },
            2 => EventKind::Ack,
            3 => EventKind::Timeout,
            4 => EventKind::FirstSent,
            _ => return None,
        };
        let connection = Connection::new(&record.connection);
        Some(Record::Event(SenderEvent { connection, kind, ack: record.ack, rate: record.pacing }))
    }
}

/// The machine's monotonic clock, which all times here are on.
pub fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    Time::from_nanos(Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32).as_nanos() as u64)
}
