//! What all window-based controllers share; a [`Rule`] is what makes them different.
//!
//! Windows are counted in packets of the current size and grow by the bytes acknowledged (RFC 3465, without its limit
//! of two packets for each acknowledgement, as in Linux and RFC 9002). A lost packet whose acknowledgement comes late
//! stays lost: reductions are not undone.
//!
//! A mark (RFC 3168) is answered as a loss is, at most once for all marks and losses of a round trip, unless the rule says
//! otherwise. Linux does so too, whatever the controller: it asks for the threshold after a loss.

mod congestion_window;
mod pacing;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use congestion_window::Window;
pub(crate) use pacing::Pacing;

use super::persistent::LossRun;
use super::rtt::Rtt;
use crate::limits::{self, INITIAL_MTU, MIN_RATE, usable_mtu};
use pcc::{AckedPacket, CongestionControl, Ecn, LostPacket, PacketTable, Rate, SentPacket, Time};
use std::fmt::Debug;
use std::time::Duration;

/// The initial window in packets (RFC 6928).
const INITIAL_WINDOW: f64 = limits::INITIAL_WINDOW as f64;
/// The minimum window in packets (RFC 9002, section 7.2).
const MIN_WINDOW: f64 = 2.0;

/// What acknowledgements that came together told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub now: Time,
    /// Packets acknowledged.
    pub packets: f64,
    /// Of those, packets that had been marked.
    pub marked: f64,
    pub rtt: Rtt,
    /// Whether they are the first of a new round trip.
    pub round: bool,
}

/// How the window of one controller changes.
pub(crate) trait Rule: Debug + Send + Sync {
    /// Any acknowledgement, also one that mustn't change the window (in recovery, or when the application limits).
    fn on_ack(&mut self, window: &Window, ack: &Ack) {
        let _ = (window, ack);
    }

    /// Slow start (RFC 5681, section 3.1).
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        window.slow_start(ack.packets);
    }

    /// Congestion avoidance.
    fn avoid(&mut self, window: &mut Window, ack: &Ack);

    /// The window, in packets, after a loss at a window of `size`.
    fn after_loss(&mut self, size: f64) -> f64;

    /// The window, in packets, after a mark at a window of `size`.
    fn after_mark(&mut self, size: f64) -> f64 {
        self.after_loss(size)
    }

    /// Whether its packets may be marked.
    fn ecn(&self) -> Ecn {
        Ecn::Usable
    }

    /// Persistent congestion: what was learnt of the path may no longer hold.
    fn reset(&mut self) {}
}

#[derive(Debug)]
struct Outstanding {
    bytes: u64,
    /// Which transmission it is; unlike packet numbers without gaps.
    index: u64,
}

/// What a batch brought so far.
#[derive(Debug, Default)]
struct Batch {
    acked: u64,
    /// Of those the bytes that may make the window grow.
    growing: u64,
    /// The highest number acknowledged and its round-trip time.
    newest: Option<(u64, Duration)>,
    /// Of the acknowledged bytes those that had been marked.
    marked: u64,
    /// A packet was lost that was sent after the last reduction, or came back marked.
    lost: bool,
    echoed: bool,
    persistent: bool,
}

/// A window-based controller.
#[derive(Debug)]
pub(crate) struct Windowed<R> {
    rule: R,
    pacing: Pacing,
    window: Window,
    /// In packets.
    initial_window: f64,
    mtu: u64,
    outstanding: PacketTable<Outstanding>,
    in_flight: u64,
    /// The maximum of bytes in flight during the round before and in this one.
    peaks: [u64; 2],
    transmissions: u64,
    /// One above the highest number sent.
    next: u64,
    /// The round trip is over when this number is acknowledged.
    round_end: u64,
    /// Losses and acknowledgements of lower numbers say nothing about the window after the last reduction.
    recovery_end: u64,
    /// Lower numbers were sent while the application limited the sender.
    limited_end: u64,
    rtt: Option<Rtt>,
    losses: LossRun,
    batch: Batch,
    last_event: Time,
}

impl<R: Rule> Windowed<R> {
    pub fn new(rule: R, pacing: Pacing) -> Windowed<R> {
        Windowed {
            rule,
            pacing,
            window: Window { size: INITIAL_WINDOW, threshold: f64::INFINITY },
            initial_window: INITIAL_WINDOW,
            mtu: INITIAL_MTU,
            outstanding: PacketTable::default(),
            in_flight: 0,
            peaks: [0; 2],
            transmissions: 0,
            next: 0,
            round_end: 0,
            recovery_end: 0,
            limited_end: 0,
            rtt: None,
            losses: LossRun::default(),
            batch: Batch::default(),
            last_event: Time::ZERO,
        }
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mtu as f64
    }

    fn forget(&mut self, number: u64) -> Option<Outstanding> {
        let packet = self.outstanding.take(number)?;
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
        Some(packet)
    }

