//! BBR, version 1: Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue 2016 and
//! CACM 2017; draft-cardwell-iccrg-bbr-congestion-control-00, whose sections are cited; and, where it differs, Linux
//! `net/ipv4/tcp_bbr.c`: the pacing margin, the room for aggregated acknowledgements, and the end of a probing phase.
//!
//! Left out: the long-term estimate that detects policers, and the reaction to a retransmission timeout, of which the
//! contract tells nothing.

use crate::limits::{INITIAL_MTU, INITIAL_WINDOW, LEAST_RATE, usable_mtu};
use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::delivery_rate::{DeliveryRate, RateSample};
use crate::parts::rounds::{Recovery, Rounds};
use crate::parts::windowed_filter::WindowedMax;
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};
use std::time::Duration;

/// 2/ln 2: the least gain that doubles the rate each round trip (4.3.2.1).
const HIGH_GAIN: f64 = 2.885;
/// Undoes in one round trip what the start did (4.3.3).
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// The cycle of pacing gains, one round trip each (4.3.4.2).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Bandwidth-delay products in flight in steady state (4.2.3.2).
const WINDOW_GAIN: f64 = 2.0;
/// Round trips for which a bandwidth counts (4.1.1.2).
const BANDWIDTH_WINDOW: u64 = 10;
/// Round trips for which an aggregation of acknowledgements counts (Linux: 5 to 10).
const AGGREGATION_WINDOW: u64 = 10;
/// An aggregation of more than this time doesn't count (Linux).
const AGGREGATION_LIMIT: Duration = Duration::from_millis(100);
/// How long a minimum of the round-trip time counts (4.1.2.2).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// How long the in-flight data is held low to measure it (4.3.5).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The least window in packets (4.2.3.3).
const MIN_WINDOW: u64 = 4;
/// Pace below the bandwidth, so that queues shrink (Linux).
const PACING_MARGIN: f64 = 0.99;
/// Growth of the bandwidth below which a round trip counts as one without (4.3.2.2).
const FULL_GROWTH: f64 = 1.25;
/// Round trips without growth after which the pipe is full (4.3.2.2).
const FULL_ROUNDS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth {
        phase: usize,
        since: Time,
    },
    /// `done` is set once the in-flight data is low, `round` once a round trip has passed since.
    ProbeRtt {
        done: Option<Time>,
        round: bool,
    },
}

/// The controller.
#[derive(Debug)]
pub(crate) struct Bbr1 {
    rng: fastrand::Rng,
    mtu: u64,
    delivery: DeliveryRate,
    rounds: Rounds,
    mode: Mode,
    bandwidth: WindowedMax<Rate>,
    aggregation: AckAggregation,
    min_rtt: Option<Duration>,
    min_rtt_time: Time,
    /// The bandwidth that the next round trips must exceed, and how many didn't.
    full_bandwidth: Rate,
    full_rounds: u32,
    restarted: bool,
    recovery: Recovery,
    /// Whether the batch before was in recovery.
    recovering: bool,
    conserving: bool,
    window: u64,
    /// The last window that neither recovery nor the probing of the round-trip time had cut.
    good_window: u64,
    pacing_rate: Rate,
}

impl Bbr1 {
    pub fn new(seed: u64) -> Bbr1 {
        let window = INITIAL_WINDOW * INITIAL_MTU;
        Bbr1 {
            rng: fastrand::Rng::with_seed(seed),
            mtu: INITIAL_MTU,
            delivery: DeliveryRate::default(),
            rounds: Rounds::default(),
            mode: Mode::Startup,
            bandwidth: WindowedMax::default(),
            aggregation: AckAggregation::default(),
            min_rtt: None,
            min_rtt_time: Time::ZERO,
            full_bandwidth: Rate::ZERO,
            full_rounds: 0,
            restarted: false,
            recovery: Recovery::default(),
            recovering: false,
            conserving: false,
            window,
            good_window: 0,
            pacing_rate: initial_rate(window, Duration::from_millis(1)),
        }
    }

