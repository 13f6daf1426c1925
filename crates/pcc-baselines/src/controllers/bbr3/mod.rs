//! BBR, version 3: draft-ietf-ccwg-bbr-04, whose sections are cited and whose names are kept where they say more than
//! others would.
//!
//! Left out: the reaction to a retransmission timeout and the undoing of it, of which the contract tells nothing; and ECN,
//! as in the draft.

mod loss;
mod probe_bandwidth;
mod probe_rtt;

use crate::limits::{INITIAL_MTU, INITIAL_WINDOW, LEAST_RATE, usable_mtu};
use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::delivery_rate::{DeliveryRate, RateSample};
use crate::parts::rounds::{Recovery, Rounds};
use loss::LossModel;
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};
use probe_bandwidth::Cycle;
use probe_rtt::MinRtt;
use std::time::Duration;

/// Startup doubles the rate each round trip with this (5.3.1.1).
const STARTUP_GAIN: f64 = 2.77;
/// Drains what Startup queued in about one round trip (5.3.2).
const DRAIN_GAIN: f64 = 0.35;
/// Bandwidth-delay products in flight (2.5).
const WINDOW_GAIN: f64 = 2.0;
/// Round trips for which an aggregation of acknowledgements counts, once the pipe is full (5.5.9).
const AGGREGATION_WINDOW: u64 = 10;
/// The least window in packets (5.6.4.3).
const MIN_WINDOW: u64 = 4;
/// Pace below the bandwidth, so that queues shrink (5.6.2).
const PACING_MARGIN: f64 = 0.99;
/// Growth of the bandwidth below which a round trip counts as one without (5.3.1.2).
const FULL_GROWTH: f64 = 1.25;
/// Round trips without growth after which the pipe is full (5.3.1.2).
const FULL_ROUNDS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn probes_bandwidth(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// The gains of pacing and of the window (5.6.1).
    fn gains(self) -> (f64, f64) {
        match self {
            State::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            State::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            State::Down => (0.9, WINDOW_GAIN),
            State::Cruise | State::Refill => (1.0, WINDOW_GAIN),
            State::Up => (1.25, 2.25),
            State::ProbeRtt => (1.0, probe_rtt::WINDOW_GAIN),
        }
    }
}

/// Looks for a plateau of the delivery rate (5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    bandwidth: Rate,
    rounds: u32,
    now: bool,
}

impl FullPipe {
    /// Begins anew, with growth counted from `bandwidth`.
    fn reset(&mut self, bandwidth: Rate) {
        *self = FullPipe { bandwidth, ..FullPipe::default() };
    }

    /// A round trip ended; whether the pipe is full.
    fn on_round(&mut self, rate: Rate) -> bool {
        if !self.now {
            if rate >= self.bandwidth * FULL_GROWTH {
                self.reset(rate);
            } else {
                self.rounds += 1;
                self.now = self.rounds >= FULL_ROUNDS;
            }
        }
        self.now
    }
}

/// The controller.
#[derive(Debug)]
pub(crate) struct Bbr3 {
    rng: fastrand::Rng,
    mtu: u64,
    state: State,
    delivery: DeliveryRate,
    rounds: Rounds,
    recovery: Recovery,
    /// The largest delivery rates of the cycle before and of this one (5.5.6).
    max_bandwidth: [Rate; 2],
    aggregation: AckAggregation,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    /// Whether the pipe was ever full.
    full_reached: bool,
    cycle: Cycle,
    loss: LossModel,
    restarted: bool,
    window: u64,
    /// The last window that neither recovery nor the probing of the round-trip time had cut.
    good_window: u64,
    pacing_rate: Rate,
}

impl Bbr3 {
    pub fn new(seed: u64) -> Bbr3 {
        let window = INITIAL_WINDOW * INITIAL_MTU;
        Bbr3 {
            rng: fastrand::Rng::with_seed(seed),
            mtu: INITIAL_MTU,
            state: State::Startup,
            delivery: DeliveryRate::default(),
            rounds: Rounds::default(),
            recovery: Recovery::default(),
            max_bandwidth: [Rate::ZERO; 2],
            aggregation: AckAggregation::default(),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            full_reached: false,
            cycle: Cycle::default(),
            loss: LossModel::default(),
            restarted: false,
            window,
            good_window: 0,
            pacing_rate: initial_rate(window, Duration::from_millis(1)),
        }
    }

