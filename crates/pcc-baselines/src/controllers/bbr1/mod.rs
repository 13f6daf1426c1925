//! BBR, version 1: Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue 2016 and
//! CACM 2017; draft-cardwell-iccrg-bbr-congestion-control-00, whose sections are cited; and, where it differs, Linux
//! `net/ipv4/tcp_bbr.c`: the pacing margin, the window for aggregated acknowledgements, the end of a probing phase, what puts
//! ProbeRTT off, and the long-term estimate that detects policers.
//!
//! Left out: the reaction to a retransmission timeout, of which the contract tells nothing.
//!
//! Marks (ECN) are ignored. Linux turns ECN on for a connection whatever its controller, so that packets of BBR can be marked:
//! a queue that marks then has no means to slow it down.

mod policer;

use crate::parts::bbr::Flow;
use crate::parts::delivery_rate::RateSample;
use crate::parts::windowed_filter::WindowedMax;
use pcc::{AckedPacket, CongestionControl, Ecn, LostPacket, Rate, SentPacket, Time};
use policer::Policer;
use std::time::Duration;

/// 2/ln 2: the smallest gain that doubles the rate each round trip (4.3.2.1).
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBandwidth { phase: usize, since: Time },
    ProbeRtt,
}

/// Sends at the maximum bandwidth of the last ten round trips and keeps two bandwidth-delay products in flight.
#[derive(Debug)]
pub(crate) struct Bbr1 {
    rng: fastrand::Rng,
    flow: Flow,
    state: State,
    bandwidth: WindowedMax<Rate>,
    policer: Policer,
    /// With the time from which on it is used.
    min_rtt: Option<(Duration, Time)>,
    /// Whether the batch before was in recovery.
    recovering: bool,
    /// Whether each acknowledged packet lets one be sent (4.2.3.4).
    conserving: bool,
}

impl Bbr1 {
    pub fn new(seed: u64) -> Bbr1 {
        Bbr1 {
            rng: fastrand::Rng::with_seed(seed),
            flow: Flow::new(HIGH_GAIN),
            state: State::Startup,
            bandwidth: WindowedMax::default(),
            policer: Policer::default(),
            min_rtt: None,
            recovering: false,
            conserving: false,
        }
    }

    fn max_bandwidth(&self) -> Rate {
        self.bandwidth.get().unwrap_or(Rate::ZERO)
    }

    /// The rate to send at: that of a policer if there is one.
    fn usable_bandwidth(&self) -> Rate {
        self.policer.rate().unwrap_or_else(|| self.max_bandwidth())
    }

    /// Whether recovery or ProbeRTT has cut the window.
    fn is_cut(&self) -> bool {
        self.recovering || self.state == State::ProbeRtt
    }

