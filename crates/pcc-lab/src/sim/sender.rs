//! The sending end of a flow: pacing, loss detection as in RFC 9002, retransmission.

use super::pacer::Pacer;
use super::receiver::{Ack, Receiver};
use super::rtt::RttEstimate;
use super::source::Source;
use super::wire::Departure;
use crate::link::Codepoint;
use pcc::{AckedPacket, CongestionControl, Ecn, LostPacket, PacketTable, Rate, SentPacket, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// The packet threshold (RFC 9002, section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// A sender whose last packet left longer ago doesn't wait to fill a burst, and neither does one that may send this fraction of its
/// window (Linux, `tcp_tso_should_defer`, `sysctl_tcp_tso_win_divisor`).
const LONG_AGO: Duration = Duration::from_millis(1);
const WINDOW_DIVISOR: u64 = 3;
/// A window-based sender's bursts are sized by 1.2 times its window per round trip (`sysctl_tcp_pacing_ca_ratio`).
const RATE_OF_WINDOW: f64 = 1.2;

/// A packet that was sent and of which the sender has not heard.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    sent: Time,
    /// What it carries; `None` if a probe has taken that over.
    segment: Option<u64>,
    bytes: u32,
}

/// What the sender counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub sent: u64,
    pub lost: u64,
    pub spurious: u64,
    pub marked: u64,
}

#[derive(Debug)]
pub(super) struct Sender {
    control: Box<dyn CongestionControl>,
    pub source: Source,
    pacer: Pacer,
    /// It waits for acknowledgements to fill a burst.
    deferred: bool,
    packet_bytes: u32,
    /// What its packets say when they leave.
    ecn: Codepoint,
    outstanding: PacketTable<Outstanding>,
    in_flight: u64,
    next_number: u64,
    next_segment: u64,
    /// The receiver lets it send all segments below this one.
    pub edge: u64,
    /// Segments that were lost and wait to be sent again.
    repeat: VecDeque<u64>,
    last_sent: Time,
    largest_acked: Option<u64>,
    rtt: RttEstimate,
    /// Probe timeouts in a row, and whether the newest wants its packet sent.
    timeouts: u32,
    probe: bool,
    pub counts: Counts,
}

impl Sender {
    pub fn new(
        mut control: Box<dyn CongestionControl>,
        host_ecn: bool,
        source: Source,
        start: Time,
        packet_bytes: u32,
        max_ack_delay: Duration,
        pacer: Pacer,
    ) -> Sender {
        control.on_mtu_change(packet_bytes.into());
        let capable = match control.ecn() {
            Ecn::Usable => host_ecn,
            Ecn::Needed => true,
            _ => false,
        };
        Sender {
            ecn: if capable { Codepoint::Ect } else { Codepoint::NotEct },
            control,
            source,
            pacer,
            deferred: false,
            packet_bytes,
            outstanding: PacketTable::default(),
            in_flight: 0,
            next_number: 0,
            next_segment: 0,
            edge: u64::MAX,
            repeat: VecDeque::new(),
            last_sent: start,
            largest_acked: None,
            rtt: RttEstimate::new(max_ack_delay),
            timeouts: 0,
            probe: false,
            counts: Counts::default(),
        }
    }

    /// The rate it is paced at now, in Mbit/s; that of a window-based one is its window per round trip.
    pub fn rate_mbps(&self) -> f64 {
        match (self.control.pacing_rate(), self.rtt.smoothed()) {
            (Some(rate), _) => rate.mbps(),
            (None, Some(rtt)) => pcc::Rate::from_bytes_over(self.control.in_flight_cap(), rtt).mbps(),
            (None, None) => 0.0,
        }
    }

    fn may_send(&self) -> bool {
        let fits = self.in_flight == 0 || self.in_flight + u64::from(self.packet_bytes) <= self.control.in_flight_cap();
        fits && (self.next_segment < self.edge || !self.repeat.is_empty())
    }

