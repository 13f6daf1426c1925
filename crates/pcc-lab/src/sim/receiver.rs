//! The receiving end of a flow: what has arrived, and when that is acknowledged.

use super::host::ReceiverHost;
use super::receive_window::ReceiveWindow;
use super::wire::Departure;
use crate::link::Codepoint;
use pcc::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// When a receiver acknowledges; what arrives out of order it acknowledges at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// As soon as this many packets have arrived, at least 1 ...
    pub every: u64,
    /// ... or one has waited for this long ...
    pub max_delay: Duration,
    /// ... or one ends a burst of several, of which Linux's receiver, since 6.6, doesn't wait for more (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`:
    /// 4720852ed9af).
    pub ends_of_bursts: bool,
    /// So many acknowledgements at the beginning wait for nothing: 16 of Linux's (`TCP_MAX_QUICKACKS`).
    pub quick: u32,
}

impl Default for AckPolicy {
    /// Each packet, as in UDT and the authors' senders.
    fn default() -> Self {
        AckPolicy { every: 1, max_delay: Duration::from_millis(25), ends_of_bursts: false, quick: 0 }
    }
}

/// A packet that arrived, in the order of arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    pub number: u64,
    pub time: Time,
    /// Whether it had been marked, which the acknowledgement says of each packet.
    pub marked: bool,
}

/// An acknowledgement on its way back. It covers everything that arrived before it was sent, as the ranges of QUIC (RFC 9000,
/// section 19.3) or the selective blocks of TCP do where no acknowledgement is lost for long, so that a later one makes up for a lost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    /// The number of receipts that it covers.
    pub receipts: u64,
    /// How long the newest of them waited for it.
    pub delay: Duration,
    /// All segments below this one may be sent.
    pub edge: u64,
}

#[derive(Debug)]
pub(super) struct Receiver {
    policy: AckPolicy,
    /// So many acknowledgements at the beginning are left.
    quick: u32,
    /// The receipts that the sender has not yet heard of, and the number of those before.
    receipts: VecDeque<Receipt>,
    forgotten: u64,
    /// The receipts covered by the acknowledgement that was sent last.
    acked: u64,
    newest: Option<u64>,
    /// When a delayed acknowledgement must go.
    ack_due: Option<Time>,
    /// Of Linux's SACK compression, if it is on.
    compression: Option<Compression>,
    /// How much may be sent; `None` for as much as the sender likes.
    window: Option<ReceiveWindow>,
    /// The round-trip time, once it is known.
    pub rtt: Duration,
    /// All segments below this one have arrived.
    pub in_order: u64,
    /// Those beyond it, from `in_order` on, and how many of them have.
    beyond: VecDeque<bool>,
    held: u64,
}

/// Duplicate acknowledgements that are sent at once, the most that are put together, and for how long at most, or which share of a
/// round trip (Linux, `__tcp_ack_snd_check`: `TCP_FASTRETRANS_THRESH`, `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`).
const DUPLICATES_AT_ONCE: u32 = 3;
const MOST_COMPRESSED: u32 = 44;
const MAX_COMPRESSION: Duration = Duration::from_millis(1);
const COMPRESSION_SHARE: u32 = 20;

#[derive(Clone, Copy, Debug, Default)]
struct Compression {
    /// Duplicate acknowledgements since data last arrived in order, those put together since the last one went.
    duplicates: u32,
    compressed: u32,
}

impl Receiver {
    pub fn new(policy: AckPolicy, host: &ReceiverHost) -> Receiver {
        Receiver {
            policy,
            quick: policy.quick,
            compression: host.sack_compression.then(Compression::default),
            window: host.receive_window.then(ReceiveWindow::new),
            rtt: Duration::ZERO,
            receipts: VecDeque::new(),
            forgotten: 0,
            acked: 0,
            newest: None,
            ack_due: None,
            in_order: 0,
            beyond: VecDeque::new(),
            held: 0,
        }
    }

    /// A packet arrives. Returns whether its segment is new, and the acknowledgement that it brings about.
    pub fn on_packet(&mut self, now: Time, packet: &Departure) -> (bool, Option<Ack>) {
        let (new, due) = self.take(now, packet);
        (new, if due { self.ack(now) } else { None })
    }

