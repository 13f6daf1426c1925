//! Bulk flows in virtual time: controllers of the contract share a bottleneck of [`link`](crate::link).
//!
//! Each sender always has data, is paced by its controller, gets one acknowledgement for each packet that arrives, and
//! detects losses as RFC 9002, section 6.1, says: three later packets acknowledged, or 9/8 of a round trip passed.

use crate::link::{Delivered, Path, PathConfig};
use pcc::{AckedPacket, CongestionControl, LostPacket, PacketTable, Rate, SentPacket, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of a full packet on the wire.
pub const PACKET_BYTES: u64 = 1500;

/// The packet threshold of RFC 9002, section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// Deterministic pacing into a drop-tail queue locks the phases of flows (SPEC 0.7): each gap varies by this fraction.
const SEND_JITTER: f64 = 0.1;

/// What the flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// The direction of the data.
    pub forward: PathConfig,
    /// The delay of the acknowledgements.
    pub reverse_delay: Duration,
}

/// A sender to simulate.
#[derive(Debug)]
pub struct Flow {
    /// Its controller.
    pub control: Box<dyn CongestionControl>,
    /// When it begins.
    pub start: Time,
}

/// What a flow achieved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowResult {
    /// Bytes that arrived, per second of virtual time.
    pub delivered_per_second: Vec<u64>,
    /// Packets sent.
    pub sent: u64,
    /// Packets lost.
    pub lost: u64,
    /// The round-trip time of each acknowledged packet, in microseconds.
    pub rtts_us: Vec<u32>,
}

impl FlowResult {
    /// The mean rate of arrival between two whole seconds.
    pub fn rate(&self, from: usize, to: usize) -> Rate {
        let to = to.min(self.delivered_per_second.len());
        let bytes = self.delivered_per_second.get(from..to).unwrap_or_default().iter().sum();
        Rate::from_bytes_over(bytes, Duration::from_secs(to.saturating_sub(from) as u64))
    }
}

/// Runs `flows` for `duration`. The same seed gives the same result, to the byte.
pub fn run(dumbbell: &Dumbbell, flows: Vec<Flow>, duration: Duration, seed: u64) -> Vec<FlowResult> {
    let mut seeds = fastrand::Rng::with_seed(seed);
    let mut path: Path<(usize, u64)> = Path::new(&dumbbell.forward, seeds.u64(..));
    let mut acks: VecDeque<(Time, usize, u64)> = VecDeque::new();
    let mut senders: Vec<Sender> = flows.into_iter().map(|flow| Sender::new(flow, seeds.fork(), duration)).collect();
    let end = Time::ZERO + duration;
    loop {
        let sends = senders.iter().filter_map(Sender::next_event);
        let next = sends.chain(path.next_event()).chain(acks.front().map(|ack| ack.0)).min();
        let Some(now) = next.filter(|next| *next < end) else { break };
        while let Some(Delivered { due: arrival, payload: (flow, number), .. }) = path.poll(now) {
            senders[flow].on_arrival(arrival);
            acks.push_back((arrival + dumbbell.reverse_delay, flow, number));
        }
        while acks.front().is_some_and(|ack| ack.0 <= now) {
            if let Some((_, flow, number)) = acks.pop_front() {
                senders[flow].on_ack(now, number);
            }
        }
        for (index, sender) in senders.iter_mut().enumerate() {
            sender.on_time(now);
            while let Some(number) = sender.send(now) {
                path.enqueue(now, index as u32, (index, number), PACKET_BYTES);
            }
        }
    }
    senders.into_iter().map(|sender| sender.result).collect()
}

#[derive(Debug)]
struct Sender {
    control: Box<dyn CongestionControl>,
    rng: fastrand::Rng,
    outstanding: PacketTable<Time>,
    in_flight: u64,
    next_number: u64,
    next_send: Time,
    largest_acked: Option<u64>,
    /// The latest sample; no loss is detected by time before there is one.
    rtt: Option<Duration>,
    result: FlowResult,
}