    /// Whether its packets can be marked.
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn != Codepoint::NotEct
    }

    /// The round-trip time, smoothed.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// When [`on_time`](Self::on_time) and then [`send`](Self::send) want to be called.
    pub fn next_event(&self, now: Time) -> Option<Time> {
        let send = if !self.deferred && self.may_send() {
            let ready = if self.repeat.is_empty() { self.source.next_ready(now, self.next_segment) } else { Some(now) };
            ready.map(|ready| self.pacer.earliest(ready))
        } else {
            None
        };
        [send, self.timer(), self.control.deadline()].into_iter().flatten().min()
    }

    /// The loss detection timer: the time threshold if something overtook the oldest packet, else the probe timeout.
    fn timer(&self) -> Option<Time> {
        let (number, oldest) = self.outstanding.first()?;
        if self.largest_acked.is_some_and(|acked| acked > number) {
            return Some(oldest.sent + self.rtt.loss_delay());
        }
        Some(self.last_sent + self.rtt.probe_timeout() * (1 << self.timeouts.min(10)))
    }

    /// An acknowledgement arrives. Calls `sample` with the time in flight of each packet that it brings news of.
    pub fn on_ack(&mut self, now: Time, ack: Ack, receiver: &mut Receiver, mut sample: impl FnMut(Duration)) {
        while let Some(receipt) = receiver.report(&ack) {
            let Some(packet) = self.outstanding.take(receipt.number) else {
                self.counts.spurious += 1;
                continue;
            };
            let (number, bytes) = (receipt.number, u64::from(packet.bytes));
            self.in_flight -= bytes;
            let mut rtt = now.since(packet.sent);
            if self.largest_acked.is_none_or(|largest| number > largest) {
                self.largest_acked = Some(number);
                self.timeouts = 0;
                if receiver.has_reported(&ack) {
                    // The newest packet's own delay is known, and it alone makes samples (RFC 9002, section 5).
                    rtt = rtt.saturating_sub(ack.delay);
                    self.rtt.add(rtt);
                }
            }
            sample(rtt);
            let acked = AckedPacket { time: now, number, sent: packet.sent, bytes, rtt };
            if receipt.marked {
                self.counts.marked += 1;
                self.control.on_packet_marked(&acked);
            } else {
                self.control.on_packet_acked(&acked);
            }
        }
        self.edge = self.edge.max(ack.edge);
        self.detect_losses(now);
        self.control.on_batch_end(now);
        self.deferred = false;
    }

    /// Declares lost what was overtaken by three packets or 9/8 of a round trip; returns whether something was.
    fn detect_losses(&mut self, now: Time) -> bool {
        let Some(largest) = self.largest_acked else { return false };
        let loss_delay = self.rtt.loss_delay();
        let lost_before = self.counts.lost;
        while let Some((number, &packet)) = self.outstanding.first() {
            if number > largest || (number + PACKET_THRESHOLD > largest && packet.sent + loss_delay > now) {
                break;
            }
            self.outstanding.take(number);
            let bytes = u64::from(packet.bytes);
            self.in_flight -= bytes;
            self.counts.lost += 1;
            self.repeat.extend(packet.segment);
            self.control.on_packet_lost(&LostPacket { time: now, number, sent: packet.sent, bytes });
        }
        self.counts.lost > lost_before
    }

    /// Serves the timers that are due.
    pub fn on_time(&mut self, now: Time) {
        self.deferred = false;
        if self.timer().is_some_and(|due| due <= now) {
            if self.detect_losses(now) {
                self.control.on_batch_end(now);
            } else {
                self.timeouts += 1;
                self.probe = true;
            }
        }
        if self.control.deadline().is_some_and(|due| due <= now) {
            self.control.on_deadline(now);
        }
    }

    /// The next packet, if one may go.
    pub fn send(&mut self, now: Time) -> Option<Departure> {
        let segment = if self.probe {
            // A probe timeout sends at once, whatever the window and the pacer say (RFC 9002, section 6.2.4).
            self.probe = false;
            self.next_waiting(now).or_else(|| self.oldest_outstanding())?
        } else {
            if !self.pacer.lets_go(now) {
                return None;
            }
            if !self.may_send() {
                self.pacer.forgive(now);
                return None;
            }
            if self.pacer.is_bursty() && !self.pacer.in_burst() && !self.begins_burst(now) {
                self.deferred = true;
                return None;
            }
            let Some(segment) = self.next_waiting(now) else {
                self.pacer.end_burst(now, self.control.pacing_rate());
                self.pacer.forgive(now);
                self.control.on_app_limited(now);
                return None;
            };
            segment
        };
        let (number, bytes) = (self.next_number, self.source.packet_bytes(segment, self.packet_bytes));
        self.next_number += 1;
        self.outstanding.insert(number, Outstanding { sent: now, segment: Some(segment), bytes });
        self.in_flight += u64::from(bytes);
        self.counts.sent += 1;
        self.last_sent = now;
        self.control.on_packet_sent(&SentPacket { time: now, number, bytes: bytes.into() });
        let ends_burst = self.pacer.on_sent(now, bytes.into(), self.control.pacing_rate());
        Some(Departure { number, segment, bytes, ecn: self.ecn, ends_burst })
    }

    /// Begins a burst, unless it is worth waiting until the window has room for a full one (`tcp_tso_should_defer`).
    fn begins_burst(&mut self, now: Time) -> bool {
        let (packet, cap) = (u64::from(self.packet_bytes), self.control.in_flight_cap());
        let room = cap.saturating_sub(self.in_flight) / packet;
        let full = match self.control.allows_bursts() {
            true => self.pacer.burst_packets(self.burst_rate(), packet),
            false => 1,
        };
        let beyond = self.next_segment.saturating_add(room);
        // The next acknowledgement is half a round trip away, or more; a round trip that isn't known yet is.
        let acked_late = || match (self.rtt.smoothed(), self.outstanding.first()) {
            (Some(rtt), Some((_, oldest))) => oldest.sent + rtt / 2 > now,
            _ => true,
        };
        let goes = room >= full
            || room >= cap / packet / WINDOW_DIVISOR
            || !self.repeat.is_empty()
            || now.since(self.last_sent) > LONG_AGO
            || !self.source.is_ready(now, beyond)
            || acked_late();
        if goes {
            self.pacer.begin_burst(full.min(room).max(1));
        }
        goes
    }

    /// The rate that sizes bursts.
    fn burst_rate(&self) -> Option<Rate> {
        let of_window =
            || Some(Rate::from_bytes_over(self.control.in_flight_cap(), self.rtt.smoothed()?) * RATE_OF_WINDOW);
        self.control.pacing_rate().or_else(of_window)
    }

    /// What is lost goes before what is new.
    fn next_waiting(&mut self, now: Time) -> Option<u64> {
        self.repeat.pop_front().or_else(|| {
            let segment = self.next_segment;
            (segment < self.edge && self.source.is_ready(now, segment)).then(|| {
                self.next_segment += 1;
                segment
            })
        })
    }

    /// The segment of the oldest packet that has one; a probe takes it over.
    fn oldest_outstanding(&mut self) -> Option<u64> {
        let number = self.outstanding.iter().find(|(_, packet)| packet.segment.is_some())?.0;
        self.outstanding.get_mut(number)?.segment.take()
    }
}
