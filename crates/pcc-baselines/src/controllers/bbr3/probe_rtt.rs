//! The round-trip time without a queue (draft-ietf-ccwg-bbr-04, sections 5.3.4 and 5.5.7).

use super::{Bbr3, State};
use crate::parts::delivery_rate::RateSample;
use pcc::Time;
use std::time::Duration;

/// How long a minimum counts (2.13.1).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// How long the flow goes without a new minimum until it looks for one (2.13.2).
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// How long the in-flight data is held low (2.13.2).
const PROBE_TIME: Duration = Duration::from_millis(200);
/// Bandwidth-delay products in flight meanwhile (2.13.2).
pub(crate) const WINDOW_GAIN: f64 = 0.5;

/// The minimum of the last ten seconds, and when to look for another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MinRtt {
    /// With the time of its sample.
    min: Option<(Duration, Time)>,
    /// The minimum since the last probe, with the time of its sample.
    recent: Option<(Duration, Time)>,
    /// When the probe that goes on ends at the earliest, and whether a round trip has passed in it.
    done: Option<Time>,
    round_passed: bool,
}

impl MinRtt {
    pub fn get(&self) -> Option<Duration> {
        self.min.map(|(rtt, _)| rtt)
    }

    /// `BBRUpdateMinRTT`; whether it is time to probe.
    fn update(&mut self, now: Time, rtt: Duration) -> bool {
        let older = |sample: Option<(Duration, Time)>, age| sample.is_some_and(|(_, at)| now.since(at) > age);
        let expired = older(self.recent, PROBE_INTERVAL);
        let recent = self.recent.filter(|(min, _)| *min <= rtt && !expired).unwrap_or((rtt, now));
        self.recent = Some(recent);
        if self.min.is_none_or(|(min, _)| recent.0 < min) || older(self.min, MIN_RTT_WINDOW) {
            self.min = Some(recent);
        }
        expired
    }
}

impl Bbr3 {
    /// `BBRProbeRTTCwnd`.
    pub(crate) fn probe_rtt_window(&self) -> u64 {
        self.product(WINDOW_GAIN).max(self.min_window())
    }

    /// `BBRUpdateMinRTT`, `BBRCheckProbeRTT` and `BBRHandleProbeRTT`.
    pub(crate) fn check_probe_rtt(&mut self, now: Time, sample: &RateSample) {
        let expired = sample.rtt.is_some_and(|rtt| self.min_rtt.update(now, rtt));
        if expired && self.state != State::ProbeRtt && !self.restarted {
            self.save_window();
            self.state = State::ProbeRtt;
            self.min_rtt.done = None;
            self.cycle.stop();
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            // The low rates of this state say nothing about the path.
            self.delivery.on_app_limited();
            if self.min_rtt.done.is_some() {
                self.min_rtt.round_passed |= self.rounds.ended;
                self.check_probe_rtt_done(now);
            } else if self.delivery.in_flight() <= self.probe_rtt_window() {
                self.min_rtt.done = Some(now + PROBE_TIME);
                self.min_rtt.round_passed = false;
                self.start_round();
            }
        }
        self.restarted = false;
    }

    /// `BBRCheckProbeRTTDone` and `BBRExitProbeRTT`.
    pub(crate) fn check_probe_rtt_done(&mut self, now: Time) {
        let done = self.min_rtt.round_passed && self.min_rtt.done.is_some_and(|done| now > done);
        if self.state != State::ProbeRtt || !done {
            return;
        }
        self.min_rtt.recent = self.min_rtt.recent.map(|(rtt, _)| (rtt, now));
        self.restore_window();
        self.loss.forget_short_term();
        if self.full_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_outlives_the_wait_for_a_probe() {
        let mut min = MinRtt::default();
        let mut update = |second, ms| {
            let expired = min.update(Time::ZERO + Duration::from_secs(second), Duration::from_millis(ms));
            (expired, min.get().unwrap().as_millis())
        };
        assert_eq!(update(0, 30), (false, 30));
        assert_eq!(update(4, 40), (false, 30));
        assert_eq!(update(6, 40), (true, 30), "time to probe");
        assert_eq!(update(11, 35), (false, 35), "ten seconds have passed");
        assert_eq!(update(12, 20), (false, 20));
    }
}
