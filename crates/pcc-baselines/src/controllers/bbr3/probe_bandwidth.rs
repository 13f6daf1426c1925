//! The cycle that probes for bandwidth (draft-ietf-ccwg-bbr-04, section 5.3.3).

use super::loss::{BETA, inflight_at_loss, is_too_high, scaled};
use super::{Bbr3, State};
use crate::parts::delivery_rate::{LossSample, RateSample};
use pcc::{Rate, Time};
use std::time::Duration;

/// The part of the in-flight bound that is left to others while cruising (2.7).
const HEADROOM: f64 = 0.15;
/// Round trips after which Reno would have probed, at most (5.3.3.5.2).
const MAX_RENO_ROUNDS: u64 = 63;
/// The shortest time between probes, and how much is randomly added (5.3.3.5.2).
const PROBE_WAIT: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(1)];
/// Doublings of the growth of the in-flight bound in one probe (5.3.3.6).
const MAX_UP_ROUNDS: u32 = 30;

/// What the acknowledgements that come in belong to (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Where the flow is in the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cycle {
    /// Round trips since the last probe.
    pub rounds: u64,
    /// When the flow went down, and how long it waits until it probes again.
    since: Time,
    wait: Duration,
    acks: AckPhase,
    /// Whether losses are of packets that probed, and haven't been answered.
    samples: bool,
    up_rounds: u32,
    up_acked: u64,
    /// Bytes acknowledged for each packet that the in-flight bound grows by.
    up_interval: Option<u64>,
}

impl Cycle {
    /// Acknowledgements from now on aren't of a probe.
    pub fn stop(&mut self) {
        self.acks = AckPhase::ProbeStopping;
    }
}

impl Bbr3 {
    /// `BBRInflightWithHeadroom`; `None` without a bound.
    pub(crate) fn inflight_with_headroom(&self) -> Option<u64> {
        let bound = self.loss.long_term_inflight?;
        let headroom = scaled(bound, HEADROOM).max(self.mtu);
        Some(bound.saturating_sub(headroom).max(self.min_window()))
    }

    /// `BBRStartProbeBW_DOWN`.
    pub(crate) fn start_down(&mut self, now: Time) {
        self.loss.reset_signals();
        let extra = PROBE_WAIT[1].mul_f64(self.rng.f64());
        self.cycle.rounds = self.rng.u64(0..=1);
        self.cycle.wait = PROBE_WAIT[0] + extra;
        self.cycle.since = now;
        self.cycle.up_interval = None;
        self.cycle.stop();
        self.start_round();
        self.state = State::Down;
    }

    /// `BBRStartProbeBW_REFILL`.
    fn start_refill(&mut self) {
        self.loss.forget_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.acks = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `BBRStartProbeBW_UP`.
    fn start_up(&mut self, rate: Rate) {
        self.cycle.acks = AckPhase::ProbeStarting;
        self.cycle.samples = true;
        self.start_round();
        self.full_pipe.reset(rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// `BBRUpdateProbeBWCyclePhase`.
    pub(crate) fn update_cycle(&mut self, now: Time, sample: &RateSample) {
        if !self.full_reached {
            return;
        }
        self.adapt_long_term(sample);
        match self.state {
            State::Down if self.is_time_to_probe(now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            State::Refill if self.rounds.ended => self.start_up(sample.rate),
            // Bounded by earlier losses, the flow can't tell whether the pipe is full.
            State::Up if self.is_bounded(sample) => self.full_pipe.reset(sample.rate),
            State::Up if self.full_pipe.now => self.start_down(now),
            _ => {}
        }
    }

    /// 5.3.3.5.3: after two to three seconds, or when Reno would have lost a packet.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = self.product(1.0).min(self.window) / self.mtu;
        now.since(self.cycle.since) > self.cycle.wait || self.cycle.rounds >= reno_rounds.min(MAX_RENO_ROUNDS)
    }

    fn is_time_to_cruise(&self) -> bool {
        let in_flight = self.delivery.in_flight();
        self.inflight_with_headroom().is_none_or(|bound| in_flight <= bound)
            && in_flight <= self.with_bursts(self.max_product())
    }

    /// The bandwidth-delay product of the best bandwidth, in bytes.
    fn max_product(&self) -> u64 {
        self.min_rtt.get().map_or(0, |rtt| self.max_bandwidth().bytes_in(rtt))
    }

    /// Whether the window, and for it the long-term bound, limits the flow.
    fn is_bounded(&self, sample: &RateSample) -> bool {
        let window_limited = sample.prior_in_flight + self.mtu > self.window;
        window_limited && self.loss.long_term_inflight.is_some_and(|bound| self.window >= bound)
    }

    /// `BBRAdaptLongTermModel`.
    fn adapt_long_term(&mut self, sample: &RateSample) {
        if self.rounds.ended {
            match self.cycle.acks {
                AckPhase::ProbeStarting => self.cycle.acks = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.cycle.samples = false;
                    self.cycle.acks = AckPhase::Init;
                    if self.state.probes_bandwidth() && !sample.app_limited {
                        self.max_bandwidth = [self.max_bandwidth[1], Rate::ZERO];
                    }
                }
                _ => {}
            }
        }
        if is_too_high(sample.lost_in_flight, sample.sent_in_flight) {
            return;
        }
        if let Some(bound) = self.loss.long_term_inflight {
            self.loss.long_term_inflight = Some(bound.max(sample.sent_in_flight));
            if self.state == State::Up {
                self.probe_upward(sample);
            }
        }
    }

    /// `BBRRaiseInflightLongtermSlope`: 1, 2, 4, 8 ... packets a round trip.
    fn raise_slope(&mut self) {
        self.cycle.up_interval = Some((self.window >> self.cycle.up_rounds).max(self.mtu));
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_UP_ROUNDS);
    }

    /// `BBRProbeInflightLongtermUpward`.
    fn probe_upward(&mut self, sample: &RateSample) {
        if !self.is_bounded(sample) {
            return;
        }
        self.cycle.up_acked = self.cycle.up_acked.saturating_add(sample.newly_acked);
        if let (Some(bound), Some(interval)) = (self.loss.long_term_inflight, self.cycle.up_interval) {
            let packets = self.cycle.up_acked / interval;
            self.cycle.up_acked %= interval;
            self.loss.long_term_inflight = Some(bound.saturating_add(packets.saturating_mul(self.mtu)));
        }
        if self.rounds.ended {
            self.raise_slope();
        }
    }

    /// `BBRHandleLostPacket` and `BBRHandleInflightTooHigh`: one answer for each probe.
    pub(crate) fn check_probe_loss(&mut self, now: Time, sample: &LossSample) {
        if !self.cycle.samples || !is_too_high(sample.lost_in_flight, sample.sent_in_flight) {
            return;
        }
        self.cycle.samples = false;
        if !sample.app_limited {
            let target = self.product(1.0).min(self.window);
            self.loss.long_term_inflight = Some(inflight_at_loss(sample).max(scaled(target, BETA)));
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }
}