impl Sender {
    fn new(flow: Flow, rng: fastrand::Rng, duration: Duration) -> Sender {
        let mut control = flow.control;
        control.on_mtu_change(PACKET_BYTES);
        Sender {
            control,
            rng,
            outstanding: PacketTable::default(),
            in_flight: 0,
            next_number: 0,
            next_send: flow.start,
            largest_acked: None,
            rtt: None,
            result: FlowResult {
                delivered_per_second: vec![0; duration.as_secs() as usize + 1],
                ..FlowResult::default()
            },
        }
    }

    fn may_send(&self) -> bool {
        self.in_flight + PACKET_BYTES <= self.control.in_flight_cap()
    }

    /// When a packet counts as lost by time: 9/8 of a round trip, or twice that if nothing later was acknowledged.
    fn loss_time(&self) -> Option<Time> {
        let (number, sent) = self.outstanding.first()?;
        let overtaken = self.largest_acked.is_some_and(|acked| acked > number);
        Some(*sent + self.rtt? * 9 / if overtaken { 8 } else { 4 })
    }

    fn next_event(&self) -> Option<Time> {
        let send = self.may_send().then_some(self.next_send);
        [send, self.loss_time(), self.control.deadline()].into_iter().flatten().min()
    }

    fn on_arrival(&mut self, time: Time) {
        if let Some(bytes) = self.result.delivered_per_second.get_mut(time.as_secs_f64() as usize) {
            *bytes += PACKET_BYTES;
        }
    }

    fn on_ack(&mut self, now: Time, number: u64) {
        let Some(sent) = self.outstanding.take(number) else { return };
        self.in_flight -= PACKET_BYTES;
        let rtt = now.since(sent);
        self.rtt = Some(rtt);
        self.result.rtts_us.push(rtt.as_micros() as u32);
        self.largest_acked = self.largest_acked.max(Some(number));
        self.control.on_packet_acked(&AckedPacket { time: now, number, sent, bytes: PACKET_BYTES, rtt });
        while let Some((lost, sent)) = self.outstanding.first().map(|(number, sent)| (number, *sent)) {
            if lost + PACKET_THRESHOLD > number {
                break;
            }
            self.lose(now, lost, sent);
        }
        self.control.on_batch_end(now);
    }

    fn lose(&mut self, now: Time, number: u64, sent: Time) {
        self.outstanding.take(number);
        self.in_flight -= PACKET_BYTES;
        self.result.lost += 1;
        self.control.on_packet_lost(&LostPacket { time: now, number, sent, bytes: PACKET_BYTES });
    }

    fn on_time(&mut self, now: Time) {
        let mut lost = false;
        while self.loss_time().is_some_and(|time| time <= now) {
            let Some((number, sent)) = self.outstanding.first().map(|(number, sent)| (number, *sent)) else { break };
            self.lose(now, number, sent);
            lost = true;
        }
        if lost {
            self.control.on_batch_end(now);
        }
        if self.control.deadline().is_some_and(|deadline| deadline <= now) {
            self.control.on_deadline(now);
        }
    }

    /// Sends the next packet if it is time.
    fn send(&mut self, now: Time) -> Option<u64> {
        if now < self.next_send || !self.may_send() {
            return None;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.outstanding.insert(number, now);
        self.in_flight += PACKET_BYTES;
        self.result.sent += 1;
        self.control.on_packet_sent(&SentPacket { time: now, number, bytes: PACKET_BYTES });
        if let Some(rate) = self.control.pacing_rate() {
            let varied = 1.0 + SEND_JITTER * (2.0 * self.rng.f64() - 1.0);
            // Lateness is made up for, but only a little: a blocked sender must not burst.
            let base = self.next_send.max(now - rate.time_for(2 * PACKET_BYTES));
            self.next_send = base + rate.time_for(PACKET_BYTES).mul_f64(varied);
        }
        Some(number)
    }
}
