//! The kernel's estimate of the round-trip time and its retransmission timer (RFC 6298).

use core::time::Duration;
use pcc::Time;

/// The timeout before the first sample (RFC 6298, section 2.1).
const INITIAL: Duration = Duration::from_secs(1);
/// The least that Linux adds to the smoothed round-trip time.
const MIN_VARIATION: Duration = Duration::from_millis(200);
/// The longest timeout of Linux.
const MAX: Duration = Duration::from_secs(120);

/// The estimate, and when the timer expires.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RetransmissionTimer {
    /// Smoothed round-trip time and its variation.
    estimate: Option<(Duration, Duration)>,
    /// When the timer was started last.
    started: Time,
    /// How often it expired since then: it doubles each time.
    expired: u32,
}

impl RetransmissionTimer {
    /// Takes a sample in (RFC 6298, sections 2.2 and 2.3).
    pub fn sample(&mut self, rtt: Duration) {
        self.estimate = Some(match self.estimate {
            None => (rtt, rtt / 2),
            Some((srtt, variation)) => ((srtt * 7 + rtt) / 8, (variation * 3 + srtt.abs_diff(rtt)) / 4),
        });
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|(srtt, _)| srtt)
    }

    /// Starts it anew: something was acknowledged, or sending begins.
    pub fn restart(&mut self, now: Time) {
        (self.started, self.expired) = (now, 0);
    }

    /// The timer has expired: doubles the timeout.
    pub fn back_off(&mut self, now: Time) {
        (self.started, self.expired) = (now, self.expired.saturating_add(1));
    }

    /// When the timer expires.
    pub fn deadline(&self) -> Time {
        let timeout = self.estimate.map_or(INITIAL, |(srtt, variation)| srtt + (variation * 4).max(MIN_VARIATION));
        self.started + (timeout * (1 << self.expired.min(7))).min(MAX)
    }
}
