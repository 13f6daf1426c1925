//! Round-trip times as RFC 9002, section 5, estimates them.

use crate::limits::usable_rtt;
use pcc::Time;
use std::time::Duration;

/// A shorter sample is an error of a clock.
const MIN_SAMPLE: Duration = Duration::from_micros(1);
/// The timer granularity (RFC 9002, section 6.1.2), in seconds.
const GRANULARITY: f64 = 1e-3;
/// How long a receiver may delay an acknowledgement (RFC 9000, section 18.2), in seconds.
const MAX_ACK_DELAY: f64 = 0.025;

/// The round-trip time so far, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    pub latest: f64,
    pub smoothed: f64,
    pub variation: f64,
    pub min: f64,
    /// When the first sample came.
    pub since: Time,
}

impl Rtt {
    pub fn new(now: Time, sample: Duration) -> Rtt {
        let latest = seconds(sample);
        Rtt { latest, smoothed: latest, variation: latest / 2.0, min: latest, since: now }
    }

    /// After another sample (RFC 9002, section 5.3).
    pub fn updated(self, sample: Duration) -> Rtt {
        let latest = seconds(sample);
        Rtt {
            latest,
            smoothed: self.smoothed + (latest - self.smoothed) / 8.0,
            variation: self.variation + ((self.smoothed - latest).abs() - self.variation) / 4.0,
            min: self.min.min(latest),
            since: self.since,
        }
    }

    /// The probe timeout in seconds (RFC 9002, section 6.2.1).
    pub fn probe_timeout(&self) -> f64 {
        self.smoothed + (4.0 * self.variation).max(GRANULARITY) + MAX_ACK_DELAY
    }
}

fn seconds(sample: Duration) -> f64 {
    usable_rtt(sample).max(MIN_SAMPLE).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_rfc_9002() {
        let rtt = Rtt::new(Time::ZERO, Duration::from_millis(100));
        assert!((rtt.probe_timeout() - 0.325).abs() < 1e-12, "100 + 4 * 50 + 25 ms");
        let rtt = rtt.updated(Duration::from_millis(180));
        assert!((rtt.smoothed - 0.110).abs() < 1e-12);
        assert!((rtt.variation - 0.0575).abs() < 1e-12, "3/4 * 50 + 1/4 * 80 ms");
        assert_eq!((rtt.latest, rtt.min), (0.18, 0.1));
        assert_eq!(rtt.updated(Duration::MAX).latest, 600.0);
    }
}