    fn max_bandwidth(&self) -> Rate {
        self.max_bandwidth[0].max(self.max_bandwidth[1])
    }

    /// The bandwidth to use (5.5.10.3).
    fn bandwidth(&self) -> Rate {
        self.loss.short_term_bandwidth.map_or(self.max_bandwidth(), |short| short.min(self.max_bandwidth()))
    }

    fn min_window(&self) -> u64 {
        MIN_WINDOW * self.mtu
    }

    /// `gain` bandwidth-delay products in bytes (5.6.4.2).
    fn product(&self, gain: f64) -> u64 {
        self.min_rtt.get().map_or(INITIAL_WINDOW * self.mtu, |rtt| (self.bandwidth() * gain).bytes_in(rtt))
    }

    /// Makes room for bursts (5.5.8, 5.6.3, 5.6.4.2).
    fn with_bursts(&self, bytes: u64) -> u64 {
        let quantum = self.pacing_rate.bytes_in(Duration::from_millis(1)).min(64_000).max(2 * self.mtu);
        let packets = if self.state == State::Up { 2 } else { 0 };
        bytes.max(3 * quantum).max(self.min_window()).saturating_add(packets * self.mtu)
    }

    fn start_round(&mut self) {
        self.rounds.start(self.delivery.delivered());
    }

    /// 5.5.5, and the short-term model of 5.5.10.3.
    fn update_bandwidth(&mut self, sample: &RateSample) {
        let delivered = self.delivery.delivered();
        self.loss.on_sample(sample, delivered);
        self.rounds.update(sample.prior_delivered, delivered);
        if self.rounds.ended {
            self.cycle.rounds += 1;
        }
        if !sample.rate.is_zero() && (!sample.app_limited || sample.rate >= self.max_bandwidth()) {
            self.max_bandwidth[1] = self.max_bandwidth[1].max(sample.rate);
        }
        let accelerates = matches!(self.state, State::Startup | State::Refill | State::Up);
        self.loss.on_round_end(accelerates, self.max_bandwidth(), self.window);
    }

    fn update_aggregation(&mut self, now: Time, acked: u64) {
        let window = if self.full_reached { AGGREGATION_WINDOW } else { 1 };
        self.aggregation.update(now, acked, self.bandwidth(), self.window, self.rounds.count, window);
    }

