//! What the versions of BBR have in common: how they send, and how they know that the pipe is full. Sections are those of
//! draft-ietf-ccwg-bbr-04, which keeps all of this as draft-cardwell-iccrg-bbr-congestion-control-00 and Linux
//! `net/ipv4/tcp_bbr.c` have it.

mod ack_aggregation;
mod full_pipe;

use super::delivery_rate::{DeliveryRate, LossSample, RateSample};
use super::rounds::{Recovery, Rounds};
use crate::limits::{INITIAL_MTU, INITIAL_WINDOW, MIN_RATE, usable_mtu};
use ack_aggregation::AckAggregation;
use full_pipe::FullPipe;
use pcc::{AckedPacket, LostPacket, Rate, SentPacket, Time};
use std::time::Duration;

/// Pace below the bandwidth, so that queues shrink (5.6.2).
const PACING_MARGIN: f64 = 0.99;
/// The minimum window in packets (5.6.4.3).
const MIN_WINDOW: u64 = 4;
/// The round-trip time before there is a sample (5.6.2).
const INITIAL_RTT: Duration = Duration::from_millis(1);
/// How long ProbeRTT holds the data in flight low at least (5.3.4.4).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// The maximum burst, in bytes (5.6.3).
const MAX_BURST: u64 = 64_000;

/// What all versions keep of a connection. Amounts are bytes.
#[derive(Debug)]
pub(crate) struct Flow {
    startup_gain: f64,
    pub mtu: u64,
    pub delivery: DeliveryRate,
    pub rounds: Rounds,
    pub recovery: Recovery,
    pub full_pipe: FullPipe,
    /// Whether the pipe was ever full.
    pub full_reached: bool,
    /// When ProbeRTT may end; `None` while there is still too much in flight.
    probe_rtt_done: Option<Time>,
    /// Whether a round trip has passed since the data in flight came down.
    probe_rtt_round_passed: bool,
    /// Whether nothing was acknowledged since the connection was idle.
    pub idle_restart: bool,
    pub aggregation: AckAggregation,
    pub window: u64,
    /// The last window that neither recovery nor ProbeRTT had cut (`BBR.prior_cwnd`).
    prior_window: u64,
    pacing_rate: Rate,
}

impl Flow {
    /// A new one, which paces at `startup_gain` windows a round trip until the bandwidth is known.
    pub fn new(startup_gain: f64) -> Flow {
        let mut flow = Flow {
            startup_gain,
            mtu: INITIAL_MTU,
            delivery: DeliveryRate::default(),
            rounds: Rounds::default(),
            recovery: Recovery::default(),
            full_pipe: FullPipe::default(),
            full_reached: false,
            probe_rtt_done: None,
            probe_rtt_round_passed: false,
            idle_restart: false,
            aggregation: AckAggregation::default(),
            window: INITIAL_WINDOW * INITIAL_MTU,
            prior_window: 0,
            pacing_rate: Rate::ZERO,
        };
        flow.set_initial_rate(INITIAL_RTT);
        flow
    }

    /// A packet was sent; whether the connection was idle before (5.4.1).
    pub fn on_sent(&mut self, packet: &SentPacket) -> bool {
        let restarts = self.delivery.in_flight() == 0 && self.delivery.is_app_limited();
        if restarts {
            self.idle_restart = true;
            self.aggregation.restart(packet.time);
        }
        self.delivery.on_sent(packet);
        self.recovery.on_sent(packet.number);
        restarts
    }

    pub fn on_acked(&mut self, packet: &AckedPacket) {
        self.delivery.on_acked(packet);
        self.recovery.on_acked(packet.number);
    }

    /// A packet was given up: begins recovery, before which the window is saved; `cut` says whether it was cut before.
    /// `None` if the outcome of the packet was known before.
    pub fn on_lost(&mut self, packet: &LostPacket, cut: bool) -> Option<LossSample> {
        let sample = self.delivery.on_lost(packet)?;
        if !self.recovery.is_active() {
            self.save_window(cut);
        }
        self.recovery.on_lost();
        Some(sample)
    }

