//! The round-trip time estimate of the simulated transport (RFC 9002, sections 5.3 and 6).

use std::time::Duration;

/// The timer granularity, kGranularity.
const GRANULARITY: Duration = Duration::from_millis(1);
/// The probe timeout before the first sample: kInitialRtt and its variation.
const INITIAL_TIMEOUT: Duration = Duration::from_millis(999);

/// Smoothed round-trip time and its variation.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttEstimate {
    /// What the peer may hold an acknowledgement back for.
    max_ack_delay: Duration,
    smoothed: Option<Duration>,
    variation: Duration,
    latest: Duration,
}

impl RttEstimate {
    pub fn new(max_ack_delay: Duration) -> RttEstimate {
        RttEstimate { max_ack_delay, smoothed: None, variation: Duration::ZERO, latest: Duration::ZERO }
    }

    /// Takes a sample in (RFC 9002, section 5.3).
    pub fn add(&mut self, sample: Duration) {
        self.latest = sample;
        self.smoothed = Some(match self.smoothed {
            None => {
                self.variation = sample / 2;
                sample
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(sample)) / 4;
                (smoothed * 7 + sample) / 8
            }
        });
    }

    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// How long after its sending a packet that was overtaken counts as lost (section 6.1.2).
    pub fn loss_delay(&self) -> Duration {
        (self.latest.max(self.smoothed.unwrap_or_default()) * 9 / 8).max(GRANULARITY)
    }

    /// How long nothing may be heard after the last packet before a probe is sent (section 6.2.1).
    pub fn probe_timeout(&self) -> Duration {
        self.smoothed.map_or(INITIAL_TIMEOUT, |rtt| rtt + (self.variation * 4).max(GRANULARITY) + self.max_ack_delay)
    }
}
