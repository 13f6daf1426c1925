//! BBR, version 3: draft-ietf-ccwg-bbr-04, whose sections are cited and whose names are kept where they say more than
//! others would.
//!
//! Left out: the reaction to a retransmission timeout and the undoing of it, of which the contract tells nothing; and ECN,
//! as in the draft: its packets ask for no marks.

mod cycle;
mod loss;
mod min_rtt;
mod model;
mod probe_bandwidth;

pub(crate) use model::Bbr3;

use crate::parts::delivery_rate::RateSample;
use model::State;
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};

/// Round trips for which an aggregation of acknowledgements counts, once the pipe is full (5.5.9).
const AGGREGATION_WINDOW: u64 = 10;

impl Bbr3 {
    /// 5.5.5, and the short-term model of 5.5.10.3.
    fn update_bandwidth(&mut self, sample: &RateSample) {
        let delivered = self.flow.delivery.delivered();
        self.loss.on_sample(sample, delivered);
        self.flow.rounds.update(sample.prior_delivered, delivered);
        if self.flow.rounds.ended {
            self.cycle.rounds += 1;
        }
        if sample.counts(self.max_bandwidth()) {
            self.max_bandwidth[1] = self.max_bandwidth[1].max(sample.rate);
        }
        self.loss.on_round_end(self.state.accelerates(), self.max_bandwidth(), self.flow.window);
    }

    fn update_aggregation(&mut self, now: Time, acked: u64) {
        let rounds = if self.flow.full_reached { AGGREGATION_WINDOW } else { 1 };
        self.flow.update_aggregation(now, acked, self.bandwidth(), rounds);
    }

    /// 5.3.1.2, 5.3.1.3 and 5.3.2.
    fn check_startup_and_drain(&mut self, now: Time, sample: &RateSample) {
        self.flow.check_full_pipe(sample.rate, sample);
        if self.state == State::Startup {
            let recovering = self.flow.recovery.is_active();
            if !self.flow.full_reached && self.loss.is_high_in_startup(sample, recovering) {
                self.flow.full_reached = true;
                self.loss.long_term_inflight = Some(self.product(1.0).max(self.loss.latest_inflight()));
            }
            if self.flow.full_reached {
                self.state = State::Drain;
            }
        }
        if self.state == State::Drain && self.flow.delivery.in_flight() <= self.with_bursts(self.product(1.0)) {
            self.start_down(now);
        }
    }

    /// `BBRUpdateMinRTT`, `BBRCheckProbeRTT` and `BBRHandleProbeRTT`.
    fn check_probe_rtt(&mut self, now: Time, sample: &RateSample) {
        let expired = sample.rtt.is_some_and(|rtt| self.min_rtt.update(now, rtt));
        if expired && self.state != State::ProbeRtt && !self.flow.idle_restart {
            self.flow.start_probe_rtt(self.flow.recovery.is_active());
            self.state = State::ProbeRtt;
            self.cycle.stop();
            self.flow.start_round();
        }
        if self.state == State::ProbeRtt {
            self.flow.hold_probe_rtt(now, self.probe_rtt_window());
            self.check_probe_rtt_done(now);
        }
        self.flow.idle_restart = false;
    }

    /// `BBRCheckProbeRTTDone` and `BBRExitProbeRTT`.
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.state != State::ProbeRtt || !self.flow.is_probe_rtt_done(now) {
            return;
        }
        self.min_rtt.on_probed(now);
        self.flow.restore_window();
        self.loss.forget_short_term();
        if self.flow.full_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}

impl CongestionControl for Bbr3 {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        // 5.4.1.
        if self.flow.on_sent(packet) {
            if self.state.probes_bandwidth() {
                self.flow.set_pacing_rate(self.bandwidth(), 1.0);
            }
            self.check_probe_rtt_done(packet.time);
        }
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        let recovering = self.flow.recovery.is_active();
        self.flow.on_acked(packet);
        if recovering && !self.flow.recovery.is_active() {
            self.flow.restore_window();
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        let Some(sample) = self.flow.on_lost(packet, self.state == State::ProbeRtt) else { return };
        self.loss.on_lost(packet.number, self.flow.delivery.delivered());
        self.check_probe_loss(packet.time, &sample);
    }

    fn on_packet_discarded(&mut self, number: u64) {
        self.flow.delivery.on_discarded(number);
    }

    fn on_batch_end(&mut self, now: Time) {
        let Some(sample) = self.flow.delivery.sample().filter(|sample| sample.newly_acked > 0) else { return };
        if let (None, Some(rtt)) = (self.min_rtt.get(), sample.rtt) {
            self.flow.set_initial_rate(rtt);
        }
        self.update_bandwidth(&sample);
        self.update_aggregation(now, sample.newly_acked);
        self.check_startup_and_drain(now, &sample);
        self.update_cycle(now, &sample);
        self.check_probe_rtt(now, &sample);
        self.loss.end_batch(&sample);
        self.flow.set_pacing_rate(self.bandwidth(), self.state.gains().0);
        self.set_window(sample.newly_acked);
    }

    fn on_app_limited(&mut self, _now: Time) {
        self.flow.delivery.on_app_limited();
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.flow.on_mtu_change(mtu, self.min_rtt.get().is_some());
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.flow.pacing_rate())
    }

    fn in_flight_cap(&self) -> u64 {
        self.flow.in_flight_cap()
    }
}
