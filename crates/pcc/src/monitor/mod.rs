//! Monitor intervals: which packet belongs to which, and when an interval's result is known (SPEC 0.1 to 0.5).

mod interval;
mod regression;
#[cfg(test)]
mod tests;

pub use interval::{IntervalPlan, Measurement, Role};
pub use regression::Regression;

use crate::contract::{AckedPacket, LostPacket, SentPacket};
use crate::packets::PacketTable;
use crate::units::{Time, nanos};
use alloc::collections::VecDeque;
use core::time::Duration;
use interval::Interval;

/// What is known of an outstanding packet; `interval` is the id of the one it was sent in.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    interval: u64,
    bytes: u64,
    sent: Time,
}

/// A packet that is still outstanding so many intervals after its own is forgotten.
const FORGOTTEN_AFTER: u64 = 16;

/// Packets count as so many bytes at most, so that no sum of sizes overflows: no network takes larger ones.
pub(crate) const MAX_PACKET_BYTES: u64 = u32::MAX as u64;

/// Round-trip times are capped here: nothing on Earth or in orbit takes longer, and sums stay finite.
const MAX_RTT: Duration = Duration::from_secs(600);

/// One part of so many of a new round-trip time goes into the smoothed one (RFC 6298, section 2: alpha = 1/8).
const SRTT_PART: u64 = 8;

/// A packet counts as lost when one was acknowledged that was sent one part of so many of a round trip later, as in RFC 9002 (section
/// 6.1.2: after 9/8 of a round trip).
const PATIENCE_PART: u64 = 8;
/// The reorder window is the lateness of an acknowledgement and one part of so many of it, so that the next may be a little later.
const LATENESS_PART: u32 = 4;
/// What remains of the reorder window after an interval: reordering that is over is forgotten in some hundred intervals.
const REORDER_DECAY: f64 = 0.99;

/// Keeps the monitor intervals in flight and attributes each transmission's outcome to the interval it was sent in.
///
/// An interval closes when all its packets have an outcome, or when a packet that was sent a reorder window after
/// its last one has been acknowledged; what is missing then counts as lost (SPEC 0.3). Closing happens only
/// between batches, so the order of outcomes inside a batch doesn't matter.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    packets: PacketTable<Outstanding>,
    /// Open intervals, oldest first; the last one is being sent unless it has ended.
    intervals: VecDeque<Interval>,
    /// The id of the front interval; ids count up.
    front: u64,
    /// Whether an interval that is waited for closed without a result.
    void: bool,
    in_flight: u64,
    /// See [`Monitor::given_up`], and the number from which on packets were sent later.
    given_up: u64,
    given_up_below: u64,
    /// The number after that of the last packet.
    next_number: u64,
    /// The latest send time of an acknowledged packet.
    acked_until: Option<Time>,
    /// The same before the batch being reported.
    acked_before: Option<Time>,
    reorder_window: Duration,
    late_acks: u64,
    /// Of the batch being reported: the newest packet acknowledged and its round-trip time, in nanoseconds as below.
    newest_ack: Option<(u64, u64)>,
    /// Of the batch being reported: when the oldest packet was sent whose acknowledgement came late.
    oldest_late: Option<Time>,
    /// In nanoseconds: dividing a [`Duration`] costs more than all else that a packet does to it.
    srtt: Option<u64>,
    min_rtt: Option<u64>,
    last_mean_rtt: Option<f64>,
}

impl Monitor {
    /// Whether the interval being sent is complete (or there is none), so that the next packet needs a new plan.
    pub fn needs_plan(&self) -> bool {
        self.intervals.back().is_none_or(|interval| interval.ended)
    }

    /// Begins an interval; it starts with the next packet (SPEC 0.2, "trap").
    pub fn begin(&mut self, plan: IntervalPlan) {
        self.intervals.push_back(Interval::new(plan));
    }

