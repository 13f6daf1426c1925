//! The loop of events, and the applications at both ends.

use super::bulk::Bulk;
use super::host::{self, Datagram, Host};
use super::report::{BulkProgress, BulkReport, Departure};
use crate::controller::EventLog;
use crate::link::{Codepoint, Delivered, Path};
use bytes::Bytes;
use noq_proto::{Dir, EcnCodepoint, PathId, StreamEvent, StreamId, TransportConfig};
use pcc::Time;
use pcc_quic::Transport;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// IPv4 and UDP headers, as counted by queues and links.
const HEADERS: u64 = 28;

/// The number of the only flow.
const FLOW: u32 = 0;

static DATA: [u8; 1 << 16] = [0; 1 << 16];

impl Bulk {
    /// Runs with a named algorithm; the report has its monitor intervals, if it has such. A transport without a seed gets 0, so that each run
    /// is the same.
    pub fn run(&self, transport: &Transport) -> BulkReport {
        let transport = Transport { seed: Some(transport.seed.unwrap_or(0)), ..transport.clone() };
        let events = EventLog::default();
        let log = events.clone();
        let report = self.run_with(transport.config_observed(move |_| Box::new(log.clone())));
        BulkReport { events: events.take(), ..report }
    }

    /// Runs with any configuration of the sender. The receiver has the default of [`Transport`].
    pub fn run_with(&self, sender: TransportConfig) -> BulkReport {
        self.run_watched(sender, &mut |_| {})
    }

    /// As [`run_with`](Self::run_with); `watch` is told at the end of each bin where the run is.
    pub fn run_watched(&self, sender: TransportConfig, watch: &mut dyn FnMut(&BulkProgress)) -> BulkReport {
        World::new(self, sender).run(watch)
    }
}

struct World<'a> {
    setup: &'a Bulk,
    /// Virtual time counts from here; noq only accepts the system's type of instants.
    origin: Instant,
    now: Time,
    sender: Host,
    receiver: Host,
    forward: Line,
    reverse: Line,
    /// The stream being written, and how much of it is missing.
    writing: Option<(StreamId, u64)>,
    bin_bytes: u64,
    received: u64,
    next_bin: Time,
    report: BulkReport,
}

impl<'a> World<'a> {
    fn new(setup: &'a Bulk, mut sender: TransportConfig) -> World<'a> {
        let mut receiver = Transport { seed: Some(0), ..Transport::default() }.config();
        if let Some(mtu) = setup.mtu {
            for config in [&mut sender, &mut receiver] {
                // Equal, or noq takes a burst of losses for a smaller path MTU.
                config.initial_mtu(mtu).min_mtu(mtu).mtu_discovery_config(None);
            }
        }
        let origin = Instant::now();
        let (sender, receiver) = host::pair(sender, receiver, setup.seed, origin);
        World {
            setup,
            origin,
            now: Time::ZERO,
            sender,
            receiver,
            forward: Line::new(Path::new(&setup.forward, setup.seed), setup.reordering, setup.seed),
            reverse: Line::new(Path::new(&setup.reverse, !setup.seed), Duration::ZERO, 0),
            writing: None,
            bin_bytes: 0,
            received: 0,
            next_bin: Time::ZERO + setup.bin,
            report: BulkReport { bin: setup.bin, ..BulkReport::default() },
        }
    }

    fn run(mut self, watch: &mut dyn FnMut(&BulkProgress)) -> BulkReport {
        let end = Time::ZERO + self.setup.duration;
        while self.now < end && self.report.closed.is_none() {
            self.step();
            let next = self.next_event().max(self.now + Duration::from_nanos(1));
            while self.next_bin <= next.min(end) {
                watch(&self.end_bin());
            }
            self.now = next;
        }
        self.report.forward = self.forward.path.counters();
        if let Some(stats) = self.sender.connection.as_mut().and_then(|c| c.path_stats(PathId::ZERO)) {
            self.report.sent_packets = stats.sent_packets;
            self.report.lost_packets = stats.lost_packets;
            self.report.black_holes = stats.black_holes_detected;
            self.report.mtu = stats.current_mtu;
        }
        self.report
    }

    fn step(&mut self) {
        let (now, at) = (self.now, self.instant(self.now));
        let cut = self.setup.outage.contains(&now.since(Time::ZERO));
        while let Some(datagram) = self.forward.poll(now) {
            self.receiver.inbox.push_back(datagram);
        }
        while let Some(datagram) = self.reverse.poll(now) {
            self.sender.inbox.push_back(datagram);
        }
        if self.stalled_until().is_none() {
            self.sender.receive(at);
            self.write();
            self.sender.transmit(at, |datagram| {
                let bytes = datagram.payload.len() as u64;
                self.report.departures.push(Departure { time: now, bytes });
                if !cut && bytes <= self.setup.path_mtu.into() {
                    self.forward.enqueue(now, datagram);
                }
            });
        }
        self.receiver.receive(at);
        self.read();
        self.receiver.transmit(at, |datagram| {
            if !cut {
                self.reverse.enqueue(now, datagram);
            }
        });
        let closed = self.sender.closed.take().or(self.receiver.closed.take());
        self.report.closed = closed;
    }

    fn next_event(&self) -> Time {
        let sender = match self.stalled_until() {
            Some(end) => Some(end),
            None => self.sender.next().map(|at| self.time(at)),
        };
        let receiver = self.receiver.next().map(|at| self.time(at));
        let wire = [self.forward.next(), self.reverse.next()].into_iter().flatten();
        let end = Time::ZERO + self.setup.duration;
        sender.into_iter().chain(receiver).chain(wire).min().unwrap_or(end)
    }

    fn stalled_until(&self) -> Option<Time> {
        let period = self.setup.stall_every.as_nanos() as u64;
        let (periods, phase) = (self.now.as_nanos().checked_div(period)?, self.now.as_nanos() % period);
        let begin = Time::from_nanos(periods * period);
        let stalled = periods > 0 && u128::from(phase) < self.setup.stall.as_nanos();
        stalled.then(|| begin + self.setup.stall)
    }

    fn write(&mut self) {
        let Some(connection) = &mut self.sender.connection else { return };
        self.sender.stream_events.clear();
        loop {
            let (id, left) = match self.writing {
                Some(writing) => writing,
                None => match connection.streams().open(Dir::Uni) {
                    Some(id) => (id, self.setup.stream_bytes),
                    None => return,
                },
            };
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(DATA.len());
            let mut stream = connection.send_stream(id);
            let mut chunks = [Bytes::from_static(&DATA[..size])];
            let written = stream.write_chunks(&mut &mut chunks[..]).unwrap_or(0) as u64;
            self.writing = Some((id, left - written)).filter(|(_, left)| *left > 0);
            if self.writing.is_none() {
                // It can't have been stopped or finished before.
                let _ = stream.finish();
            } else if written == 0 {
                return;
            }
        }
    }

    fn read(&mut self) {
        let Some(connection) = &mut self.receiver.connection else { return };
        let mut readable = Vec::new();
        for event in self.receiver.stream_events.drain(..) {
            match event {
                StreamEvent::Opened { dir } => readable.extend(std::iter::from_fn(|| connection.streams().accept(dir))),
                StreamEvent::Readable { id } => readable.push(id),
                _ => {}
            }
        }
        for id in readable {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(self.setup.ordered) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.bin_bytes += chunk.bytes.len() as u64;
            }
            // `transmit` runs next in any case.
            let _ = chunks.finalize();
        }
    }

