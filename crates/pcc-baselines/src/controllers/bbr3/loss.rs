//! What losses tell (draft-ietf-ccwg-bbr-04, sections 5.3.1.3 and 5.5.10).

use crate::parts::delivery_rate::{LossSample, RateSample};
use pcc::Rate;

/// The loss rate over a round trip that is too much (2.7).
const LOSS_THRESHOLD: f64 = 0.02;
/// What a bound keeps, at the least, when losses lower it (2.7).
pub(super) const BETA: f64 = 0.7;
/// Lost ranges of a round trip from which on its losses can end Startup (5.3.1.3).
const STARTUP_FULL_LOSS_COUNT: u32 = 6;

/// Bounds from losses. Amounts are bytes; `None` is no bound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossModel {
    /// `bw_shortterm` (5.5.10.3).
    pub short_term_bandwidth: Option<Rate>,
    /// `inflight_shortterm` (5.5.10.3).
    pub short_term_inflight: Option<u64>,
    /// `inflight_longterm` (5.5.10.2).
    pub long_term_inflight: Option<u64>,
    /// The maximum of the round trip so far.
    latest_bandwidth: Rate,
    latest_inflight: u64,
    in_round: bool,
    round_ended: bool,
    round_delivered: u64,
    /// Ranges of numbers lost in this round trip, and the last number of the last one.
    ranges: u32,
    last_lost: Option<u64>,
}

impl LossModel {
    pub fn latest_inflight(&self) -> u64 {
        self.latest_inflight
    }

    /// `BBRResetShortTermModel`.
    pub fn forget_short_term(&mut self) {
        self.short_term_bandwidth = None;
        self.short_term_inflight = None;
    }

    /// `BBRResetCongestionSignals`.
    pub fn reset_signals(&mut self) {
        self.in_round = false;
        self.latest_bandwidth = Rate::ZERO;
        self.latest_inflight = 0;
    }

    /// `BBRNoteLoss`.
    pub fn on_lost(&mut self, number: u64, delivered: u64) {
        if !self.in_round {
            self.round_delivered = delivered;
        }
        self.in_round = true;
        if self.last_lost.is_none_or(|last| last.checked_add(1) != Some(number)) {
            self.ranges += 1;
        }
        self.last_lost = Some(number);
    }

    /// `BBRUpdateLatestDeliverySignals`.
    pub fn on_sample(&mut self, sample: &RateSample, delivered: u64) {
        self.latest_bandwidth = self.latest_bandwidth.max(sample.rate);
        self.latest_inflight = self.latest_inflight.max(sample.delivered);
        self.round_ended = sample.prior_delivered >= self.round_delivered;
        if self.round_ended {
            self.round_delivered = delivered;
        }
    }

    /// `BBRUpdateCongestionSignals`: once in a round trip with losses the short-term bounds follow what was delivered,
    /// unless the flow accelerates.
    pub fn on_round_end(&mut self, accelerates: bool, max_bandwidth: Rate, window: u64) {
        if !self.round_ended {
            return;
        }
        if self.in_round && !accelerates {
            let bandwidth = self.short_term_bandwidth.unwrap_or(max_bandwidth) * BETA;
            self.short_term_bandwidth = Some(bandwidth.max(self.latest_bandwidth));
            let inflight = scaled(self.short_term_inflight.unwrap_or(window), BETA);
            self.short_term_inflight = Some(inflight.max(self.latest_inflight));
        }
        self.in_round = false;
    }

    /// `BBRCheckStartupHighLoss`.
    pub fn is_high_in_startup(&self, sample: &RateSample, recovering: bool) -> bool {
        self.round_ended
            && recovering
            && self.ranges >= STARTUP_FULL_LOSS_COUNT
            && is_too_high(sample.lost_in_flight, sample.sent_in_flight)
    }

    /// `BBRAdvanceLatestDeliverySignals`.
    pub fn end_batch(&mut self, sample: &RateSample) {
        if self.round_ended {
            self.latest_bandwidth = sample.rate;
            self.latest_inflight = sample.delivered;
            self.ranges = 0;
        }
    }
}

/// `IsInflightTooHigh`: whether `lost` of `in_flight` bytes is above the threshold.
pub(super) fn is_too_high(lost: u64, in_flight: u64) -> bool {
    lost as f64 > in_flight as f64 * LOSS_THRESHOLD
}

/// `BBRInflightAtLoss`: how much was in flight when the losses crossed the threshold, in bytes.
pub(super) fn inflight_at_loss(sample: &LossSample) -> u64 {
    let before = sample.sent_in_flight.saturating_sub(sample.bytes) as f64;
    let lost_before = sample.lost_in_flight.saturating_sub(sample.bytes) as f64;
    let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
    (before + prefix) as u64
}

/// A part of an amount of bytes.
pub(super) fn scaled(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_crossed_inside_a_packet() {
        let sample = LossSample { bytes: 1000, sent_in_flight: 100_000, lost_in_flight: 2500, app_limited: false };
        assert!(is_too_high(sample.lost_in_flight, sample.sent_in_flight));
        assert!(!is_too_high(2000, 100_000));
        // 1500 of 99,000 bytes were lost before it; at 99,490 it is 1,990, which is 2 %.
        assert_eq!(inflight_at_loss(&sample), 99_489);
    }

    #[test]
    fn short_term_bounds_follow_deliveries_but_fall_by_three_tenths_at_most() {
        let sample = |mbps, delivered, prior_delivered| RateSample {
            rate: Rate::from_mbps(mbps),
            delivered,
            prior_delivered,
            sent_in_flight: 0,
            lost_in_flight: 0,
            app_limited: false,
            rtt: None,
            newly_acked: 0,
            newly_lost: 0,
            prior_in_flight: 0,
        };
        let mut model = LossModel::default();
        let mut round = |mbps, delivered, total: u64, accelerates| {
            model.on_lost(total, total);
            model.on_sample(&sample(mbps, delivered, total), total);
            model.on_round_end(accelerates, Rate::from_mbps(100.0), 50_000);
            model.end_batch(&sample(0.0, 0, 0));
            (model.short_term_bandwidth.map(|rate| rate.mbps().round()), model.short_term_inflight)
        };
        assert_eq!(round(90.0, 45_000, 100, true), (None, None), "not while probing");
        assert_eq!(round(90.0, 45_000, 200, false), (Some(90.0), Some(45_000)));
        assert_eq!(round(10.0, 5_000, 300, false), (Some(63.0), Some(31_499)));
    }
}
