//! A one-flow path in virtual time, and an observer that keeps what it sees.
#![allow(dead_code)] // each test binary uses a part of this

use pcc::{AckedPacket, CongestionControl, Event, LostPacket, Measurement, Observer, Rate, Role, SentPacket, Time};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The size of every packet.
pub const SIZE: u64 = 1200;

/// Keeps all events of a controller.
#[derive(Clone, Debug, Default)]
pub struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Recorder {
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub fn intervals(&self) -> Vec<(Role, Measurement, f64)> {
        let interval = |event| match event {
            Event::Interval { role, result, utility, .. } => Some((role, result, utility)),
            _ => None,
        };
        self.events().into_iter().filter_map(interval).collect()
    }
}

impl Observer for Recorder {
    fn on_event(&mut self, event: &Event) {
        self.0.lock().unwrap().push(*event);
    }
}

/// What the path does to packets.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub capacity: Rate,
    pub rtt: Duration,
    /// The longest queueing delay; more is dropped.
    pub buffer: Duration,
    /// Random loss.
    pub loss: f64,
    /// Acknowledgements wait for a multiple of this.
    pub aggregation: Duration,
    /// What the application offers, if that is a limit.
    pub supply: Option<Rate>,
    /// Nothing comes through at all.
    pub dead: bool,
}

impl Path {
    pub fn clean(mbps: f64, rtt_ms: u64) -> Path {
        Path {
            capacity: Rate::from_mbps(mbps),
            rtt: Duration::from_millis(rtt_ms),
            buffer: Duration::from_millis(rtt_ms),
            loss: 0.0,
            aggregation: Duration::ZERO,
            supply: None,
            dead: false,
        }
    }
}

/// A packet on its way, and whether it arrives.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    at: Time,
    number: u64,
    sent: Time,
    arrives: bool,
}

/// One controller on one path.
#[derive(Debug)]
pub struct Flow<C> {
    pub controller: C,
    pub path: Path,
    pub now: Time,
    pub in_flight: u64,
    pub most_in_flight: u64,
    /// If set, the outcomes inside a batch are reported in an order drawn from it.
    pub shuffle: Option<fastrand::Rng>,
    pub sent: u64,
    pub arrived: u64,
    pub rng: fastrand::Rng,
    last_sent: Option<Time>,
    /// When the bottleneck has sent all that waits in it.
    busy_until: Time,
    outcomes: VecDeque<Outcome>,
    /// Packets that a dead path took.
    swallowed: Vec<u64>,
}

impl<C: CongestionControl> Flow<C> {
    pub fn new(controller: C, path: Path) -> Flow<C> {
        Flow {
            controller,
            path,
            now: Time::from_nanos(1_000_000_000),
            in_flight: 0,
            most_in_flight: 0,
            shuffle: None,
            sent: 0,
            arrived: 0,
            rng: fastrand::Rng::with_seed(7),
            last_sent: None,
            busy_until: Time::ZERO,
            outcomes: VecDeque::new(),
            swallowed: Vec::new(),
        }
    }

    fn next_send(&self) -> Option<Time> {
        let rate = self.controller.pacing_rate()?.min(self.path.supply.unwrap_or(Rate::from_mbps(1e9)));
        let due = self.last_sent.map_or(self.now, |last| last + rate.time_for(SIZE));
        let fits = self.in_flight + SIZE <= self.controller.in_flight_cap() && !rate.is_zero();
        fits.then(|| due.max(self.now))
    }

    /// Runs for `time`.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let (send, outcome) = (self.next_send(), self.outcomes.front().map(|outcome| outcome.at));
            let next = [send, outcome, self.controller.deadline()].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else { break };
            self.now = self.now.max(next);
            if outcome == Some(next) {
                self.deliver();
            } else if send == Some(next) {
                self.send();
            } else {
                self.controller.on_deadline(self.now);
            }
        }
        self.now = end;
    }

    /// Time passes while the application has nothing to send, and all that is in flight arrives.
    pub fn pause(&mut self, time: Duration) {
        let supply = self.path.supply.replace(Rate::ZERO);
        self.run(time);
        self.path.supply = supply;
    }

    /// What a dead path swallowed is known to be lost.
    pub fn settle(&mut self) {
        let (now, on_the_way) = (self.now, self.outcomes.len() as u64);
        for number in self.swallowed.drain(..) {
            self.controller.on_packet_lost(&LostPacket { time: now, number, sent: now, bytes: SIZE });
            self.in_flight -= SIZE;
        }
        debug_assert_eq!(self.in_flight, on_the_way * SIZE);
        self.controller.on_batch_end(now);
    }

    fn send(&mut self) {
        let (now, path) = (self.now, self.path);
        self.controller.on_packet_sent(&SentPacket { time: now, number: self.sent, bytes: SIZE });
        let queued = self.busy_until.since(now);
        let mut arrives = !path.dead && self.rng.f64() >= path.loss;
        if queued > path.buffer {
            arrives = false;
        } else {
            self.busy_until = now + queued + path.capacity.time_for(SIZE);
        }
        let mut at = self.busy_until + path.rtt;
        if !path.aggregation.is_zero() {
            let step = path.aggregation.as_nanos() as u64;
            at = Time::from_nanos(at.as_nanos().div_ceil(step) * step);
        }
        if path.dead {
            self.swallowed.push(self.sent);
        } else {
            self.outcomes.push_back(Outcome { at, number: self.sent, sent: now, arrives });
        }
        self.last_sent = Some(now);
        self.sent += 1;
        self.in_flight += SIZE;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
    }

    /// Reports all outcomes that are due as one batch.
    fn deliver(&mut self) {
        let due = self.outcomes.iter().take_while(|outcome| outcome.at <= self.now).count();
        let mut batch: Vec<Outcome> = self.outcomes.drain(..due).collect();
        if let Some(rng) = &mut self.shuffle {
            rng.shuffle(&mut batch);
        }
        for Outcome { number, sent, arrives, .. } in batch {
            let (time, bytes) = (self.now, SIZE);
            if arrives {
                let rtt = time.since(sent);
                self.controller.on_packet_acked(&AckedPacket { time, number, sent, bytes, rtt });
                self.arrived += 1;
            } else {
                self.controller.on_packet_lost(&LostPacket { time, number, sent, bytes });
            }
            self.in_flight -= SIZE;
        }
        self.controller.on_batch_end(self.now);
    }
}
