//! Round trips, and what was delivered in them.

use super::filter::WindowedMax;
use crate::contract::AckedPacket;
use crate::units::{Time, larger};

/// For how many round trips a delivery rate counts.
const MEMORY: f64 = 10.0;

/// Fewer packets say nothing of loss.
const FEWEST_PACKETS: u32 = 20;
/// So many packets that were sent together tell how fast they arrive.
const TRAIN: u32 = 4;

/// A round trip that has passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// What was delivered, in bytes/s.
    pub rate: f64,
    /// Packets that were declared lost, and acknowledged.
    pub lost: u32,
    pub acked: u32,
    /// The most bytes that were in flight.
    pub in_flight: u64,
}

impl Round {
    /// The packets whose outcome became known.
    pub fn packets(&self) -> u32 {
        self.lost.saturating_add(self.acked)
    }

    /// The part of the packets that was lost, in 0..=1.
    pub fn loss(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.packets().max(1))
    }
}

/// Counts what is delivered. A round trip ends when a packet that was sent after its beginning is acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    pub count: u32,
    began: Time,
    /// When the newest packet was sent that was acknowledged before the round trip.
    sent_before: Time,
    newest_sent: Time,
    bytes: u64,
    acked: u32,
    lost: u32,
    in_flight: u64,
    rates: WindowedMax,
    /// How fast the packets of this round trip arrived since it began, in bytes/s, and the fastest of those before it; zero if some were lost.
    arrives: f64,
    fastest: f64,
}

impl Rounds {
    pub fn on_acked(&mut self, packet: &AckedPacket) {
        self.newest_sent = self.newest_sent.max(packet.sent);
        self.bytes = self.bytes.saturating_add(packet.bytes);
        self.acked = self.acked.saturating_add(1);
    }

    pub fn on_lost(&mut self) {
        self.lost = self.lost.saturating_add(1);
    }

    /// The loss since the round trip began, once a few packets tell.
    pub fn loss(&self) -> f64 {
        if self.acked < FEWEST_PACKETS {
            0.0
        } else {
            f64::from(self.lost) / f64::from(self.lost.saturating_add(self.acked))
        }
    }

    /// The fastest that packets which were sent one after the other arrived, in bytes/s, since some were lost; zero before enough tell.
    pub fn fastest(&self) -> f64 {
        if self.lost > 0 { 0.0 } else { larger(self.arrives, self.fastest) }
    }

    /// What is delivered in the round trip under way, in bytes/s, once so many `seconds` tell; zero before.
    pub fn rate_so_far(&self, now: Time, seconds: f64) -> f64 {
        let time = now.since(self.began).max(self.newest_sent.since(self.sent_before)).as_secs_f64();
        if time > 0.0 && time >= seconds { self.bytes as f64 / time } else { 0.0 }
    }

    /// Takes in the end of a batch, with the bytes in flight before it; returns the round trip if one has passed.
    pub fn on_batch(&mut self, now: Time, in_flight: u64) -> Option<Round> {
        self.in_flight = self.in_flight.max(in_flight);
        if self.newest_sent < self.began || self.acked == 0 {
            if self.acked >= TRAIN && self.count > 0 {
                let seconds = now.since(self.began).as_secs_f64();
                self.arrives = if seconds > 0.0 { self.bytes as f64 / seconds } else { f64::INFINITY };
            }
            return None;
        }
        (self.fastest, self.arrives) = (self.fastest(), 0.0);
        // Acknowledgements that come in bunches arrive faster than their packets were sent, or slower.
        let seconds = now.since(self.began).max(self.newest_sent.since(self.sent_before)).as_secs_f64();
        let rate = if seconds > 0.0 { self.bytes as f64 / seconds } else { 0.0 };
        let round = Round { rate, lost: self.lost, acked: self.acked, in_flight: self.in_flight };
        if self.count > 0 {
            self.rates.update(f64::from(self.count), rate, MEMORY);
        }
        self.count = self.count.saturating_add(1);
        (self.began, self.sent_before) = (now, self.newest_sent);
        (self.bytes, self.acked, self.lost, self.in_flight) = (0, 0, 0, 0);
        Some(round)
    }

    /// The path takes `rate` bytes/s now, whatever it took before.
    pub fn set_bandwidth(&mut self, rate: f64) {
        self.rates = WindowedMax::default();
        self.rates.update(f64::from(self.count), rate, MEMORY);
    }

    /// The largest rate of the last round trips in bytes/s; zero before the first.
    pub fn bandwidth(&self) -> f64 {
        self.rates.get().unwrap_or(0.0)
    }
}
