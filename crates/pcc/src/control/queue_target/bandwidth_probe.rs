//! Is more to be had? Who yielded most of its window to a delay that doesn't go away, or sees that one which came at once isn't drained,
//! asks by sending more: the window doubles as in start-up. On a long path one asks soon after start-up, too, since others may have ended that,
//! and drains take long to find them.
//!
//! If delivery follows and the delay stays as it is, the delay isn't a queue of ours: the path has become longer, or noisy, or others keep
//! the queue. If the delay grows, the path is full, and all is as before.

use super::QueueTargetControl;
use super::rounds::Round;
use super::start::Start;
use super::yielding::{Before, REMAINS, Yielding};
use crate::units::Time;

/// On a path with a longer base round-trip time than this, in seconds, a probe comes so many round trips after start-up.
const LONG: f64 = 0.06;
const AFTER_START: u32 = 6;
/// A delay of less than one part in so many of the base round trip, or of so many packet times, isn't worth it.
const SMALL: f64 = 32.0;
const SMALL_PACKETS: f64 = 2.0;
/// Fewer packets show nothing.
const FEWEST: f64 = 3.0;
/// The delay has grown if it did by so many of its mean deviations, and by this part of it.
const DEVIATIONS: f64 = 2.0;
const PART: f64 = 0.05;
/// Delivery has to grow by this much while the delay doesn't.
const GROWS: f64 = 3.0;
/// It is enough that it grows by this much if the delay had risen at once.
const GROWS_SINCE_RISE: f64 = 1.5;

impl QueueTargetControl {
    /// Takes in a round trip; begins a probe if it is time for one.
    pub(super) fn look_for_more(&mut self, round: &Round, now: Time) {
        let busy = self.start.is_some() || self.is_draining() || self.loss.is_testing();
        if busy || self.competition.competes || !self.config.competes {
            self.yielding = Yielding::default();
            return;
        }
        let excess = self.competition.latest();
        let significant =
            excess > self.delay.base() / SMALL && excess > self.delay.background() + SMALL_PACKETS * self.packet_time();
        let in_vain = self.yielding.on_round(self.window.packets, excess);
        self.settled = self.settled.saturating_add(1);
        let after_start = self.settled == AFTER_START && self.delay.base() > LONG;
        let still = self.delay.excess() >= REMAINS * excess;
        if (in_vain || after_start) && significant && still && self.used && self.window.packets >= FEWEST {
            let grown = (DEVIATIONS * self.competition.deviation()).max(PART * excess);
            self.begin_probe(round.rate, excess, grown, false, now);
        }
    }

    /// The delay rose at once, and `excess` seconds of it are there although a drain has just sent what would fill the path without it.
    pub(super) fn look_at_longer_path(&mut self, round: &Round, excess: f64, now: Time) {
        self.begin_probe(round.rate, excess, PART * excess, true, now);
        self.jump(round.in_flight as f64 / self.packet, now);
    }

    /// Sends more than `rate` bytes/s until the delay, of `excess` seconds, has grown by `grown` seconds.
    fn begin_probe(&mut self, rate: f64, excess: f64, grown: f64, rose: bool, now: Time) {
        let (window, cap, background) = (self.window.packets, self.loss.cap, self.delay.background());
        self.probe = Some(Before { window, cap, rate, background, rose });
        self.delay.set_background(excess);
        self.start = Some(Start::again(self.config.start, rate, grown));
        self.since = now;
    }

    /// A probe is under way: less delay than there was belongs to the path for sure.
    pub(super) fn on_probe_round(&mut self) {
        if self.probe.is_some() {
            self.delay.set_background(self.delay.background().min(self.delay.excess()));
        }
    }

    /// Ends a probe in which `rate` bytes/s were delivered before the delay grew. Returns the window to go back to if there isn't more.
    pub(super) fn end_probe(&mut self, rate: f64) -> Option<f64> {
        let before = self.probe.take()?;
        if before.rose && rate >= GROWS_SINCE_RISE * before.rate {
            self.delay.on_longer_path(before.background);
            return None;
        }
        if rate >= GROWS * before.rate {
            return None;
        }
        self.delay.set_background(before.background);
        self.loss.cap = before.cap;
        Some(before.window)
    }
}