    /// The gains of pacing and of the window (4.2.1, 4.2.3.2).
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (DRAIN_GAIN, HIGH_GAIN),
            State::ProbeBandwidth { .. } if self.policer.rate().is_some() => (1.0, WINDOW_GAIN),
            State::ProbeBandwidth { phase, .. } => (CYCLE[phase], WINDOW_GAIN),
            State::ProbeRtt => (1.0, 1.0),
        }
    }

    /// What `gain` products of `bandwidth` and delay are in bytes, with `extra` and what bursts need (4.2.3.2).
    fn inflight(&self, bandwidth: Rate, gain: f64, extra: u64) -> u64 {
        let Some((min_rtt, _)) = self.min_rtt else { return self.flow.initial_window() };
        let product = (bandwidth * gain).bytes_in(min_rtt).saturating_add(extra);
        let probing = matches!(self.state, State::ProbeBandwidth { phase: 0, .. });
        let packets = if probing { 2 } else { 0 };
        product.saturating_add(3 * self.send_quantum() + packets * self.flow.mtu)
    }

    /// The size of a burst (4.2.2).
    fn send_quantum(&self) -> u64 {
        match self.flow.pacing_rate().mbps() {
            rate if rate < 1.2 => self.flow.mtu,
            rate if rate < 24.0 => 2 * self.flow.mtu,
            _ => self.flow.burst(),
        }
    }

    /// 4.1.1.
    fn update_bandwidth(&mut self, now: Time, sample: &RateSample) {
        self.flow.rounds.update(sample.prior_delivered, self.flow.delivery.delivered());
        let ended = self.flow.rounds.ended;
        if ended {
            self.conserving = false;
        }
        let probing = matches!(self.state, State::ProbeBandwidth { .. });
        if self.policer.on_batch(now, sample, &self.flow.delivery, ended, probing) {
            self.probe_bandwidth(now);
        }
        if sample.counts(self.max_bandwidth()) {
            self.bandwidth.update(self.flow.rounds.count, sample.rate, BANDWIDTH_WINDOW);
        }
    }

    /// 4.3.3.
    fn check_drain(&mut self, now: Time) {
        if self.state == State::Startup && self.flow.full_reached {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.flow.delivery.in_flight() <= self.inflight(self.max_bandwidth(), 1.0, 0) {
            self.probe_bandwidth(now);
        }
    }

    /// Begins anywhere in the cycle but where it drains (4.3.4.3).
    fn probe_bandwidth(&mut self, now: Time) {
        let phase = match self.rng.usize(0..CYCLE.len() - 1) {
            0 => 0,
            later => later + 1,
        };
        self.state = State::ProbeBandwidth { phase, since: now };
    }

    /// 4.3.4.3.
    fn advance_cycle(&mut self, now: Time, sample: &RateSample) {
        let State::ProbeBandwidth { phase, since } = self.state else { return };
        let gain = self.gains().0;
        let round_passed = self.min_rtt.is_some_and(|(rtt, _)| now.since(since) > rtt);
        let ends = if gain > 1.0 {
            round_passed
                && (sample.newly_lost > 0 || sample.prior_in_flight >= self.inflight(self.max_bandwidth(), gain, 0))
        } else if gain < 1.0 {
            round_passed || sample.prior_in_flight <= self.inflight(self.max_bandwidth(), 1.0, 0)
        } else {
            round_passed
        };
        if ends {
            self.state = State::ProbeBandwidth { phase: (phase + 1) % CYCLE.len(), since: now };
        }
    }

    /// 4.3.5.
    fn update_min_rtt(&mut self, now: Time, sample: &RateSample) {
        let expired = self.min_rtt.is_some_and(|(_, since)| now.since(since) > MIN_RTT_WINDOW);
        // Linux since 5.10 (1b9e2a8c99a5): one that is only as short doesn't put ProbeRTT off.
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt.is_none_or(|(min, _)| rtt < min))
        {
            self.min_rtt = Some((rtt, now));
        }
        if expired && !self.flow.idle_restart && self.state != State::ProbeRtt {
            self.flow.start_probe_rtt(self.is_cut());
            self.state = State::ProbeRtt;
        }
        if self.state == State::ProbeRtt {
            self.flow.hold_probe_rtt(now, self.flow.min_window());
            self.check_probe_rtt_done(now);
        }
        self.flow.idle_restart = false;
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.state != State::ProbeRtt || !self.flow.is_probe_rtt_done(now) {
            return;
        }
        self.min_rtt = self.min_rtt.map(|(rtt, _)| (rtt, now));
        self.flow.restore_window();
        if self.flow.full_reached {
            self.probe_bandwidth(now);
        } else {
            self.state = State::Startup;
        }
    }

    /// 4.2.3.4 to 4.2.3.6.
    fn set_window(&mut self, sample: &RateSample) {
        let acked = sample.newly_acked;
        if acked > 0 {
            self.flow.window = self.flow.window.saturating_sub(sample.newly_lost).max(self.flow.mtu);
            let kept = self.flow.delivery.in_flight() + acked;
            let recovers = self.flow.recovery.is_active();
            if recovers && !self.recovering {
                // The first round trip of recovery sends one packet for each that arrived.
                self.conserving = true;
                self.flow.start_round();
                self.flow.window = kept;
            } else if self.recovering && !recovers {
                self.conserving = false;
                self.flow.restore_window();
            }
            self.recovering = recovers;
            if self.conserving {
                self.flow.window = self.flow.window.max(kept);
            } else {
                self.flow.grow_window(acked, self.target());
                self.flow.window = self.flow.window.max(self.flow.min_window());
            }
        }
        if self.state == State::ProbeRtt {
            self.flow.window = self.flow.window.min(self.flow.min_window());
        }
    }

    /// The window to reach.
    fn target(&self) -> u64 {
        let bandwidth = self.usable_bandwidth();
        let limit = bandwidth.bytes_in(AGGREGATION_LIMIT);
        let aggregation = if self.flow.full_reached { self.flow.aggregation.get().min(limit) } else { 0 };
        self.inflight(bandwidth, self.gains().1, aggregation)
    }
}

