//! What round-trip times tell: how long the path takes when it is empty, and what queue stands in it now.

use super::filter::{WindowedMax, WindowedMin};
use crate::contract::AckedPacket;
use crate::units::Time;

/// The standing queue is the smallest round-trip time of half a round trip, of this time at most, so that flows with long and short
/// round trips see the same of a queue that swings, and of the time of so many packets at least.
const STANDING_SECONDS: f64 = 0.02;
const STANDING_PACKETS: f64 = 8.0;
/// A round-trip time within this fraction of the smallest one shows that it is still true.
const SAME: f64 = 0.01;
/// How long a jitter is remembered, in seconds.
const JITTER_MEMORY: f64 = 30.0;
/// The longest round-trip time that is believed, in seconds.
const MAX_RTT: f64 = 600.0;

/// Round-trip times in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Delay {
    /// The smallest round-trip time, and when it was last confirmed.
    base: Option<(f64, f64)>,
    /// The smallest one of the time that a standing queue is measured over.
    standing: WindowedMin,
    smoothed: Option<f64>,
    /// The newest packet of the batch being reported: its number and its round-trip time.
    newest: Option<(u64, f64)>,
    /// The smallest one of the batch being reported.
    smallest: Option<f64>,
    jitter: Jitter,
}

impl Delay {
    /// Takes in an acknowledged packet.
    pub fn on_acked(&mut self, packet: &AckedPacket) {
        let rtt = packet.rtt.as_secs_f64().min(MAX_RTT);
        self.smallest = Some(self.smallest.map_or(rtt, |smallest| smallest.min(rtt)));
        if self.newest.is_none_or(|(number, _)| packet.number >= number) {
            self.newest = Some((packet.number, rtt));
        }
    }

    /// Takes in the batch; packets take `packet_time` seconds at the rate of the path.
    pub fn on_batch(&mut self, now: Time, packet_time: f64) {
        let (Some((_, newest)), Some(smallest)) = (self.newest.take(), self.smallest.take()) else { return };
        let now = now.as_secs_f64();
        let smoothed = self.smoothed.map_or(newest, |smoothed| smoothed + (newest - smoothed) / 8.0);
        self.smoothed = Some(smoothed);
        let window = (smoothed / 2.0).min(STANDING_SECONDS).max(STANDING_PACKETS * packet_time);
        self.standing.update(now, smallest, window);
        match self.base {
            Some((base, _)) if smallest > base * (1.0 + SAME) => {}
            Some((base, _)) => self.base = Some((base.min(smallest), now)),
            None => self.base = Some((smallest, now)),
        }
        self.jitter.add(newest);
    }

    /// A round trip has passed.
    pub fn on_round(&mut self, now: Time) {
        self.jitter.on_round(now.as_secs_f64());
    }

    /// The smallest round-trip time there is without a queue; zero before the first sample.
    pub fn base(&self) -> f64 {
        self.base.map_or(0.0, |(base, _)| base)
    }

    /// For how long the smallest round-trip time hasn't been seen.
    pub fn base_age(&self, now: Time) -> f64 {
        self.base.map_or(0.0, |(_, seen)| now.as_secs_f64() - seen)
    }

    /// The path takes longer than it did: what stands now is what it takes when it is empty.
    pub fn renew_base(&mut self, now: Time) {
        if let Some(standing) = self.standing.get() {
            self.base = Some((standing, now.as_secs_f64()));
        }
    }

    /// The smallest round-trip time now.
    pub fn standing(&self) -> f64 {
        self.standing.get().unwrap_or(0.0)
    }

    /// The smoothed round-trip time.
    pub fn smoothed(&self) -> Option<f64> {
        self.smoothed
    }

    /// The time that the standing queue takes, less what noise can pretend.
    pub fn queue(&self, packet_time: f64, noise_weight: f64) -> f64 {
        let noise = (self.jitter.level() - packet_time).max(0.0);
        (self.standing() - self.base() - noise_weight * noise).max(0.0)
    }
}

/// How much round-trip times differ from one packet to the next, up and down again: no queue does that.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    last: Option<f64>,
    difference: f64,
    sum: f64,
    count: u32,
    largest: WindowedMax,
}

impl Jitter {
    fn add(&mut self, rtt: f64) {
        let Some(last) = self.last.replace(rtt) else { return };
        let before = core::mem::replace(&mut self.difference, rtt - last);
        if before * self.difference < 0.0 {
            self.sum += before.abs().min(self.difference.abs());
        }
        self.count += 1;
    }

    fn on_round(&mut self, now: f64) {
        if self.count > 0 {
            self.largest.update(now, self.sum / f64::from(self.count), JITTER_MEMORY);
            (self.sum, self.count) = (0.0, 0);
        }
    }

    fn level(&self) -> f64 {
        self.largest.get().unwrap_or(0.0)
    }
}