    /// Halves the window for each timeout of silence, down to the initial one (RFC 5681, section 4.1; RFC 2861).
    fn restart_after_idle(&mut self, now: Time) {
        let Some(rtt) = self.rtt.filter(|_| self.in_flight == 0) else { return };
        let timeout = rtt.probe_timeout();
        let mut idle = now.since(self.last_event).as_secs_f64();
        if idle > timeout {
            self.window.threshold = self.window.threshold.max(0.75 * self.window.size);
        }
        while idle > timeout && self.window.size > self.initial_window {
            idle -= timeout;
            self.window.size = (self.window.size / 2.0).max(self.initial_window);
        }
    }

    /// Takes the round-trip sample, which only the newest packet of a batch gives (RFC 9002, section 5.1).
    fn sample(&mut self, now: Time, number: u64, sample: Duration) -> (Rtt, bool) {
        let rtt = self.rtt.map_or_else(|| Rtt::new(now, sample), |rtt| rtt.updated(sample));
        self.rtt = Some(rtt);
        let round = number >= self.round_end;
        if round {
            self.round_end = self.next;
            self.peaks = [self.peaks[1], self.in_flight];
        }
        (rtt, round)
    }

    /// Once for all losses and marks of a round trip (RFC 6582; RFC 3168, section 6.1.2; RFC 9002, section 7.3.2).
    fn reduce(&mut self, lost: bool) {
        self.recovery_end = self.next;
        let size = self.window.size;
        let left = if lost { self.rule.after_loss(size) } else { self.rule.after_mark(size) };
        self.window.size = left.max(MIN_WINDOW);
        self.window.threshold = self.window.size;
    }

    /// A window that isn't used mustn't grow (RFC 9002, section 7.8), here: one of which never half was in flight.
    fn is_used(&self) -> bool {
        self.window.size < 2.0 * self.packets(self.peaks[0].max(self.peaks[1]))
    }

    fn grow(&mut self, ack: &Ack) {
        if self.window.in_slow_start() {
            self.rule.slow_start(&mut self.window, ack);
        } else {
            self.rule.avoid(&mut self.window, ack);
        }
        self.window.size = self.window.size.max(MIN_WINDOW);
    }
}

impl<R: Rule> CongestionControl for Windowed<R> {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        let outstanding = Outstanding { bytes: packet.bytes, index: self.transmissions };
        if !self.outstanding.insert(packet.number, outstanding) {
            return;
        }
        self.restart_after_idle(packet.time);
        self.last_event = packet.time;
        self.transmissions += 1;
        self.next = packet.number.saturating_add(1);
        self.in_flight = self.in_flight.saturating_add(packet.bytes);
        self.peaks[1] = self.peaks[1].max(self.in_flight);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        let Some(Outstanding { bytes, .. }) = self.forget(packet.number) else { return };
        self.last_event = packet.time;
        self.batch.acked = self.batch.acked.saturating_add(bytes);
        if packet.number >= self.recovery_end.max(self.limited_end) {
            self.batch.growing = self.batch.growing.saturating_add(bytes);
        }
        self.batch.newest = self.batch.newest.max(Some((packet.number, packet.rtt)));
    }

    fn on_packet_marked(&mut self, packet: &AckedPacket) {
        let before = self.batch.acked;
        self.on_packet_acked(packet);
        let marked = self.batch.acked - before;
        self.batch.marked = self.batch.marked.saturating_add(marked);
        self.batch.echoed |= marked > 0 && packet.number >= self.recovery_end;
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        let Some(Outstanding { index, .. }) = self.forget(packet.number) else { return };
        self.last_event = packet.time;
        self.batch.lost |= packet.number >= self.recovery_end;
        if let Some(rtt) = self.rtt.filter(|rtt| packet.sent > rtt.since) {
            self.batch.persistent |= self.losses.add(index, packet.sent, &rtt);
        }
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.forget(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        let batch = std::mem::take(&mut self.batch);
        let ack = batch.newest.map(|(number, sample)| {
            let (rtt, round) = self.sample(now, number, sample);
            Ack { now, packets: self.packets(batch.acked), marked: self.packets(batch.marked), rtt, round }
        });
        if let Some(ack) = &ack {
            self.rule.on_ack(&self.window, ack);
        }
        let congested = batch.lost || batch.echoed;
        if congested {
            self.reduce(batch.lost);
        }
        if batch.persistent {
            self.window.size = MIN_WINDOW;
            self.rule.reset();
        }
        let growing = Some(self.packets(batch.growing)).filter(|packets| *packets > 0.0 && !congested);
        if let (Some(ack), Some(packets)) = (ack, growing)
            && self.is_used()
        {
            self.grow(&Ack { packets, ..ack });
        }
    }

    fn on_app_limited(&mut self, _now: Time) {
        self.limited_end = self.next;
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = usable_mtu(mtu);
    }

    fn on_initial_window(&mut self, packets: u32) {
        self.initial_window = f64::from(packets).max(MIN_WINDOW);
        self.window.size = self.initial_window;
    }

    fn ecn(&self) -> Ecn {
        self.rule.ecn()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let gain = self.pacing.gain(&self.window)?;
        let window = self.window.size * self.mtu as f64 * 8.0;
        Some(Rate::from_bits_per_sec(gain * window / self.rtt?.smoothed).max(MIN_RATE))
    }

    fn in_flight_cap(&self) -> u64 {
        (self.window.size * self.mtu as f64) as u64
    }
}
