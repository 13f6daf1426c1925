//! ProbeBW: the cycle that probes for bandwidth (draft-ietf-ccwg-bbr-04, section 5.3.3).

use super::cycle::AckPhase;
use super::loss::{BETA, inflight_at_loss, is_too_high, scaled};
use super::model::{Bbr3, State};
use crate::parts::delivery_rate::{LossSample, RateSample};
use pcc::{Rate, Time};

impl Bbr3 {
    /// `BBRStartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Time) {
        self.loss.reset_signals();
        self.cycle.start_down(now, &mut self.rng);
        self.flow.start_round();
        self.state = State::Down;
    }

    /// `BBRStartProbeBW_REFILL`.
    fn start_refill(&mut self) {
        self.loss.forget_short_term();
        self.cycle.start_refill();
        self.flow.start_round();
        self.state = State::Refill;
    }

    /// `BBRStartProbeBW_UP`.
    fn start_up(&mut self, rate: Rate) {
        self.cycle.start_up(self.flow.window, self.flow.mtu);
        self.flow.start_round();
        self.flow.full_pipe.reset(rate);
        self.state = State::Up;
    }

    /// `BBRUpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, now: Time, sample: &RateSample) {
        if !self.flow.full_reached {
            return;
        }
        self.adapt_long_term(sample);
        match self.state {
            State::Down if self.is_time_to_probe(now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            State::Refill if self.flow.rounds.ended => self.start_up(sample.rate),
            // Bounded by earlier losses, the flow can't tell whether the pipe is full.
            State::Up if self.is_bounded(sample) => self.flow.full_pipe.reset(sample.rate),
            State::Up if self.flow.full_pipe.now => self.start_down(now),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        self.cycle.is_time_to_probe(now, self.target_inflight() / self.flow.mtu)
    }

    fn is_time_to_cruise(&self) -> bool {
        let in_flight = self.flow.delivery.in_flight();
        self.inflight_with_headroom().is_none_or(|bound| in_flight <= bound)
            && in_flight <= self.with_bursts(self.max_product())
    }

    /// Whether the window, and for it the long-term bound, limits the flow.
    fn is_bounded(&self, sample: &RateSample) -> bool {
        let window = self.flow.window;
        let window_limited = sample.prior_in_flight + self.flow.mtu > window;
        window_limited && self.loss.long_term_inflight.is_some_and(|bound| window >= bound)
    }

    /// `BBRAdaptLongTermModel`.
    fn adapt_long_term(&mut self, sample: &RateSample) {
        if self.flow.rounds.ended {
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
            let bound = bound.max(sample.sent_in_flight);
            self.loss.long_term_inflight = Some(bound);
            if self.state == State::Up && self.is_bounded(sample) {
                self.probe_upward(bound, sample);
            }
        }
    }

    /// `BBRProbeInflightLongtermUpward`.
    fn probe_upward(&mut self, bound: u64, sample: &RateSample) {
        let packets = self.cycle.growth(sample.newly_acked);
        self.loss.long_term_inflight = Some(bound.saturating_add(packets.saturating_mul(self.flow.mtu)));
        if self.flow.rounds.ended {
            self.cycle.raise_slope(self.flow.window, self.flow.mtu);
        }
    }

    /// `BBRHandleLostPacket` and `BBRHandleInflightTooHigh`: one answer for each probe.
    pub(super) fn check_probe_loss(&mut self, now: Time, sample: &LossSample) {
        if !self.cycle.samples || !is_too_high(sample.lost_in_flight, sample.sent_in_flight) {
            return;
        }
        self.cycle.samples = false;
        if !sample.app_limited {
            let floor = scaled(self.target_inflight(), BETA);
            self.loss.long_term_inflight = Some(inflight_at_loss(sample).max(floor));
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }
}