    /// The size of packets has changed; `measured` says whether there was a round-trip time yet.
    pub fn on_mtu_change(&mut self, mtu: u64, measured: bool) {
        self.mtu = usable_mtu(mtu);
        if !measured {
            self.window = self.initial_window();
            self.set_initial_rate(INITIAL_RTT);
        }
    }

    pub fn start_round(&mut self) {
        self.rounds.start(self.delivery.delivered());
    }

    pub fn initial_window(&self) -> u64 {
        INITIAL_WINDOW * self.mtu
    }

    pub fn min_window(&self) -> u64 {
        MIN_WINDOW * self.mtu
    }

    /// What a host with segmentation offload sends at once (5.6.3).
    pub fn burst(&self) -> u64 {
        self.pacing_rate.bytes_in(Duration::from_millis(1)).min(MAX_BURST).max(2 * self.mtu)
    }

    /// Estimates how much is acknowledged at once, over `rounds` round trips (5.5.9).
    pub fn update_aggregation(&mut self, now: Time, acked: u64, bandwidth: Rate, rounds: u64) {
        self.aggregation.update(now, acked, bandwidth, self.window, self.rounds.count, rounds);
    }

    /// Looks, once a round trip, whether `bandwidth` still grows (5.3.1.2).
    pub fn check_full_pipe(&mut self, bandwidth: Rate, sample: &RateSample) {
        if self.rounds.ended && !sample.app_limited {
            self.full_reached |= self.full_pipe.on_round(bandwidth);
        }
    }

    /// In ProbeRTT, with each batch: holds no more than `window` in flight (5.3.4.4).
    pub fn hold_probe_rtt(&mut self, now: Time, window: u64) {
        // The low rates of this state say nothing about the path.
        self.delivery.on_app_limited();
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_passed |= self.rounds.ended;
        } else if self.delivery.in_flight() <= window {
            self.probe_rtt_done = Some(now + PROBE_RTT_DURATION);
            self.probe_rtt_round_passed = false;
            self.start_round();
        }
    }

    /// Whether ProbeRTT may end: after 200 ms and a round trip with little in flight.
    pub fn is_probe_rtt_done(&self, now: Time) -> bool {
        self.probe_rtt_round_passed && self.probe_rtt_done.is_some_and(|done| now > done)
    }

    /// Begins ProbeRTT; `cut` says whether the window was cut before.
    pub fn start_probe_rtt(&mut self, cut: bool) {
        self.save_window(cut);
        self.probe_rtt_done = None;
    }

    /// `BBRSaveCwnd` (5.6.4.4).
    fn save_window(&mut self, cut: bool) {
        self.prior_window = if cut { self.prior_window.max(self.window) } else { self.window };
    }

    /// `BBRRestoreCwnd` (5.6.4.4).
    pub fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// Moves the window towards `target` by what was acknowledged (5.6.4.6).
    pub fn grow_window(&mut self, acked: u64, target: u64) {
        if self.full_reached {
            self.window = (self.window + acked).min(target);
        } else if self.window < target || self.delivery.delivered() < self.initial_window() {
            self.window += acked;
        }
    }

    /// The rate before the bandwidth is known (5.6.2).
    pub fn set_initial_rate(&mut self, rtt: Duration) {
        self.pacing_rate = Rate::from_bytes_over(self.window, rtt.max(Duration::from_micros(1))) * self.startup_gain;
    }

    /// Until the pipe was full the rate only rises (5.6.2).
    pub fn set_pacing_rate(&mut self, bandwidth: Rate, gain: f64) {
        let rate = bandwidth * (gain * PACING_MARGIN);
        if self.full_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// What [`pcc::CongestionControl::pacing_rate`] returns.
    pub fn pacing_rate(&self) -> Rate {
        self.pacing_rate.max(MIN_RATE)
    }

    /// What [`pcc::CongestionControl::in_flight_cap`] returns.
    pub fn in_flight_cap(&self) -> u64 {
        self.window.max(self.mtu)
    }
}