    /// Ends the interval being sent. `abandon` makes it and all that are still in flight useless to the
    /// controller: they become [`Role::Hold`] (re-alignment, SPEC 0.5).
    pub fn end(&mut self, abandon: bool) {
        if abandon {
            for interval in &mut self.intervals {
                interval.plan.role = Role::Hold;
            }
        }
        if let Some(interval) = self.intervals.back_mut() {
            interval.ended = true;
        }
        // An interval without a packet never was.
        if self.intervals.back().is_some_and(|interval| interval.span.is_none()) {
            self.intervals.pop_back();
        }
    }

    /// Counts a packet into the interval being sent, and ends that when it is long enough.
    pub fn on_sent(&mut self, packet: &SentPacket) {
        let id = self.front + (self.intervals.len() as u64).saturating_sub(1);
        let bytes = packet.bytes.min(MAX_PACKET_BYTES);
        let outstanding = Outstanding { interval: id, bytes, sent: packet.time };
        let Some(interval) = self.intervals.back_mut() else { return };
        if !self.packets.insert(packet.number, outstanding) {
            return;
        }
        self.in_flight += bytes;
        self.next_number = packet.number.saturating_add(1);
        interval.on_sent(packet.time, bytes);
        interval.ended = interval.is_long_enough();
    }

    /// Counts an acknowledgement; returns `false` for a packet that isn't outstanding.
    pub fn on_acked(&mut self, packet: &AckedPacket) -> bool {
        let Some(outstanding) = self.packets.take(packet.number) else { return false };
        self.leave(packet.number, &outstanding);
        let rtt = packet.rtt.min(MAX_RTT);
        let rtt_nanos = nanos(rtt);
        self.min_rtt = Some(self.min_rtt.map_or(rtt_nanos, |min| min.min(rtt_nanos)));
        if self.newest_ack.is_none_or(|(number, _)| number < packet.number) {
            self.newest_ack = Some((packet.number, rtt_nanos));
        }
        match self.interval(outstanding.interval) {
            Some(interval) => interval.on_acked(outstanding.sent, outstanding.bytes, rtt),
            None => {
                self.late_acks += 1;
                self.oldest_late =
                    Some(self.oldest_late.map_or(outstanding.sent, |oldest| oldest.min(outstanding.sent)));
            }
        }
        self.acked_until = self.acked_until.max(Some(outstanding.sent));
        true
    }