    fn end_bin(&mut self) -> BulkProgress {
        let connection = self.sender.connection.as_mut();
        let (rtt, stats) = connection.map_or((None, None), |c| (c.rtt(PathId::ZERO), c.path_stats(PathId::ZERO)));
        let (rtt, bytes) = (rtt.unwrap_or_default(), std::mem::take(&mut self.bin_bytes));
        self.report.delivered.push(bytes);
        self.report.rtt.push(rtt);
        self.received += bytes;
        let at = self.next_bin.since(Time::ZERO);
        self.next_bin += self.setup.bin;
        let (sent, lost) = stats.map_or((0, 0), |stats| (stats.sent_packets, stats.lost_packets));
        // Until then it is a guess.
        let known = self.sender.connection.as_ref().is_some_and(|connection| !connection.is_handshaking());
        BulkProgress { at, received: self.received, rtt: if known { rtt } else { Duration::ZERO }, sent, lost }
    }

    fn instant(&self, time: Time) -> Instant {
        self.origin + time.since(Time::ZERO)
    }

    fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.origin)
    }
}

/// A path, with reordering behind it.
struct Line {
    path: Path<Datagram>,
    reordering: Duration,
    rng: fastrand::Rng,
    /// By arrival time, and by order of draw among equal ones.
    late: BTreeMap<(Time, u64), Datagram>,
    drawn: u64,
}

impl Line {
    fn new(path: Path<Datagram>, reordering: Duration, seed: u64) -> Line {
        let rng = fastrand::Rng::with_seed(seed.wrapping_add(0x9e37_79b9));
        Line { path, reordering, rng, late: BTreeMap::new(), drawn: 0 }
    }

    fn enqueue(&mut self, now: Time, datagram: Datagram) {
        let (bytes, ecn) = (datagram.payload.len() as u64 + HEADERS, datagram.ecn);
        let ecn = if ecn.is_some() { Codepoint::Ect } else { Codepoint::NotEct };
        self.path.enqueue_ecn(now, FLOW, datagram, bytes, ecn);
    }

    fn poll(&mut self, now: Time) -> Option<Datagram> {
        while let Some(Delivered { due, payload: mut datagram, ecn, .. }) = self.path.poll(now) {
            if ecn == Codepoint::Ce {
                datagram.ecn = Some(EcnCodepoint::Ce);
            }
            let extra = Duration::from_nanos(self.rng.u64(0..=self.reordering.as_nanos() as u64));
            self.drawn += 1;
            self.late.insert((due + extra, self.drawn), datagram);
        }
        let first = self.late.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    fn next(&self) -> Option<Time> {
        let late = self.late.first_key_value().map(|((at, _), _)| *at);
        late.into_iter().chain(self.path.next_event()).min()
    }
}
