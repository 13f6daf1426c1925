//! When packets may leave.

use fastrand::Rng;
use pcc::{Rate, Time};
use std::time::Duration;

/// Deterministic pacing into a drop-tail queue locks the phases of flows (SPEC 0.7): each gap varies by this fraction.
const SEND_JITTER: f64 = 0.1;

/// How a sender paces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// Packet by packet; who is late makes up for at most half a gap.
    #[default]
    Exact,
    /// Packet by packet, and a debt is made up as our QUIC sender does: up to 5 ms of the rate, at least 4 packets and at most 16
    /// wake-ups' worth, at 1.5 times the rate, unless the rate has changed (`pacing.rs` of `pcc-quic`).
    CatchUp,
    /// Packet by packet, and a debt is made up at once and in full, as UDT4 does.
    FullCatchUp,
    /// At multiples of this time, all that the rate has earned; up to two periods' worth.
    Tick(Duration),
    /// In bursts as Linux sizes them for segmentation offload, which are paced.
    Bursts,
    /// In such bursts, as soon as the window allows: clocked by acknowledgements.
    None,
}

/// What Linux makes a burst of: 2^-10 s of the pacing rate (`sk_pacing_shift`), at most 64 KB, at least two packets
/// (`tcp_tso_autosize`, `sysctl_tcp_min_tso_segs`).
const BURST_SHIFT: f64 = 1024.0;
const MAX_BURST: u64 = 65_536;
const MIN_BURST_PACKETS: u64 = 2;

/// Our QUIC sender's debt: its time, its bounds in packets and wake-ups, and how much faster it is made up; and the shortest time
/// between two wake-ups (`pacing.rs` and `runtime.rs` of `pcc-quic`).
const MAX_OWED: Duration = Duration::from_millis(5);
const MIN_OWED_PACKETS: u32 = 4;
const MAX_OWED_WAKES: u32 = 16;
const CATCH_UP: f64 = 1.5;
const SAME_RATE: f64 = 0.005;
const MIN_WAIT: Duration = Duration::from_micros(50);

#[derive(Debug)]
pub(super) struct Pacer {
    pacing: Pacing,
    rng: Rng,
    /// The next packet may go at this time.
    next: Time,
    /// When the rate would have let the next packet go, if nothing had been late: before `next` in debt.
    schedule: Time,
    rate: Rate,
    last: Time,
    /// The rest of the burst that is on, in packets, and its bytes so far.
    rest: u64,
    burst_bytes: u64,
}

impl Pacer {
    pub fn new(pacing: Pacing, start: Time, rng: Rng) -> Pacer {
        Pacer { pacing, rng, next: start, schedule: start, rate: Rate::ZERO, last: start, rest: 0, burst_bytes: 0 }
    }

    /// Whether packets leave in bursts.
    #[inline]
    pub fn is_bursty(&self) -> bool {
        matches!(self.pacing, Pacing::Bursts | Pacing::None)
    }

    /// Whether a burst is on.
    #[inline]
    pub fn in_burst(&self) -> bool {
        self.rest > 0
    }

    /// The packets of a full burst.
    pub fn burst_packets(&self, rate: Option<Rate>, packet_bytes: u64) -> u64 {
        let earned = rate.map_or(MAX_BURST, |rate| (rate.bytes_per_sec() / BURST_SHIFT) as u64);
        (earned.min(MAX_BURST) / packet_bytes).max(MIN_BURST_PACKETS)
    }

    /// A burst of so many packets begins.
    pub fn begin_burst(&mut self, packets: u64) {
        self.rest = packets;
    }

    /// There is no more data for the burst.
    pub fn end_burst(&mut self, now: Time, rate: Option<Rate>) {
        self.rest = 0;
        self.pace_burst(now, rate);
    }

