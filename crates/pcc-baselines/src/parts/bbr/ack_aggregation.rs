//! How much more than expected is acknowledged at once (draft-ietf-ccwg-bbr-04, section 5.5.9).

use crate::parts::windowed_filter::WindowedMax;
use pcc::{Rate, Time};

/// Tracks the largest excess of acknowledged data over what the bandwidth explains, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckAggregation {
    epoch: Time,
    epoch_acked: u64,
    excess: WindowedMax<u64>,
}

impl AckAggregation {
    /// The largest excess of the window, in bytes.
    pub fn get(&self) -> u64 {
        self.excess.get().unwrap_or(0)
    }

    /// Data flows again after a pause.
    pub fn restart(&mut self, now: Time) {
        (self.epoch, self.epoch_acked) = (now, 0);
    }

    /// `acked` bytes came at `now` in the round trip `round`; an excess counts up to `cap` and for `window` round trips.
    pub fn update(&mut self, now: Time, acked: u64, bandwidth: Rate, cap: u64, round: u64, window: u64) {
        let mut expected = bandwidth.bytes_in(now.since(self.epoch));
        if self.epoch_acked <= expected {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = self.epoch_acked.saturating_add(acked);
        self.excess.update(round, self.epoch_acked.saturating_sub(expected).min(cap), window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counts_what_comes_faster_than_the_bandwidth() {
        let mut aggregation = AckAggregation::default();
        // 8 Mbit/s are 1000 bytes each millisecond.
        let mut update = |ms: u64, acked, round| {
            let now = Time::ZERO + Duration::from_millis(ms);
            aggregation.update(now, acked, Rate::from_mbps(8.0), 5000, round, 10);
            aggregation.get()
        };
        assert_eq!(update(1, 1000, 0), 1000, "an epoch begins with the whole acknowledgement");
        assert_eq!(update(1, 2000, 0), 3000);
        assert_eq!(update(2, 1000, 0), 3000, "as expected");
        assert_eq!(update(2, 9000, 1), 5000, "capped");
        assert_eq!(update(500, 1000, 2), 5000);
        assert_eq!(update(900, 1000, 20), 1000, "the window has passed");
    }
}