    /// Takes a packet in. Returns whether its segment is new, and whether it should be acknowledged at once.
    #[inline]
    pub fn take(&mut self, now: Time, &Departure { number, segment, ecn, ends_burst, .. }: &Departure) -> (bool, bool) {
        let marked = ecn == Codepoint::Ce;
        self.receipts.push_back(Receipt { number, time: now, marked });
        // Whatever hints at a loss is acknowledged at once, and so is a mark (RFC 9000, section 13.2.1).
        let next = self.newest.map_or(0, |newest| newest + 1);
        self.newest = self.newest.max(Some(number));
        let waiting = self.forgotten + self.receipts.len() as u64 - self.acked;
        let before = self.in_order;
        let new = self.take_segment(segment);
        if let (true, Some(window)) = (new, &mut self.window) {
            window.on_segment(now, self.rtt, self.in_order, self.beyond.len() as u64, self.held);
        }
        let (wait, at_once) = match &mut self.compression {
            Some(compression) if new && self.in_order == before => compression.duplicate(self.rtt),
            Some(compression) => {
                compression.duplicates = 0;
                (self.policy.max_delay, !new || self.in_order > before + 1)
            }
            None => (self.policy.max_delay, number != next),
        };
        let patient = self.compression.is_some() && self.in_order == before;
        let AckPolicy { every, ends_of_bursts, .. } = self.policy;
        let enough = waiting >= every || (ends_burst && ends_of_bursts) || self.quick > 0;
        let due = at_once || marked || (!patient && enough);
        if !due {
            let at = now + wait;
            self.ack_due = Some(self.ack_due.map_or(at, |due| due.min(at)));
        }
        (new, due)
    }

    fn take_segment(&mut self, segment: u64) -> bool {
        let Some(offset) = segment.checked_sub(self.in_order) else { return false };
        if offset == 0 {
            self.beyond.pop_front();
            self.in_order += 1;
            while self.beyond.front() == Some(&true) {
                self.beyond.pop_front();
                self.in_order += 1;
                self.held -= 1;
            }
            return true;
        }
        let offset = offset as usize;
        if self.beyond.len() <= offset {
            self.beyond.resize(offset + 1, false);
        }
        let new = !std::mem::replace(&mut self.beyond[offset], true);
        self.held += u64::from(new);
        new
    }

    /// The acknowledgement of all that has arrived.
    pub fn ack(&mut self, now: Time) -> Option<Ack> {
        self.ack_due = None;
        self.quick = self.quick.saturating_sub(1);
        self.compression.iter_mut().for_each(|compression| compression.compressed = 0);
        self.acked = self.forgotten + self.receipts.len() as u64;
        let newest = self.receipts.back()?;
        Some(Ack { receipts: self.acked, delay: now.since(newest.time), edge: self.edge() })
    }

    /// All segments below this one may be sent.
    pub fn edge(&self) -> u64 {
        self.window.map_or(u64::MAX, |window| window.edge)
    }

    /// When [`on_time`](Self::on_time) wants to be called.
    pub fn next_event(&self) -> Option<Time> {
        self.ack_due
    }

    /// The delayed acknowledgement, if it is due.
    pub fn on_time(&mut self, now: Time) -> Option<Ack> {
        if self.ack_due? <= now { self.ack(now) } else { None }
    }

    /// The sender hears of the next receipt that `ack` covers.
    pub fn report(&mut self, ack: &Ack) -> Option<Receipt> {
        if self.has_reported(ack) {
            return None;
        }
        self.forgotten += 1;
        self.receipts.pop_front()
    }

    /// Whether the sender has heard of all that `ack` covers.
    pub fn has_reported(&self, ack: &Ack) -> bool {
        self.forgotten >= ack.receipts
    }
}