    /// Takes in what a batch told of the path as a whole, so that the order inside the batch doesn't matter.
    #[inline]
    pub(crate) fn end_batch(&mut self) {
        if let Some((_, rtt)) = self.newest_ack.take() {
            // The newest packet's sample (RFC 9002, section 5.1).
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt - srtt / SRTT_PART + rtt / SRTT_PART));
        }
        if let (Some(sent), Some(acked_before)) = (self.oldest_late.take(), self.acked_before) {
            // The packet was counted as lost when its interval closed: wait longer from now on.
            let lateness = acked_before.since(sent);
            let longest = self.srtt().unwrap_or_default();
            self.reorder_window = self.reorder_window.max(lateness + lateness / LATENESS_PART).min(longest);
        }
        self.acked_before = self.acked_until;
    }

    /// Counts a loss; returns `false` for a packet that isn't outstanding.
    pub fn on_lost(&mut self, packet: &LostPacket) -> bool {
        let Some(outstanding) = self.packets.take(packet.number) else { return false };
        self.leave(packet.number, &outstanding);
        if let Some(interval) = self.interval(outstanding.interval) {
            interval.on_lost(outstanding.bytes);
        }
        true
    }

    /// Removes a packet of which nobody will ever know whether it arrived.
    pub fn on_discarded(&mut self, number: u64) {
        let Some(outstanding) = self.packets.take(number) else { return };
        self.leave(number, &outstanding);
        if let Some(interval) = self.interval(outstanding.interval) {
            interval.on_discarded(outstanding.bytes);
        }
    }

    fn leave(&mut self, number: u64, packet: &Outstanding) {
        self.in_flight -= packet.bytes;
        if number < self.given_up_below {
            self.given_up -= packet.bytes;
        }
    }

    fn interval(&mut self, id: u64) -> Option<&mut Interval> {
        let index = usize::try_from(id.checked_sub(self.front)?).ok()?;
        self.intervals.get_mut(index)
    }

    /// Closes the oldest interval if its result is known. To be called, repeatedly, between batches only.
    pub fn close_next(&mut self) -> Option<(Role, Measurement)> {
        self.end_batch();
        self.close_known()
    }

    /// The same for a batch that has been ended.
    #[inline]
    pub(crate) fn close_known(&mut self) -> Option<(Role, Measurement)> {
        while self.is_front_known() {
            if let Some(result) = self.close_front() {
                return Some(result);
            }
        }
        None
    }

    /// Whether the result of the oldest interval is known. Asked for each batch.
    #[inline(always)]
    fn is_front_known(&self) -> bool {
        let Some(interval) = self.intervals.front().filter(|interval| interval.ended) else { return false };
        let Some((_, last)) = interval.span else { return false };
        interval.is_resolved() || self.acked_until.is_some_and(|acked| acked > last && acked >= last + self.patience())
    }

    /// Closes the front interval; `None` if all its packets were discarded.
    #[inline(never)]
    fn close_front(&mut self) -> Option<(Role, Measurement)> {
        let interval = self.intervals.pop_front()?;
        self.front += 1;
        self.reorder_window = self.reorder_window.mul_f64(REORDER_DECAY);
        self.forget_old_packets();
        let Some(measurement) = interval.measure(self.last_mean_rtt, self.min_rtt()) else {
            self.void |= interval.plan.role != Role::Hold;
            return None;
        };
        if interval.packets_acked > 0 {
            self.last_mean_rtt = Some(measurement.rtt);
        }
        Some((interval.plan.role, measurement))
    }

    /// Whether, since the last call, an interval that is waited for closed without a result, because all its
    /// packets were discarded.
    pub fn take_void(&mut self) -> bool {
        core::mem::take(&mut self.void)
    }

    /// Drops every interval in flight without a result, because the path fell silent. All that is in flight is [given up](Self::given_up).
    pub fn drop_all(&mut self) {
        (self.given_up, self.given_up_below) = (self.in_flight, self.next_number);
        // In a long silence many begin in which nothing is sent.
        self.front += self.intervals.iter().filter(|interval| interval.span.is_some()).count() as u64;
        self.intervals.clear();
        self.forget_old_packets();
    }

    fn forget_old_packets(&mut self) {
        while let Some((number, outstanding)) = self.packets.first() {
            if outstanding.interval + FORGOTTEN_AFTER >= self.front {
                break;
            }
            self.on_discarded(number);
        }
    }

    /// How much later than an interval's end a packet must have been sent for its acknowledgement to close the interval.
    fn patience(&self) -> Duration {
        self.reorder_window.max(Duration::from_nanos(self.srtt.unwrap_or_default() / PATIENCE_PART))
    }

    /// Bytes that are neither acknowledged nor lost.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Those of them that were in flight when the path was found to be silent last. Most of their packets were lost, but the transport may not
    /// know before it has sent others.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// The smoothed round-trip time (RFC 6298).
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt.map(Duration::from_nanos)
    }

    /// The smallest round-trip time so far and the smoothed one, in nanoseconds.
    pub(crate) fn rtt_nanos(&self) -> Option<(u64, u64)> {
        Some((self.min_rtt?, self.srtt?))
    }

    /// The smallest round-trip time so far.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.map(Duration::from_nanos)
    }

    /// The mean round-trip time of the interval that closed last.
    pub fn last_mean_rtt(&self) -> Option<Duration> {
        self.last_mean_rtt.map(Duration::from_secs_f64)
    }

    /// Acknowledgements that came after their interval had closed.
    pub fn late_acks(&self) -> u64 {
        self.late_acks
    }
}
