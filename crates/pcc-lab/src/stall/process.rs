//! When stalls come.

use super::config::Stalls;
use super::lengths::exponential;
use fastrand::Rng;
use pcc::Time;
use std::time::Duration;

/// So many gaps are a long time.
const LONG: u32 = 100;
const NEVER: Time = Time::from_nanos(u64::MAX);

/// The stall that is on, or the next one.
#[derive(Clone, Debug)]
pub(crate) struct Stalling {
    stalls: Stalls,
    rng: Rng,
    begins: Time,
    ends: Time,
}

impl Stalling {
    /// Random choices come from `rng`.
    pub fn new(stalls: Stalls, rng: Rng) -> Stalling {
        let mut stalling = Stalling { stalls, rng, begins: Time::ZERO, ends: Time::ZERO };
        stalling.draw();
        stalling
    }

    /// When stalls begin and end, as far as they begin before `end`.
    pub fn within(stalls: Stalls, end: Duration, rng: Rng) -> impl Iterator<Item = (Time, Time)> {
        let mut stalling = Stalling::new(stalls, rng);
        let next = move || {
            let span = (stalling.begins, stalling.ends);
            stalling.draw();
            Some(span)
        };
        std::iter::from_fn(next).take_while(move |(begins, _)| *begins < Time::ZERO + end)
    }

    fn draw(&mut self) {
        // A gap of nothing would never end.
        let gap = exponential(self.stalls.every, &mut self.rng).max(Duration::from_nanos(1));
        self.begins = self.ends + gap;
        self.ends = self.begins + self.stalls.length.draw(&mut self.rng);
    }

    /// Goes on to the stall that is on at `now`, or to the next.
    pub fn advance(&mut self, now: Time) {
        // Gaps have no memory: after a long time without questions it may begin anew.
        let long = self.stalls.every.saturating_mul(LONG);
        if now.since(self.ends) > long {
            self.ends = now - long;
        }
        while self.ends <= now && self.ends < NEVER {
            self.draw();
        }
    }

    /// When what is due at `due` happens, as far as this stall holds it up. Later ones aren't known.
    pub fn release(&self, due: Time) -> Time {
        if self.begins <= due && due < self.ends { self.ends } else { due }
    }
}