impl Compression {
    /// A packet beyond a gap: how long its acknowledgement may wait, and whether it goes at once.
    fn duplicate(&mut self, rtt: Duration) -> (Duration, bool) {
        if self.duplicates < DUPLICATES_AT_ONCE {
            self.duplicates += 1;
            return (Duration::ZERO, true);
        }
        self.compressed += 1;
        (MAX_COMPRESSION.min(rtt / COMPRESSION_SHARE), self.compressed > MOST_COMPRESSED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn packet(number: u64, segment: u64) -> Departure {
        Departure { number, segment, bytes: 1500, ecn: Codepoint::NotEct, ends_burst: false }
    }

    fn compressing() -> ReceiverHost {
        ReceiverHost { sack_compression: true, ..ReceiverHost::default() }
    }

    fn delayed() -> Receiver {
        Receiver::new(AckPolicy { every: 2, ..AckPolicy::default() }, &ReceiverHost::default())
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_a_lone_one_later() {
        let mut receiver = delayed();
        assert_eq!(receiver.on_packet(at(0), &packet(0, 0)), (true, None));
        let ack = Ack { receipts: 2, delay: Duration::ZERO, edge: u64::MAX };
        assert_eq!(receiver.on_packet(at(1), &packet(1, 1)), (true, Some(ack)));
        assert_eq!(receiver.next_event(), None);
        assert_eq!(receiver.on_packet(at(2), &packet(2, 2)), (true, None));
        assert_eq!(receiver.on_time(at(26)), None);
        assert_eq!(receiver.next_event(), Some(at(27)));
        assert_eq!(
            receiver.on_time(at(27)),
            Some(Ack { receipts: 3, delay: Duration::from_millis(25), edge: u64::MAX })
        );
    }

    #[test]
    fn linux_waits_for_no_packet_at_the_beginning_and_at_the_end_of_a_burst() {
        let acknowledged = |policy, ends_burst| {
            let mut receiver = Receiver::new(AckPolicy { every: 2, ..policy }, &compressing());
            [0, 1, 2].map(|n| receiver.on_packet(at(n), &Departure { ends_burst, ..packet(n, n) }).1.is_some())
        };
        let (usual, all) = (AckPolicy::default(), [true; 3]);
        assert_eq!(acknowledged(usual, true), [false, true, false]);
        assert_eq!(acknowledged(AckPolicy { ends_of_bursts: true, ..usual }, true), all);
        assert_eq!(acknowledged(AckPolicy { ends_of_bursts: true, ..usual }, false), [false, true, false]);
        assert_eq!(acknowledged(AckPolicy { quick: 2, ..usual }, false), [true, true, false]);
    }

    #[test]
    fn a_gap_is_acknowledged_at_once() {
        let mut receiver = delayed();
        receiver.on_packet(at(0), &packet(0, 0));
        receiver.on_packet(at(0), &packet(1, 1));
        assert!(receiver.on_packet(at(1), &packet(3, 3)).1.is_some());
        assert!(receiver.on_packet(at(2), &packet(2, 2)).1.is_some(), "out of order");
    }

    #[test]
    fn a_mark_is_acknowledged_at_once_and_told_of_its_packet() {
        let mut receiver = delayed();
        receiver.on_packet(at(0), &packet(0, 0));
        receiver.on_packet(at(1), &packet(1, 1));
        let (_, ack) = receiver.on_packet(at(2), &Departure { ecn: Codepoint::Ce, ..packet(2, 2) });
        let ack = ack.expect("at once, though it is alone");
        let told: Vec<bool> = std::iter::from_fn(|| receiver.report(&ack)).map(|receipt| receipt.marked).collect();
        assert_eq!(told, [false, false, true]);
    }

    #[test]
    fn a_segment_counts_once_and_the_order_is_followed() {
        let mut receiver = delayed();
        let new = [0, 2, 3, 2, 0, 1, 1].map(|segment| receiver.take_segment(segment));
        assert_eq!(new, [true, true, true, false, false, true, false]);
        assert_eq!((receiver.in_order, receiver.beyond.len()), (4, 0));
    }

    #[test]
    fn a_later_acknowledgement_makes_up_for_a_lost_one() {
        let mut receiver = Receiver::new(AckPolicy::default(), &ReceiverHost::default());
        let acks: Vec<Ack> = (0..3).filter_map(|n| receiver.on_packet(at(n), &packet(n, n)).1).collect();
        let heard: Vec<u64> = std::iter::from_fn(|| receiver.report(&acks[2])).map(|receipt| receipt.number).collect();
        assert_eq!(heard, [0, 1, 2]);
        assert!(receiver.report(&acks[1]).is_none(), "overtaken");
    }

    /// Three duplicates at once, then one acknowledgement for a twentieth of a round trip, or 44 packets; what fills the gap at once.
    #[test]
    fn sacks_are_compressed_while_a_gap_is_open() {
        let us = |us: u64| Time::from_nanos(us * 1000);
        let mut receiver = Receiver::new(AckPolicy { every: 2, ..AckPolicy::default() }, &compressing());
        receiver.rtt = Duration::from_millis(10);
        receiver.on_packet(us(0), &packet(0, 0));
        let at_once: Vec<bool> = (2..8).map(|n| receiver.on_packet(us(100 + n), &packet(n, n)).1.is_some()).collect();
        assert_eq!(at_once, [true, true, true, false, false, false]);
        assert_eq!(receiver.next_event(), Some(us(605)), "half a millisecond after the first that waits");
        assert_eq!(receiver.on_time(us(605)).map(|ack| ack.receipts), Some(7));
        let after = (8..60).position(|n| receiver.on_packet(us(700), &packet(n, n)).1.is_some());
        assert_eq!(after, Some(44));
        assert!(receiver.on_packet(us(800), &packet(60, 1)).1.is_some(), "the gap is filled");
    }
}