    /// 5.3.1.2, 5.3.1.3 and 5.3.2.
    fn check_startup_and_drain(&mut self, now: Time, sample: &RateSample) {
        if self.rounds.ended && !sample.app_limited {
            self.full_reached |= self.full_pipe.on_round(sample.rate);
        }
        if self.state == State::Startup {
            if !self.full_reached && self.loss.is_high_in_startup(sample, self.recovery.is_active()) {
                self.full_reached = true;
                self.loss.long_term_inflight = Some(self.product(1.0).max(self.loss.latest_inflight()));
            }
            if self.full_reached {
                self.state = State::Drain;
            }
        }
        if self.state == State::Drain && self.delivery.in_flight() <= self.with_bursts(self.product(1.0)) {
            self.start_down(now);
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.bandwidth() * (gain * PACING_MARGIN);
        if self.full_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn save_window(&mut self) {
        let cut = self.recovery.is_active() || self.state == State::ProbeRtt;
        self.good_window = if cut { self.good_window.max(self.window) } else { self.window };
    }

    fn restore_window(&mut self) {
        self.window = self.window.max(self.good_window);
    }

    /// 5.6.4.6 and 5.6.4.7.
    fn set_window(&mut self, acked: u64) {
        let target = self.with_bursts(self.product(self.state.gains().1).saturating_add(self.aggregation.get()));
        if self.full_reached {
            self.window = (self.window + acked).min(target);
        } else if self.window < target || self.delivery.delivered() < INITIAL_WINDOW * self.mtu {
            self.window += acked;
        }
        let headroom = self.inflight_with_headroom();
        let cap = match self.state {
            State::Startup | State::Drain => None,
            State::Down | State::Refill | State::Up => self.loss.long_term_inflight,
            State::Cruise => headroom,
            State::ProbeRtt => Some(self.probe_rtt_window().min(headroom.unwrap_or(u64::MAX))),
        };
        let short = self.loss.short_term_inflight.unwrap_or(u64::MAX);
        self.window = self.window.min(cap.unwrap_or(u64::MAX)).min(short).max(self.min_window());
    }
}

/// The rate before the bandwidth is known (5.6.2).
fn initial_rate(window: u64, rtt: Duration) -> Rate {
    Rate::from_bytes_over(window, rtt.max(Duration::from_micros(1))) * STARTUP_GAIN
}

impl CongestionControl for Bbr3 {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        // 5.4.1.
        if self.delivery.in_flight() == 0 && self.delivery.is_app_limited() {
            self.restarted = true;
            self.aggregation.restart(packet.time);
            if self.state.probes_bandwidth() {
                self.set_pacing_rate(1.0);
            }
            self.check_probe_rtt_done(packet.time);
        }
        self.delivery.on_sent(packet);
        self.recovery.on_sent(packet.number);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.delivery.on_acked(packet);
        let recovering = self.recovery.is_active();
        self.recovery.on_acked(packet.number);
        if recovering && !self.recovery.is_active() {
            self.restore_window();
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        let Some(sample) = self.delivery.on_lost(packet) else { return };
        if !self.recovery.is_active() {
            self.save_window();
        }
        self.recovery.on_lost();
        self.loss.on_lost(packet.number, self.delivery.delivered());
        self.check_probe_loss(packet.time, &sample);
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.delivery.on_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        let Some(sample) = self.delivery.sample().filter(|sample| sample.newly_acked > 0) else { return };
        if let (None, Some(rtt)) = (self.min_rtt.get(), sample.rtt) {
            self.pacing_rate = initial_rate(self.window, rtt);
        }
        self.update_bandwidth(&sample);
        self.update_aggregation(now, sample.newly_acked);
        self.check_startup_and_drain(now, &sample);
        self.update_cycle(now, &sample);
        self.check_probe_rtt(now, &sample);
        self.loss.end_batch(&sample);
        self.set_pacing_rate(self.state.gains().0);
        self.set_window(sample.newly_acked);
    }

    fn on_app_limited(&mut self, _now: Time) {
        self.delivery.on_app_limited();
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = usable_mtu(mtu);
        if self.min_rtt.get().is_none() {
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

    #[test]
    fn three_rounds_without_growth_by_a_quarter_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        let full =
            [10.0, 12.6, 15.0, 15.0, 20.0, 21.0, 22.0, 20.0, 90.0].map(|mbps| pipe.on_round(Rate::from_mbps(mbps)));
        assert_eq!(full, [false, false, false, false, false, false, false, true, true]);
        pipe.reset(Rate::from_mbps(90.0));
        assert!(!pipe.on_round(Rate::from_mbps(90.0)));
    }

    #[test]
    fn the_window_leaves_headroom_only_while_cruising() {
        let mut bbr = Bbr3::new(1);
        bbr.full_reached = true;
        bbr.loss.long_term_inflight = Some(100_000);
        bbr.window = 200_000;
        bbr.max_bandwidth[1] = Rate::from_mbps(1000.0);
        let window = |bbr: &mut Bbr3, state| {
            (bbr.state, bbr.window) = (state, 200_000);
            bbr.aggregation.update(Time::ZERO, 1 << 40, Rate::ZERO, 1 << 40, 0, 10);
            bbr.set_window(0);
            bbr.window
        };
        assert_eq!(window(&mut bbr, State::Up), 100_000);
        assert_eq!(window(&mut bbr, State::Cruise), 85_000);
        bbr.loss.short_term_inflight = Some(50_000);
        assert_eq!(window(&mut bbr, State::Cruise), 50_000);
        assert_eq!(window(&mut bbr, State::ProbeRtt), 12_000, "the initial window, without a round-trip time");
    }
}
