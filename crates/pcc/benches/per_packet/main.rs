//! What a packet costs: one sent, one acknowledged or lost, one batch ended, and the rate and the window read after each, on a
//! path that the controller fills. The controllers of noq-proto get the same path. `the path alone` is what all of that costs
//! without a controller.

mod noq;

use criterion::{Criterion, criterion_group, criterion_main};
use pcc::{AckedPacket, CongestionControl, LostPacket, Pcc, Rate, SentPacket, Time, profiles};
use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

const BYTES: u64 = 1200;
/// The base round-trip time.
const RTT: Duration = Duration::from_millis(30);
/// The bottleneck's time of a packet, in nanoseconds: 96 Mbit/s.
const SPACING: u64 = 100_000;
/// The longest queue, in nanoseconds.
const QUEUE: u64 = 30_000_000;
/// Every so many packets one is lost whatever the queue.
const LOST: u64 = 1000;
/// Packets after which a controller has settled.
const WARM_UP: u64 = 50_000;

/// A packet in flight, with times in nanoseconds.
#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent: u64,
    /// When its outcome is known, and whether that is a loss.
    known: u64,
    lost: bool,
}

/// A controller.
trait Subject {
    fn on_sent(&mut self, packet: &Packet);
    fn on_outcome(&mut self, packet: &Packet, in_flight: u64);
    /// The bytes that may be in flight, and the pacing rate in bytes/s if there is one.
    fn limits(&self) -> (u64, Option<f64>);
}

/// A flow over a bottleneck.
struct Flow {
    subject: Box<dyn Subject>,
    now: u64,
    /// When the pacing rate allows the next packet, and when the bottleneck is free.
    next: u64,
    free: u64,
    number: u64,
    in_flight: VecDeque<Packet>,
}

impl Flow {
    fn new(subject: Box<dyn Subject>) -> Flow {
        Flow { subject, now: 0, next: 0, free: 0, number: 0, in_flight: VecDeque::new() }
    }

    /// Goes on to the next outcome.
    fn packet(&mut self) {
        loop {
            let (window, rate) = black_box(self.subject.limits());
            let in_flight = self.in_flight.len() as u64 * BYTES;
            let sends = (in_flight == 0 || in_flight + BYTES <= window).then_some(self.next.max(self.now));
            match self.in_flight.front().copied() {
                Some(packet) if sends.is_none_or(|sends| packet.known <= sends) => {
                    self.in_flight.pop_front();
                    self.now = packet.known;
                    return self.subject.on_outcome(&packet, in_flight - BYTES);
                }
                _ => self.send(sends.unwrap_or(self.now), rate),
            }
        }
    }

    fn send(&mut self, now: u64, rate: Option<f64>) {
        self.now = now;
        self.next = now + rate.map_or(0, |rate| (BYTES as f64 * 1e9 / rate) as u64);
        self.free = self.free.max(now);
        let lost = self.number.is_multiple_of(LOST) || self.free - now > QUEUE;
        self.free += if lost { 0 } else { SPACING };
        let packet = Packet { number: self.number, sent: now, known: self.free + RTT.as_nanos() as u64, lost };
        self.number += 1;
        self.in_flight.push_back(packet);
        self.subject.on_sent(&packet);
    }
}

impl Subject for Pcc {
    fn on_sent(&mut self, packet: &Packet) {
        let time = Time::from_nanos(packet.sent);
        self.on_packet_sent(&SentPacket { time, number: packet.number, bytes: BYTES });
    }

    fn on_outcome(&mut self, packet: &Packet, _: u64) {
        let (time, sent) = (Time::from_nanos(packet.known), Time::from_nanos(packet.sent));
        let (number, bytes) = (packet.number, BYTES);
        if packet.lost {
            self.on_packet_lost(&LostPacket { time, number, sent, bytes });
        } else {
            self.on_packet_acked(&AckedPacket { time, number, sent, bytes, rtt: time.since(sent) });
        }
        self.on_batch_end(time);
    }

    fn limits(&self) -> (u64, Option<f64>) {
        black_box(self.deadline());
        (self.in_flight_cap(), self.pacing_rate().map(Rate::bytes_per_sec))
    }
}

/// What a controller with a fixed window would be.
struct Nothing;

impl Subject for Nothing {
    fn on_sent(&mut self, packet: &Packet) {
        black_box(packet);
    }

    fn on_outcome(&mut self, packet: &Packet, _: u64) {
        black_box(packet);
    }

    fn limits(&self) -> (u64, Option<f64>) {
        (400 * BYTES, None)
    }
}

fn per_packet(c: &mut Criterion) {
    let mut group = c.benchmark_group("per packet");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    let own = profiles::LIST
        .iter()
        .map(|entry| (entry.name, Box::new(entry.profile().build(1)) as Box<dyn Subject>))
        .chain([("the path alone", Box::new(Nothing) as Box<dyn Subject>)]);
    for (name, subject) in own.chain(noq::subjects()) {
        let mut flow = Flow::new(subject);
        (0..WARM_UP).for_each(|_| flow.packet());
        group.bench_function(name, |b| b.iter(|| flow.packet()));
    }
}

criterion_group!(benches, per_packet);
criterion_main!(benches);
