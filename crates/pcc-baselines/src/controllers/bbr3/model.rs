//! What BBRv3 keeps of a connection, and the amounts that follow from it. Sections are those of draft-ietf-ccwg-bbr-04.

use super::cycle::Cycle;
use super::loss::{LossModel, scaled};
use super::min_rtt::MinRtt;
use crate::parts::bbr::Flow;
use pcc::Rate;

/// Startup doubles the rate each round trip with this (5.3.1.1).
const STARTUP_GAIN: f64 = 2.77;
/// Drains what Startup queued in about one round trip (5.3.2).
const DRAIN_GAIN: f64 = 0.35;
/// Bandwidth-delay products in flight (2.5).
const WINDOW_GAIN: f64 = 2.0;
/// Bandwidth-delay products in flight in ProbeRTT (2.13.2).
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
/// The part of the in-flight bound that is left to others while cruising (2.7).
const HEADROOM: f64 = 0.15;

/// 5.1; `Down`, `Cruise`, `Refill` and `Up` are those of ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    pub fn probes_bandwidth(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// Whether the flow sends faster than before, so that losses are no reason to bound it (5.5.10.3).
    pub fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// The gains of pacing and of the window (5.6.1).
    pub fn gains(self) -> (f64, f64) {
        match self {
            State::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            State::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            State::Down => (0.9, WINDOW_GAIN),
            State::Cruise | State::Refill => (1.0, WINDOW_GAIN),
            State::Up => (1.25, 2.25),
            State::ProbeRtt => (1.0, PROBE_RTT_WINDOW_GAIN),
        }
    }
}

/// Sends at the maximum bandwidth of the last two cycles, within bounds that losses set.
#[derive(Debug)]
pub(crate) struct Bbr3 {
    pub(super) rng: fastrand::Rng,
    pub(super) flow: Flow,
    pub(super) state: State,
    /// The maximum delivery rates of the cycle before and of this one (5.5.6).
    pub(super) max_bandwidth: [Rate; 2],
    pub(super) min_rtt: MinRtt,
    pub(super) cycle: Cycle,
    pub(super) loss: LossModel,
}

impl Bbr3 {
    pub fn new(seed: u64) -> Bbr3 {
        Bbr3 {
            rng: fastrand::Rng::with_seed(seed),
            flow: Flow::new(STARTUP_GAIN),
            state: State::Startup,
            max_bandwidth: [Rate::ZERO; 2],
            min_rtt: MinRtt::default(),
            cycle: Cycle::default(),
            loss: LossModel::default(),
        }
    }

    pub(super) fn max_bandwidth(&self) -> Rate {
        self.max_bandwidth[0].max(self.max_bandwidth[1])
    }

    /// The bandwidth to use (5.5.10.3).
    pub(super) fn bandwidth(&self) -> Rate {
        self.loss.short_term_bandwidth.map_or(self.max_bandwidth(), |short| short.min(self.max_bandwidth()))
    }

    /// `gain` bandwidth-delay products in bytes (5.6.4.2).
    pub(super) fn product(&self, gain: f64) -> u64 {
        self.min_rtt.get().map_or(self.flow.initial_window(), |rtt| (self.bandwidth() * gain).bytes_in(rtt))
    }

    /// The bandwidth-delay product of the best bandwidth, in bytes.
    pub(super) fn max_product(&self) -> u64 {
        self.min_rtt.get().map_or(0, |rtt| self.max_bandwidth().bytes_in(rtt))
    }

    /// `bytes`, or what bursts need if that is more (5.5.8, 5.6.3, 5.6.4.2).
    pub(super) fn with_bursts(&self, bytes: u64) -> u64 {
        let bursts = bytes.max(3 * self.flow.burst()).max(self.flow.min_window());
        let packets = if self.state == State::Up { 2 } else { 0 };
        bursts.saturating_add(packets * self.flow.mtu)
    }

    /// `BBRInflightWithHeadroom`; `None` without a bound.
    pub(super) fn inflight_with_headroom(&self) -> Option<u64> {
        let bound = self.loss.long_term_inflight?;
        let headroom = scaled(bound, HEADROOM).max(self.flow.mtu);
        Some(bound.saturating_sub(headroom).max(self.flow.min_window()))
    }

    /// `BBRTargetInflight`: a bandwidth-delay product, as far as the window allows it.
    pub(super) fn target_inflight(&self) -> u64 {
        self.product(1.0).min(self.flow.window)
    }

    /// `BBRProbeRTTCwnd`.
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.product(PROBE_RTT_WINDOW_GAIN).max(self.flow.min_window())
    }

    /// 5.6.4.6 and 5.6.4.7.
    pub(super) fn set_window(&mut self, acked: u64) {
        let product = self.product(self.state.gains().1);
        let target = self.with_bursts(product.saturating_add(self.flow.aggregation.get()));
        self.flow.grow_window(acked, target);
        let headroom = self.inflight_with_headroom();
        let cap = match self.state {
            State::Startup | State::Drain => None,
            State::Down | State::Refill | State::Up => self.loss.long_term_inflight,
            State::Cruise => headroom,
            State::ProbeRtt => Some(self.probe_rtt_window().min(headroom.unwrap_or(u64::MAX))),
        };
        let short = self.loss.short_term_inflight.unwrap_or(u64::MAX);
        let bounded = self.flow.window.min(cap.unwrap_or(u64::MAX)).min(short);
        self.flow.window = bounded.max(self.flow.min_window());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::Time;

    #[test]
    fn the_window_leaves_headroom_only_while_cruising() {
        let mut bbr = Bbr3::new(1);
        bbr.flow.full_reached = true;
        bbr.loss.long_term_inflight = Some(100_000);
        bbr.max_bandwidth[1] = Rate::from_mbps(1000.0);
        let window = |bbr: &mut Bbr3, state| {
            (bbr.state, bbr.flow.window) = (state, 200_000);
            bbr.flow.update_aggregation(Time::ZERO, 1 << 40, Rate::ZERO, 10);
            bbr.set_window(0);
            bbr.flow.window
        };
        assert_eq!(window(&mut bbr, State::Up), 100_000);
        assert_eq!(window(&mut bbr, State::Cruise), 85_000);
        bbr.loss.short_term_inflight = Some(50_000);
        assert_eq!(window(&mut bbr, State::Cruise), 50_000);
        assert_eq!(window(&mut bbr, State::ProbeRtt), 12_000, "the initial window, without a round-trip time");
    }
}