impl CongestionControl for Bbr1 {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        if self.flow.on_sent(packet) {
            if matches!(self.state, State::ProbeBandwidth { .. }) {
                self.flow.set_pacing_rate(self.usable_bandwidth(), 1.0);
            }
            self.check_probe_rtt_done(packet.time);
        }
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.flow.on_acked(packet);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.flow.on_lost(packet, self.is_cut());
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.flow.delivery.on_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        let Some(sample) = self.flow.delivery.sample() else { return };
        if let (None, Some(rtt)) = (self.min_rtt, sample.rtt) {
            self.flow.set_initial_rate(rtt);
        }
        if sample.newly_acked > 0 {
            self.update_bandwidth(now, &sample);
            let bandwidth = self.usable_bandwidth();
            self.flow.update_aggregation(now, sample.newly_acked, bandwidth, AGGREGATION_WINDOW);
            self.advance_cycle(now, &sample);
            self.flow.check_full_pipe(self.max_bandwidth(), &sample);
            self.check_drain(now);
            self.update_min_rtt(now, &sample);
            self.flow.set_pacing_rate(bandwidth, self.gains().0);
        }
        self.set_window(&sample);
    }

    fn on_app_limited(&mut self, _now: Time) {
        self.flow.delivery.on_app_limited();
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.flow.on_mtu_change(mtu, self.min_rtt.is_some());
    }

    fn ecn(&self) -> Ecn {
        Ecn::Usable
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.flow.pacing_rate())
    }

    fn in_flight_cap(&self) -> u64 {
        self.flow.in_flight_cap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::INITIAL_MTU;

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
        assert_eq!(bbr.pacing_rate().unwrap(), Rate::from_bytes_over(12_000, Duration::from_millis(1)) * HIGH_GAIN);
        let mut first = 0;
        for (index, packets) in [10, 20, 40, 40, 40, 40].into_iter().enumerate() {
            round(&mut bbr, first, packets, index as u64 * 100, 50);
            first += packets;
            // A round trip is judged when the next one begins.
            assert_eq!((bbr.state, bbr.flow.full_pipe.rounds), (State::Startup, (index as u32).saturating_sub(3)));
        }
        round(&mut bbr, first, 40, 600, 50);
        assert!(
            bbr.flow.full_reached && matches!(bbr.state, State::ProbeBandwidth { .. }),
            "drained at once: {:?}",
            bbr.state
        );
        let all = Rate::from_bytes_over(40 * INITIAL_MTU, Duration::from_millis(60));
        assert!((bbr.max_bandwidth() / all - 1.0).abs() < 0.02, "{}", bbr.max_bandwidth());
        assert_eq!(bbr.min_rtt.map(|(rtt, _)| rtt), Some(Duration::from_millis(50)));
    }

    #[test]
    fn the_cycle_never_begins_with_draining() {
        let mut bbr = Bbr1::new(7);
        let mut begun = [false; CYCLE.len()];
        for _ in 0..200 {
            bbr.probe_bandwidth(ms(0));
            if let State::ProbeBandwidth { phase, .. } = bbr.state {
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
        assert_eq!(bbr.state, State::ProbeRtt);
        assert_eq!(bbr.in_flight_cap(), 4 * INITIAL_MTU);
        round(&mut bbr, 20, 4, 10_200, 60);
        round(&mut bbr, 24, 4, 10_500, 60);
        assert_eq!(bbr.state, State::Startup, "200 ms and a round trip have passed, and the pipe was never full");
        assert!(bbr.in_flight_cap() > 4 * INITIAL_MTU);
    }
}
