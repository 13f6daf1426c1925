//! One monitor interval: what was sent in it, and what was measured.

use super::regression::Regression;
use crate::units::{Rate, Time, nanos};
use core::time::Duration;

/// What the controller wants from an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Part of the start-up phase.
    Start,
    /// A probe: the given one of a round of probes, above (`faster`) or below the base rate.
    Probe {
        /// Its place in the round, from 0.
        index: usize,
        /// Whether it is above the base rate.
        faster: bool,
    },
    /// A step in the direction that was found to be good.
    Move,
    /// Nothing: sending goes on at the base rate while results are awaited.
    Hold,
}

/// The numbers that a straight line has: so many samples fewer tell how well it fits.
const FITTED: u64 = 2;
/// Below this part of the rate that was asked for, what was sent says nothing about that rate. A probe of an unlimited sender misses its
/// rate by far less.
const LIMITED_BELOW: f64 = 0.8;

/// An interval to send: at which rate, for how long, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalPlan {
    /// The rate to send at.
    pub rate: Rate,
    /// Its purpose, given back with the result.
    pub role: Role,
    /// The time to send for, counted from its first packet.
    pub length: Duration,
    /// The fewest packets it has, however long they take.
    pub min_packets: u64,
    /// The most packets it has, however short it becomes.
    pub max_packets: u64,
}

/// The result of a monitor interval, which a utility function judges.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// When its first packet was sent.
    pub start: Time,
    /// The sending rate that was achieved: bytes over time, with the last packet's own time counted (SPEC 0.2).
    pub rate: Rate,
    /// The sending rate that was asked for: that of the plan.
    pub target: Rate,
    /// The mean size of a packet in bytes.
    pub packet_bytes: f64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets lost, those included of which nothing was heard in time.
    pub packets_lost: u64,
    /// The fraction of its bytes that was lost, in 0..=1.
    pub loss: f64,
    /// The mean round-trip time in seconds; that of the interval before if nothing was acknowledged.
    pub rtt: f64,
    /// The mean round-trip time in seconds of the interval that was completed before this one, 0 if there was none.
    pub previous_rtt: f64,
    /// The smallest round-trip time seen on the path, in seconds.
    pub min_rtt: f64,
    /// The standard deviation of the round-trip times, in seconds.
    pub rtt_deviation: f64,
    /// The trend of the round-trip time, in seconds per second of sending: a queue that fills makes it positive.
    pub rtt_gradient: f64,
    /// The standard error of that trend; infinite with fewer than three acknowledged packets, or if all were sent at
    /// one time.
    pub rtt_gradient_error: f64,
}

impl Measurement {
    /// A result to begin with, whose fields can be set, for example in tests of a utility function: `packets_sent`
    /// packets were sent at exactly `rate`, as planned, none was lost, and all that is about round-trip times is 0.
    pub fn new(rate: Rate, packets_sent: u64) -> Measurement {
        Measurement {
            start: Time::ZERO,
            rate,
            target: rate,
            packet_bytes: 1500.0,
            packets_sent,
            packets_lost: 0,
            loss: 0.0,
            rtt: 0.0,
            previous_rtt: 0.0,
            min_rtt: 0.0,
            rtt_deviation: 0.0,
            rtt_gradient: 0.0,
            rtt_gradient_error: 0.0,
        }
    }

    /// The rate of data that arrived: `rate * (1 - loss)`.
    pub fn throughput(&self) -> Rate {
        self.rate * (1.0 - self.loss)
    }

    /// The share of the round-trip times' variance that the trend explains (R squared), in 0..=1.
    pub fn rtt_fit(&self) -> f64 {
        let trend = self.rtt_gradient * self.rtt_gradient;
        let freedom = self.packets_sent.saturating_sub(self.packets_lost).saturating_sub(FITTED) as f64;
        let residual = freedom * self.rtt_gradient_error * self.rtt_gradient_error;
        // Without a trend, or with an error that isn't defined, nothing is explained.
        if trend > 0.0 && residual.is_finite() { trend / (trend + residual) } else { 0.0 }
    }

    /// Whether much less was sent than asked for, under 80 % of it: the application, flow control or the machine was the limit.
    pub fn is_limited(&self) -> bool {
        self.rate < self.target * LIMITED_BELOW
    }
}