    /// The first time from `ready` on at which a packet may leave.
    #[inline]
    pub fn earliest(&self, ready: Time) -> Time {
        match self.pacing {
            Pacing::Exact | Pacing::CatchUp | Pacing::FullCatchUp => ready.max(self.next),
            Pacing::Tick(period) => ready.max(ceil(self.next, period)),
            Pacing::Bursts if !self.in_burst() => ready.max(self.next),
            Pacing::Bursts | Pacing::None => ready,
        }
    }

    /// Whether a packet may leave now.
    #[inline]
    pub fn lets_go(&self, now: Time) -> bool {
        self.earliest(now) <= now
    }

    /// The packets that our QUIC sender may send at a wake-up.
    fn packets_per_wake(&self) -> u32 {
        (self.rate.bytes_per_sec() * MIN_WAIT.as_secs_f64() / 1500.0).round().max(1.0) as u32
    }

    /// Something else than lateness holds packets back: there is no debt.
    pub fn forgive(&mut self, now: Time) {
        self.schedule = self.schedule.max(now);
        if self.pacing == Pacing::FullCatchUp {
            self.next = self.next.max(now);
        }
    }

    /// A packet of `bytes` bytes left at `now`. Returns whether it was the last one of a burst of several.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: Option<Rate>) -> bool {
        if self.is_bursty() {
            let is_first = self.burst_bytes == 0;
            self.burst_bytes += bytes;
            self.rest = self.rest.saturating_sub(1);
            if self.rest == 0 {
                self.pace_burst(now, rate);
            }
            return self.rest == 0 && !is_first;
        }
        let Some(rate) = rate else {
            self.next = now;
            return false;
        };
        let gap = rate.time_for(bytes);
        let varied = self.vary(gap);
        match self.pacing {
            // A sender that was blocked makes up for at most half a gap, as Linux does: no bursts.
            Pacing::Exact | Pacing::Bursts | Pacing::None => self.next = self.next.max(now - gap / 2) + varied,
            Pacing::Tick(period) => self.next = self.next.max(now - period * 2) + varied,
            Pacing::FullCatchUp => self.next += varied,
            Pacing::CatchUp => self.catch_up(now, rate, gap, varied),
        }
        self.last = now;
        false
    }

    fn pace_burst(&mut self, now: Time, rate: Option<Rate>) {
        let bytes = std::mem::take(&mut self.burst_bytes);
        let Some(rate) = rate.filter(|_| self.pacing == Pacing::Bursts && bytes > 0) else { return };
        let gap = rate.time_for(bytes);
        // `tcp_update_skb_after_send`.
        self.next = self.next.max(now - gap / 2) + self.vary(gap);
    }

    fn catch_up(&mut self, now: Time, rate: Rate, gap: Duration, varied: Duration) {
        let change = (rate.bits_per_sec() - self.rate.bits_per_sec()).abs();
        if change > SAME_RATE * self.rate.bits_per_sec() {
            // The debt up to the last packet would falsify the measurement of the new rate.
            self.schedule = self.schedule.max(self.last);
        }
        self.rate = rate;
        let wake = gap * self.packets_per_wake();
        let most = MAX_OWED.max(gap * MIN_OWED_PACKETS).min(wake * MAX_OWED_WAKES);
        self.schedule = (self.schedule + varied).max(now - most);
        let step = if self.schedule < now { varied.div_f64(CATCH_UP) } else { varied };
        // A burst is twice what a wake-up sends.
        let credit = wake * 2 - gap;
        self.next = self.next.max(now - credit) + step;
    }

    #[inline]
    fn vary(&mut self, gap: Duration) -> Duration {
        let varied = 1.0 + SEND_JITTER * (2.0 * self.rng.f64() - 1.0);
        Duration::from_nanos((gap.as_nanos() as f64 * varied) as u64)
    }
}

/// The first multiple of a period that isn't before `time`.
fn ceil(time: Time, period: Duration) -> Time {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    Time::from_nanos(time.as_nanos().div_ceil(period).saturating_mul(period))
}
