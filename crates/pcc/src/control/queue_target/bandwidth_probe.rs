//! Is more to be had? Who yielded most of its window to a delay that doesn't go away, or sees that one which came at once isn't drained,
//! asks by sending more: the window doubles as in start-up. On a long path one asks soon after start-up, too, since others may have ended that,
//! and drains take long to find them.
//!
//! If delivery follows and the delay stays as it is, the delay isn't a queue of ours: the path has become longer, or noisy, or others keep
//! the queue. If the delay grows, the path is full, and all is as before. A path that has become a little longer is full before the window has
//! doubled: there, the window that fills it is tried instead.

use super::QueueTargetControl;
use super::rounds::Round;
use super::start::Start;
use super::yielding::{Before, REMAINS, Yielding};
use crate::units::{Time, larger};

/// On a path with a longer base round-trip time than this, in seconds, a probe comes so many round trips after start-up.
const PROBED_PATH: f64 = 0.06;
const AFTER_START: u32 = 6;
/// A delay of less than one part in so many of the base round trip, or of so many packet times, isn't worth it.
const SMALL_DIVISOR: f64 = 32.0;
const SMALL_QUEUE_PACKETS: f64 = 2.0;
/// Fewer packets show nothing.
const FEWEST_PACKETS: f64 = 3.0;
/// The delay has grown if it did by so many of its mean deviations, and by this part of it.
const DEVIATIONS: f64 = 2.0;
const PART: f64 = 0.05;
/// Delivery has to grow by this much while the delay doesn't.
const GROWS: f64 = 3.0;
/// It is enough that it grows by this much if the delay had risen at once.
const GROWS_SINCE_RISE: f64 = 1.5;
/// A path that has become longer by no more than this part of itself is a little longer.
const LITTLE: f64 = 0.6;
/// Then this part of the packets that fill it is tried, and this part of the delivery rate of before is enough. They make a queue of more than so
/// many packets if the path isn't longer.
const TRIED: f64 = 0.95;
const AS_BEFORE: f64 = 0.8;
const QUEUED_PACKETS: f64 = 2.0;

impl QueueTargetControl {
    /// Takes in a round trip; begins a probe if it is time for one.
    pub(super) fn look_for_more(&mut self, round: &Round, now: Time) {
        let busy = self.start.is_some() || self.is_draining() || self.loss.is_testing();
        if busy || self.competition.beside_others || !self.config.competes {
            self.yielding = Yielding::default();
            return;
        }
        let excess = self.competition.latest();
        let significant = excess > self.delay.base() / SMALL_DIVISOR
            && excess > self.delay.background() + SMALL_QUEUE_PACKETS * self.packet_time;
        let in_vain = self.yielding.on_round(self.window.packets, excess);
        self.settled = self.settled.saturating_add(1);
        let after_start = self.settled == AFTER_START && self.delay.base() > PROBED_PATH;
        let still = self.delay.excess() >= REMAINS * excess;
        if (in_vain || after_start) && significant && still && self.used && self.window.packets >= FEWEST_PACKETS {
            let grown = (DEVIATIONS * self.competition.deviation()).max(PART * excess);
            let start = Start::again(self.config.start, round.rate, grown);
            self.begin_probe(start, excess, GROWS * round.rate, false, now);
        }
    }

    /// The delay rose at once, and `excess` seconds of it are there although a drain has just sent what would fill the path without it. Before the
    /// drain `bandwidth` bytes/s were delivered.
    pub(super) fn look_at_longer_path(&mut self, round: &Round, excess: f64, bandwidth: f64, now: Time) {
        let (start, base) = (self.config.start, self.delay.base());
        if excess < LITTLE * base {
            let grown = larger(PART * excess, QUEUED_PACKETS * self.packet_time);
            self.begin_probe(Start::trial(start, grown), excess, AS_BEFORE * bandwidth, true, now);
            self.jump(TRIED * bandwidth * (base + excess) / self.packet, now);
        } else {
            let again = Start::again(start, round.rate, PART * excess);
            self.begin_probe(again, excess, GROWS_SINCE_RISE * round.rate, true, now);
            self.jump(round.in_flight as f64 / self.packet, now);
        }
    }

    /// Sends more, as `start` does, while there is a delay of `excess` seconds. There is more to be had if `enough` bytes/s are delivered.
    fn begin_probe(&mut self, start: Start, excess: f64, enough: f64, rose: bool, now: Time) {
        let (window, cap, background) = (self.window.packets, self.loss.cap, self.delay.background());
        self.probe = Some(Before { window, cap, enough, background, rose });
        self.delay.set_background(excess);
        self.start = Some(start);
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
        if rate >= before.enough {
            if before.rose {
                self.delay.on_longer_path(before.background);
            }
            return None;
        }
        self.delay.set_background(before.background);
        self.loss.cap = before.cap;
        Some(before.window)
    }
}
