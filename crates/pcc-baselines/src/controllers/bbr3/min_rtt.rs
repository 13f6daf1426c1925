//! The round-trip time without a queue (draft-ietf-ccwg-bbr-04, section 5.5.7).

use pcc::Time;
use std::time::Duration;

/// How long a minimum counts (2.13.1).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// How long the flow goes without a new minimum until it looks for one (2.13.2).
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// The minimum of the last ten seconds, and when to look for another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// With the time of its sample.
    min: Option<(Duration, Time)>,
    /// The minimum since the last probe, with the time of its sample.
    recent: Option<(Duration, Time)>,
}

impl MinRtt {
    pub fn get(&self) -> Option<Duration> {
        self.min.map(|(rtt, _)| rtt)
    }

    /// `BBRUpdateMinRTT`; whether it is time to probe.
    pub fn update(&mut self, now: Time, rtt: Duration) -> bool {
        let older = |sample: Option<(Duration, Time)>, age| sample.is_some_and(|(_, at)| now.since(at) > age);
        let expired = older(self.recent, PROBE_INTERVAL);
        let recent = self.recent.filter(|(min, _)| *min <= rtt && !expired).unwrap_or((rtt, now));
        self.recent = Some(recent);
        if self.min.is_none_or(|(min, _)| recent.0 < min) || older(self.min, MIN_RTT_WINDOW) {
            self.min = Some(recent);
        }
        expired
    }

    /// A probe has ended.
    pub fn on_probed(&mut self, now: Time) {
        self.recent = self.recent.map(|(rtt, _)| (rtt, now));
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
