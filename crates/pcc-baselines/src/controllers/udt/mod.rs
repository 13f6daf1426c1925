//! UDT (and SABUL before it): Gu, Grossman, "UDT: UDP-based data transfer for high-speed wide area networks", Computer
//! Networks 51, 2007; draft-gg-udt-03; and, where both are silent, UDT4 4.11.
//!
//! UDT4's timeout, which finds the losses of repairs, is left out: the driver finds them.

mod arrivals;
mod sequence;

use crate::limits::{INITIAL_MTU, MIN_RATE, usable_mtu, usable_rtt};
use arrivals::{Arrivals, PAIR_INTERVAL};
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};
use sequence::Sequence;
use std::time::Duration;

/// The interval of rate control (section 3.1).
const SYN: Duration = Duration::from_millis(10);
/// The initial window, and what is added to that of the arrival speed, in packets (UDT4).
const EXTRA_WINDOW: f64 = 16.0;
/// The maximum window in packets: UDT4's flow window.
const MAX_WINDOW: f64 = 25_600.0;
/// `beta` of the increase (equation 7), in packets by bits a second and bytes.
const BETA: f64 = 1.5e-6;
/// A decrease makes the sending period this much longer (equation 8): the rate falls to 8/9.
const DECREASE: f64 = 1.125;
/// Decreases after the first in one congestion period (UDT4).
const MAX_REPEATED_DECREASES: u32 = 5;
/// The part of the capacity to which the increase aims after a decrease (section 3.3).
const CAUTION: f64 = 1.0 / 9.0;
/// The range of the sending period, in seconds.
const MIN_PERIOD: f64 = 1e-7;
const MAX_PERIOD: f64 = 1.0;

/// The congestion period: from a decrease until the loss of a packet sent after it.
#[derive(Clone, Copy, Debug, Default)]
struct CongestionPeriod {
    /// The first sequence number after the latest decrease.
    next: u64,
    /// The sending period before it, in seconds.
    period: f64,
    /// Loss reports of this period, and their average.
    reports: u32,
    average_reports: f64,
    /// Every so many reports decrease the rate again, which keeps flows from doing so together.
    every: u32,
    more: u32,
}

/// A rate that grows by the order of magnitude of the spare capacity and falls by a ninth, under a window.
#[derive(Debug)]
pub(crate) struct Udt {
    rng: fastrand::Rng,
    mtu: u64,
    sequence: Sequence,
    arrivals: Arrivals,
    smoothed_rtt: Option<Duration>,
    slow_start: bool,
    /// In packets.
    window: f64,
    /// Seconds between packets.
    period: f64,
    congestion: CongestionPeriod,
    /// When the rate was last updated, and what was acknowledged since.
    updated: Time,
    acked: u32,
    lost_since: bool,
    /// The lowest sequence number lost in this batch.
    lost: Option<u64>,
}

impl Udt {
    pub fn new(seed: u64) -> Udt {
        Udt {
            rng: fastrand::Rng::with_seed(seed),
            mtu: INITIAL_MTU,
            sequence: Sequence::default(),
            arrivals: Arrivals::default(),
            smoothed_rtt: None,
            slow_start: true,
            window: EXTRA_WINDOW,
            period: MIN_PERIOD,
            congestion: CongestionPeriod::default(),
            updated: Time::ZERO,
            acked: 0,
            lost_since: false,
            lost: None,
        }
    }

    /// A round trip and a rate control interval, in seconds.
    fn round(&self) -> f64 {
        (self.smoothed_rtt.unwrap_or_default() + SYN).as_secs_f64()
    }

    fn set_period(&mut self, seconds: f64) {
        self.period = seconds.clamp(MIN_PERIOD, MAX_PERIOD);
    }

    /// Every rate control interval with acknowledgements.
    fn update(&mut self, now: Time) {
        self.updated = now;
        self.arrivals.report();
        let acked = core::mem::take(&mut self.acked);
        if self.slow_start {
            self.window += f64::from(acked);
            if self.window > MAX_WINDOW {
                self.leave_slow_start();
            }
            return;
        }
        self.window = (self.arrivals.speed * self.round() + EXTRA_WINDOW).min(MAX_WINDOW);
        if !core::mem::take(&mut self.lost_since) {
            let packets = self.increase();
            self.set_period(self.period / (1.0 + packets * self.period / SYN.as_secs_f64()));
        }
    }

    /// Packets more in each interval (equation 7).
    fn increase(&self) -> f64 {
        let capacity = self.arrivals.capacity;
        let mut spare = capacity - 1.0 / self.period;
        if self.period > self.congestion.period {
            spare = spare.min(capacity * CAUTION);
        }
        let mtu = self.mtu as f64;
        (power_of_ten(spare * mtu * 8.0) * BETA / mtu).max(1.0 / mtu)
    }

    fn leave_slow_start(&mut self) {
        self.slow_start = false;
        self.set_period(1.0 / self.arrivals.speed);
    }