/// The record of one interval while it is sent and acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub plan: IntervalPlan,
    /// Send times of the first and last packet; `None` until the first packet is sent.
    pub span: Option<(Time, Time)>,
    /// Whether its last packet has been sent.
    pub ended: bool,
    pub packets_sent: u64,
    pub packets_acked: u64,
    pub packets_lost: u64,
    bytes_sent: u64,
    bytes_acked: u64,
    bytes_lost: u64,
    /// Bytes that were sent at the very instant of the last packet: transports stamp a batch with one time.
    bytes_at_last: u64,
    /// The time of a byte at the planned rate, in nanoseconds: a division for each packet would show.
    nanos_per_byte: f64,
    /// The time to send for, in nanoseconds.
    length: u64,
    rtts: Regression,
}

impl Interval {
    pub fn new(plan: IntervalPlan) -> Interval {
        Interval {
            plan,
            span: None,
            ended: false,
            packets_sent: 0,
            packets_acked: 0,
            packets_lost: 0,
            bytes_sent: 0,
            bytes_acked: 0,
            bytes_lost: 0,
            bytes_at_last: 0,
            nanos_per_byte: 8e9 / plan.rate.bits_per_sec(),
            length: nanos(plan.length),
            rtts: Regression::default(),
        }
    }

    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        let (first, last) = self.span.unwrap_or((now, now));
        let now = now.max(last);
        self.bytes_at_last = if now == last { self.bytes_at_last + bytes } else { bytes };
        self.span = Some((first, now));
        self.packets_sent += 1;
        self.bytes_sent += bytes;
    }

    pub fn on_acked(&mut self, sent: Time, bytes: u64, rtt: Duration) {
        self.packets_acked += 1;
        self.bytes_acked += bytes;
        if let Some((first, _)) = self.span {
            self.rtts.add(sent.seconds_since(first), rtt.as_secs_f64());
        }
    }

    pub fn on_lost(&mut self, bytes: u64) {
        self.packets_lost += 1;
        self.bytes_lost += bytes;
    }

    /// A packet without an outcome counts as if it had never been sent.
    pub fn on_discarded(&mut self, bytes: u64) {
        self.packets_sent -= 1;
        self.bytes_sent -= bytes;
    }

    /// The time it has been sent for in nanoseconds, that of its newest packets included, which were sent at `last`.
    fn nanos(&self, first: Time, last: Time) -> u64 {
        // `as` saturates, also for a rate of zero.
        last.as_nanos().saturating_sub(first.as_nanos()).saturating_add(self.newest_nanos() as u64)
    }

    fn newest_nanos(&self) -> f64 {
        self.bytes_at_last as f64 * self.nanos_per_byte
    }

    /// Whether it has been sent long enough.
    pub fn is_long_enough(&self) -> bool {
        let Some((first, last)) = self.span else { return false };
        self.packets_sent >= self.plan.max_packets
            || (self.packets_sent >= self.plan.min_packets && {
                let before_newest = last.as_nanos().saturating_sub(first.as_nanos());
                let missing = self.length.saturating_sub(before_newest);
                missing == 0 || self.newest_nanos() >= missing as f64
            })
    }

    /// Whether each of its packets has an outcome.
    pub fn is_resolved(&self) -> bool {
        self.packets_acked + self.packets_lost >= self.packets_sent
    }

    /// The result, where packets without an outcome count as lost. `None` if nothing was sent.
    pub fn measure(&self, previous_rtt: Option<f64>, min_rtt: Option<Duration>) -> Option<Measurement> {
        let (first, last) = self.span?;
        if self.bytes_sent == 0 {
            return None;
        }
        let previous_rtt = previous_rtt.unwrap_or(0.0);
        Some(Measurement {
            start: first,
            rate: Rate::from_bytes_over(self.bytes_sent, Duration::from_nanos(self.nanos(first, last))),
            target: self.plan.rate,
            packet_bytes: self.bytes_sent as f64 / self.packets_sent.max(1) as f64,
            packets_sent: self.packets_sent,
            packets_lost: self.packets_sent - self.packets_acked,
            loss: (self.bytes_sent - self.bytes_acked) as f64 / self.bytes_sent as f64,
            rtt: self.rtts.mean().unwrap_or(previous_rtt),
            previous_rtt,
            min_rtt: min_rtt.map_or(0.0, |rtt| rtt.as_secs_f64()),
            rtt_deviation: self.rtts.deviation(),
            rtt_gradient: self.rtts.gradient(),
            rtt_gradient_error: self.rtts.gradient_error(),
        })
    }
}