    fn max_bandwidth(&self) -> Rate {
        self.bandwidth.get().unwrap_or(Rate::ZERO)
    }

    fn is_full(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    fn min_window(&self) -> u64 {
        MIN_WINDOW * self.mtu
    }

    /// The gains of pacing and of the window (4.2.1, 4.2.3.2).
    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth { phase, .. } => (CYCLE[phase], WINDOW_GAIN),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    /// What `gain` bandwidth-delay products are in bytes, and `extra`, with room for bursts (4.2.3.2).
    fn inflight(&self, gain: f64, extra: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL_WINDOW * self.mtu };
        let product = (self.max_bandwidth() * gain).bytes_in(min_rtt).saturating_add(extra);
        let probing = matches!(self.mode, Mode::ProbeBandwidth { phase: 0, .. });
        let packets = if probing { 2 } else { 0 };
        product.saturating_add(3 * self.send_quantum() + packets * self.mtu)
    }

    /// The size of a burst (4.2.2).
    fn send_quantum(&self) -> u64 {
        match self.pacing_rate.mbps() {
            rate if rate < 1.2 => self.mtu,
            rate if rate < 24.0 => 2 * self.mtu,
            _ => self.pacing_rate.bytes_in(Duration::from_millis(1)).min(64_000).max(2 * self.mtu),
        }
    }

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.rounds.update(sample.prior_delivered, self.delivery.delivered());
        if self.rounds.ended {
            self.conserving = false;
        }
        if !sample.rate.is_zero() && (!sample.app_limited || sample.rate >= self.max_bandwidth()) {
            self.bandwidth.update(self.rounds.count, sample.rate, BANDWIDTH_WINDOW);
        }
    }

    /// 4.3.2.2.
    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full() || !self.rounds.ended || sample.app_limited {
            return;
        }
        if self.max_bandwidth() >= self.full_bandwidth * FULL_GROWTH {
            (self.full_bandwidth, self.full_rounds) = (self.max_bandwidth(), 0);
        } else {
            self.full_rounds += 1;
        }
    }

    /// 4.3.3.
    fn check_drain(&mut self, now: Time) {
        if self.mode == Mode::Startup && self.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.delivery.in_flight() <= self.inflight(1.0, 0) {
            self.probe_bandwidth(now);
        }
    }

    /// Begins anywhere in the cycle but where it drains (4.3.4.3).
    fn probe_bandwidth(&mut self, now: Time) {
        let phase = match self.rng.usize(0..CYCLE.len() - 1) {
            0 => 0,
            later => later + 1,
        };
        self.mode = Mode::ProbeBandwidth { phase, since: now };
    }

    /// 4.3.4.3.
    fn advance_cycle(&mut self, now: Time, sample: &RateSample) {
        let Mode::ProbeBandwidth { phase, since } = self.mode else { return };
        let gain = CYCLE[phase];
        let round_passed = self.min_rtt.is_some_and(|rtt| now.since(since) > rtt);
        let ends = if gain > 1.0 {
            round_passed && (sample.newly_lost > 0 || sample.prior_in_flight >= self.inflight(gain, 0))
        } else if gain < 1.0 {
            round_passed || sample.prior_in_flight <= self.inflight(1.0, 0)
        } else {
            round_passed
        };
        if ends {
            self.mode = Mode::ProbeBandwidth { phase: (phase + 1) % CYCLE.len(), since: now };
        }
    }

    /// 4.3.5.
    fn update_min_rtt(&mut self, now: Time, sample: &RateSample) {
        let expired = self.min_rtt.is_some() && now.since(self.min_rtt_time) > MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt <= min))
        {
            (self.min_rtt, self.min_rtt_time) = (Some(rtt), now);
        }
        if expired && !self.restarted && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_window();
            self.mode = Mode::ProbeRtt { done: None, round: false };
        }
        if let Mode::ProbeRtt { done, round } = self.mode {
            self.delivery.on_app_limited();
            if done.is_none() && self.delivery.in_flight() <= self.min_window() {
                self.rounds.start(self.delivery.delivered());
                self.mode = Mode::ProbeRtt { done: Some(now + PROBE_RTT_TIME), round: false };
            } else if done.is_some() {
                self.mode = Mode::ProbeRtt { done, round: round || self.rounds.ended };
                self.check_probe_rtt_done(now);
            }
        }
        if sample.newly_acked > 0 {
            self.restarted = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        let Mode::ProbeRtt { done: Some(done), round: true } = self.mode else { return };
        if now <= done {
            return;
        }
        self.min_rtt_time = now;
        self.window = self.window.max(self.good_window);
        if self.is_full() {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_window(&mut self) {
        let cut = self.recovering || matches!(self.mode, Mode::ProbeRtt { .. });
        self.good_window = if cut { self.good_window.max(self.window) } else { self.window };
    }

    /// 4.2.1.
    fn set_pacing_rate(&mut self) {
        let rate = self.max_bandwidth() * (self.gains().0 * PACING_MARGIN);
        if self.is_full() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// 4.2.3.4 to 4.2.3.6.
    fn set_window(&mut self, sample: &RateSample) {
        let acked = sample.newly_acked;
        if acked > 0 {
            let mut window = self.window.saturating_sub(sample.newly_lost).max(self.mtu);
            let kept = self.delivery.in_flight() + acked;
            if self.recovery.is_active() && !self.recovering {
                // The first round trip of recovery sends one packet for each that arrived.
                self.conserving = true;
                self.rounds.start(self.delivery.delivered());
                window = kept;
            } else if self.recovering && !self.recovery.is_active() {
                self.conserving = false;
                window = window.max(self.good_window);
            }
            self.recovering = self.recovery.is_active();
            self.window = if self.conserving { window.max(kept) } else { self.grown(window, acked) };
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.window = self.window.min(self.min_window());
        }
    }

    /// Moves a window towards its target, by what was acknowledged.
    fn grown(&self, window: u64, acked: u64) -> u64 {
        let limit = self.max_bandwidth().bytes_in(AGGREGATION_LIMIT);
        let aggregation = if self.is_full() { self.aggregation.get().min(limit) } else { 0 };
        let target = self.inflight(self.gains().1, aggregation);
        let window = if self.is_full() {
            (window + acked).min(target)
        } else if window < target || self.delivery.delivered() < INITIAL_WINDOW * self.mtu {
            window + acked
        } else {
            window
        };
        window.max(self.min_window())
    }
}

/// The rate before the bandwidth is known (4.2.1).
fn initial_rate(window: u64, rtt: Duration) -> Rate {
    Rate::from_bytes_over(window, rtt.max(Duration::from_micros(1))) * HIGH_GAIN
}

impl CongestionControl for Bbr1 {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        if self.delivery.in_flight() == 0 && self.delivery.is_app_limited() {
            self.restarted = true;
            self.aggregation.restart(packet.time);
            if matches!(self.mode, Mode::ProbeBandwidth { .. }) {
                self.pacing_rate = self.max_bandwidth() * PACING_MARGIN;
            }
            self.check_probe_rtt_done(packet.time);
        }
        self.delivery.on_sent(packet);
        self.recovery.on_sent(packet.number);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.delivery.on_acked(packet);
        self.recovery.on_acked(packet.number);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        if self.delivery.on_lost(packet).is_some() {
            if !self.recovery.is_active() {
                self.save_window();
            }
            self.recovery.on_lost();
        }
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.delivery.on_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        let Some(sample) = self.delivery.sample() else { return };
        if let (None, Some(rtt)) = (self.min_rtt, sample.rtt) {
            self.pacing_rate = initial_rate(self.window, rtt);
        }
        if sample.newly_acked > 0 {
            self.update_bandwidth(&sample);
            let (bandwidth, round) = (self.max_bandwidth(), self.rounds.count);
            self.aggregation.update(now, sample.newly_acked, bandwidth, self.window, round, AGGREGATION_WINDOW);
            self.advance_cycle(now, &sample);
            self.check_full(&sample);
            self.check_drain(now);
            self.update_min_rtt(now, &sample);
            self.set_pacing_rate();
        }
        self.set_window(&sample);
    }

    fn on_app_limited(&mut self, _now: Time) {
        self.delivery.on_app_limited();
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = usable_mtu(mtu);
        if self.min_rtt.is_none() {
            self.window = INITIAL_WINDOW * self.mtu;
            self.pacing_rate = initial_rate(self.window, Duration::from_millis(1));
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate.max(LEAST_RATE))
    }

    fn in_flight_cap(&self) -> u64 {
        self.window.max(self.mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Sends `packets` at once and acknowledges them, evenly spread, in the 10 ms that follow `rtt` milliseconds later.
    fn round(bbr: &mut Bbr1, first: u64, packets: u64, start: u64, rtt: u64) {
        for number in first..first + packets {
            bbr.on_packet_sent(&SentPacket { time: ms(start), number, bytes: INITIAL_MTU });
        }
        for number in first..first + packets {
            let time = ms(start + rtt) + Duration::from_millis(10) * (number - first) as u32 / packets as u32;
            let (sent, rtt) = (ms(start), time.since(ms(start)));
            bbr.on_packet_acked(&AckedPacket { time, number, sent, bytes: INITIAL_MTU, rtt });
            bbr.on_batch_end(time);
        }
    }

    #[test]
    fn startup_ends_after_three_rounds_without_growth() {
        let mut bbr = Bbr1::new(1);
        assert_eq!(bbr.pacing_rate().unwrap(), initial_rate(12_000, Duration::from_millis(1)));
        let mut first = 0;
        for (index, packets) in [10, 20, 40, 40, 40, 40].into_iter().enumerate() {
            round(&mut bbr, first, packets, index as u64 * 100, 50);
            first += packets;
            // A round trip is judged when the next one begins.
            assert_eq!((bbr.mode, bbr.full_rounds), (Mode::Startup, (index as u32).saturating_sub(3)));
        }
        round(&mut bbr, first, 40, 600, 50);
        assert!(bbr.is_full() && matches!(bbr.mode, Mode::ProbeBandwidth { .. }), "drained at once: {:?}", bbr.mode);
        let all = Rate::from_bytes_over(40 * INITIAL_MTU, Duration::from_millis(60));
        assert!((bbr.max_bandwidth() / all - 1.0).abs() < 0.02, "{}", bbr.max_bandwidth());
        assert_eq!(bbr.min_rtt, Some(Duration::from_millis(50)));
    }

    #[test]
    fn the_cycle_never_begins_with_draining() {
        let mut bbr = Bbr1::new(7);
        let mut begun = [false; CYCLE.len()];
        for _ in 0..200 {
            bbr.probe_bandwidth(ms(0));
            if let Mode::ProbeBandwidth { phase, .. } = bbr.mode {
                begun[phase] = true;
            }
        }
        assert_eq!(begun, [true, false, true, true, true, true, true, true]);
    }

    #[test]
    fn ten_seconds_without_a_new_minimum_cut_the_window() {
        let mut bbr = Bbr1::new(1);
        round(&mut bbr, 0, 10, 0, 50);
        round(&mut bbr, 10, 10, 10_100, 60);
        assert!(matches!(bbr.mode, Mode::ProbeRtt { .. }));
        assert_eq!(bbr.in_flight_cap(), MIN_WINDOW * INITIAL_MTU);
        round(&mut bbr, 20, 4, 10_200, 60);
        round(&mut bbr, 24, 4, 10_500, 60);
        assert_eq!(bbr.mode, Mode::Startup, "200 ms and a round trip have passed, and the pipe was never full");
        assert!(bbr.in_flight_cap() > MIN_WINDOW * INITIAL_MTU);
    }
}