    /// A report of losses, `sequence` the first of them.
    fn on_loss_report(&mut self, sequence: u64) {
        if self.slow_start {
            self.leave_slow_start();
            return;
        }
        self.lost_since = true;
        let period = &mut self.congestion;
        let begins = sequence >= period.next;
        if begins {
            period.period = self.period;
            period.average_reports = (period.average_reports * 7.0 + f64::from(period.reports)) / 8.0;
            period.every = ((period.average_reports.ceil() * self.rng.f64()).ceil() as u32).max(1);
            (period.reports, period.more) = (1, 0);
        } else {
            period.reports += 1;
            period.more += 1;
            if period.more > MAX_REPEATED_DECREASES || !period.reports.is_multiple_of(period.every) {
                return;
            }
        }
        period.next = self.sequence.next();
        self.set_period(self.period * DECREASE);
    }
}

/// The power of ten at or above `value`; zero if it isn't positive.
fn power_of_ten(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let mut power = 1.0;
    while power < value && power < 1e15 {
        power *= 10.0;
    }
    power
}

impl CongestionControl for Udt {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.sequence.on_sent(packet.number);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        if let Some(sequence) = self.sequence.on_arrived(packet.number) {
            self.arrivals.on_arrived(sequence, packet.time);
            self.acked = self.acked.saturating_add(1);
            let sample = usable_rtt(packet.rtt);
            self.smoothed_rtt = Some(self.smoothed_rtt.map_or(sample, |rtt| rtt / 8 * 7 + sample / 8));
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        if let Some(sequence) = self.sequence.on_lost(packet.number) {
            self.lost = Some(self.lost.map_or(sequence, |first| first.min(sequence)));
        }
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.sequence.on_lost(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        self.arrivals.end_batch(now);
        if let Some(sequence) = self.lost.take() {
            self.on_loss_report(sequence);
        }
        if self.acked > 0 && now.since(self.updated) >= SYN {
            self.update(now);
        }
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = usable_mtu(mtu);
    }

    /// `None` in slow start, which the window limits, and inside a packet pair.
    fn pacing_rate(&self) -> Option<Rate> {
        let inside_pair = self.sequence.latest().is_some_and(|sequence| sequence.is_multiple_of(PAIR_INTERVAL));
        let window_only = self.slow_start || inside_pair;
        (!window_only).then(|| Rate::from_bits_per_sec(self.mtu as f64 * 8.0 / self.period).max(MIN_RATE))
    }

    fn in_flight_cap(&self) -> u64 {
        let packets = self.sequence.in_flight() + self.sequence.allowance(self.window as u64);
        packets.max(1) * self.mtu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Past slow start, at `mbps`, with packet pairs that measured 100 Mbit/s.
    fn udt(mbps: f64) -> Udt {
        let mut udt = Udt::new(1);
        udt.on_mtu_change(1500);
        udt.slow_start = false;
        udt.period = 0.012 / mbps;
        udt.arrivals.capacity = 100.0 / 0.012;
        udt
    }

    #[test]
    fn increases_by_the_order_of_magnitude_of_what_is_spare() {
        // Table 1 of the paper: packets of 1500 bytes.
        for (mbps, packets) in [(1.0, 0.1), (89.0, 0.1), (91.0, 0.01), (99.5, 0.001), (100.5, 1.0 / 1500.0)] {
            assert!((udt(mbps).increase() - packets).abs() < 1e-9, "{mbps}");
        }
        let mut decreased = udt(1.0);
        decreased.congestion.period = 0.012 / 1.5;
        assert_eq!(decreased.increase(), 0.1, "a ninth of 100 Mbit/s is above 10 Mbit/s");
        decreased.arrivals.capacity *= 0.8;
        assert!((decreased.increase() - 0.01).abs() < 1e-9);
    }

    #[test]
    fn each_congestion_period_decreases_the_rate_by_a_ninth_and_at_most_five_times_more() {
        let mut udt = udt(90.0);
        (0..10).for_each(|number| udt.sequence.on_sent(number));
        let rate = |udt: &Udt| (0.012 / udt.period / 90.0 * 1e6).round() / 1e6;
        udt.on_loss_report(0);
        assert_eq!(rate(&udt), (8e6f64 / 9.0).round() / 1e6);
        // With an average below one report, every one of them counts.
        (0..20).for_each(|_| udt.on_loss_report(5));
        assert_eq!(rate(&udt), ((8.0f64 / 9.0).powi(6) * 1e6).round() / 1e6);
        udt.on_loss_report(10);
        assert_eq!(rate(&udt), ((8.0f64 / 9.0).powi(7) * 1e6).round() / 1e6, "a new period");
    }

    #[test]
    fn slow_start_ends_with_the_first_loss_at_the_arrival_speed() {
        let mut udt = Udt::new(1);
        assert_eq!((udt.pacing_rate(), udt.in_flight_cap()), (None, 16 * 1200));
        udt.arrivals.speed = 1000.0;
        udt.on_loss_report(0);
        assert_eq!(udt.pacing_rate(), Some(Rate::from_mbps(9.6)));
    }
}
