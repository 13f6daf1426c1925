//! Is more to be had? Who yielded most of its window to a delay that doesn't go away asks by sending more: the window doubles as in start-up.
//!
//! If delivery follows and the delay stays as it is, the delay isn't a queue of ours: the path has become longer, or noisy, or others keep
//! the queue. If the delay grows, the path is full, and all is as before.

use super::QueueTargetControl;
use super::rounds::Round;
use super::start::Start;
use crate::units::Time;

/// Asks who yielded to this part of its window,
const YIELDED: f64 = 0.25;
/// although this part of the delay remained all the time, and for so many round trips since. That is longer than any probe takes, so that
/// nobody asks because of the probe of another.
const REMAINS: f64 = 0.7;
const PATIENCE: u32 = 8;
/// A delay of less than one part in so many of the base round trip, or of so many packet times, isn't worth it.
const SMALL: f64 = 32.0;
const SMALL_PACKETS: f64 = 2.0;
/// Fewer packets show nothing.
const FEWEST: f64 = 4.0;
/// The delay has grown if it did by so many of its mean deviations, and by this part of it.
const DEVIATIONS: f64 = 2.0;
const PART: f64 = 0.05;
/// Delivery has to grow by this much while the delay doesn't.
const GROWS: f64 = 3.0;

/// How much of the window was given up, and to what delay.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Yielding {
    /// The largest window since it last grew or the delay fell, and the largest excess delay since then in seconds.
    from: Option<(f64, f64)>,
    /// Round trips since most of that window was given up.
    rounds: u32,
}

impl Yielding {
    /// A round trip had a window of `packets` and `excess` seconds of delay. Returns whether most of the window was given up in vain.
    pub fn on_round(&mut self, packets: f64, excess: f64) -> bool {
        match &mut self.from {
            Some((window, most)) if packets <= *window && excess >= REMAINS * *most => {
                *most = most.max(excess);
                self.rounds = if packets > YIELDED * *window { 0 } else { self.rounds + 1 };
                if self.rounds < PATIENCE {
                    return false;
                }
                *self = Yielding::default();
                true
            }
            _ => {
                *self = Yielding { from: Some((packets, excess)), rounds: 0 };
                false
            }
        }
    }
}

/// What was before a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    window: f64,
    /// The delivery rate in bytes/s.
    rate: f64,
    background: f64,
}

impl QueueTargetControl {
    /// Takes in a round trip; begins a probe if it is time for one.
    pub(super) fn look_for_more(&mut self, round: &Round, now: Time) {
        if self.start.is_some() || self.is_draining() || self.loss.is_testing() || self.competition.competes {
            self.yielding = Yielding::default();
            return;
        }
        let excess = self.competition.latest();
        let significant =
            excess > self.delay.base() / SMALL && excess > self.delay.background() + SMALL_PACKETS * self.packet_time();
        let in_vain = self.yielding.on_round(self.window.packets, excess);
        let still = self.delay.excess() >= REMAINS * excess;
        if in_vain && significant && still && self.used && self.window.packets >= FEWEST {
            self.probe =
                Some(Before { window: self.window.packets, rate: round.rate, background: self.delay.background() });
            self.delay.set_background(excess);
            let grown = (DEVIATIONS * self.competition.deviation()).max(PART * excess);
            self.start = Some(Start::again(round.rate, grown));
            self.since = now;
        }
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
        if rate >= GROWS * before.rate {
            return None;
        }
        self.delay.set_background(before.background);
        Some(before.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the last of these round trips, of a window and a delay, asks for a probe.
    fn asks(rounds: impl IntoIterator<Item = (f64, f64)>) -> bool {
        let mut yielding = Yielding::default();
        rounds.into_iter().fold(false, |_, (window, delay)| yielding.on_round(window, delay))
    }

    #[test]
    fn who_yielded_in_vain_asks_for_more() {
        let yields = [100.0, 60.0, 30.0].map(|window| (window, 0.02));
        let waits = |delay| core::iter::repeat_n((20.0, delay), PATIENCE as usize);
        assert!(asks(yields.into_iter().chain(waits(0.02))));
        assert!(!asks(yields.into_iter().chain(waits(0.02).skip(1))), "not at once");
        assert!(!asks(yields.into_iter().chain(waits(0.01))), "the delay fell: it was ours");
        assert!(!asks([(60.0, 0.02)].into_iter().chain(waits(0.02))), "not enough given up");
        assert!(!asks([(20.0, 0.02)].into_iter().chain(waits(0.02))), "nothing given up");
    }
}
