//! When to try again, and when to give up.

use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Redirections in a row.
const MAX_REDIRECTIONS: u32 = 8;

/// The attempts at a download. Only one that got further than all before it counts as progress: a file that always changes at
/// the server, or always comes to its half only, is given up like a server that is gone.
pub struct Tries {
    patience: Duration,
    /// How much of the file was there at best.
    furthest: u64,
    /// When that was, or when it all began.
    progressed: Instant,
    pause: Duration,
    redirections: u32,
}

impl Tries {
    /// None yet, at `now`. Without progress for so long it is given up.
    pub fn new(now: Instant, patience: Duration) -> Tries {
        Tries { patience, furthest: 0, progressed: now, pause: FIRST_PAUSE, redirections: 0 }
    }

    /// An attempt has ended at `now`, with so many bytes of the file there.
    pub fn ended(&mut self, now: Instant, there: u64) {
        if there > self.furthest {
            *self = Tries { furthest: there, ..Tries::new(now, self.patience) };
        }
    }

    /// How long the next one may go without an answer.
    pub fn left(&self, now: Instant) -> Duration {
        self.patience.saturating_sub(now.saturating_duration_since(self.progressed))
    }

    /// How long to wait before the next one; `None` if it is given up.
    pub fn pause(&mut self, now: Instant) -> Option<Duration> {
        let pause = self.pause;
        self.pause = (pause * 2).min(MAX_PAUSE);
        (now.saturating_duration_since(self.progressed) + pause <= self.patience).then_some(pause)
    }

    /// Whether another redirection may be followed.
    pub fn may_follow(&mut self) -> bool {
        self.redirections += 1;
        self.redirections <= MAX_REDIRECTIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// When it is given up, if each attempt takes a second and gets as far as this says; at most after so many.
    fn given_up(attempts: u32, there: impl Fn(u32) -> u64) -> Option<Duration> {
        let began = Instant::now();
        let mut now = began;
        let mut tries = Tries::new(now, 20 * SECOND);
        for attempt in 0..attempts {
            now += SECOND;
            tries.ended(now, there(attempt));
            match tries.pause(now) {
                Some(pause) => now += pause,
                None => return Some(now - began),
            }
        }
        None
    }

    #[test]
    fn as_long_as_it_gets_further_it_goes_on() {
        assert_eq!(given_up(1000, |attempt| 10 + u64::from(attempt)), None);
        assert!(given_up(1000, |_| 0).unwrap() <= 20 * SECOND);
    }

    #[test]
    fn the_same_again_is_no_progress() {
        assert!(given_up(1000, |_| 500).unwrap() <= 21 * SECOND, "always the first half");
        assert!(given_up(1000, |attempt| [40, 60, 50][attempt as usize % 3]).is_some(), "it always changes");
    }

    #[test]
    fn an_attempt_has_what_is_left() {
        let began = Instant::now();
        let mut tries = Tries::new(began, 20 * SECOND);
        tries.ended(began + 15 * SECOND, 0);
        assert_eq!(tries.left(began + 15 * SECOND), 5 * SECOND);
        tries.ended(began + 15 * SECOND, 1);
        assert_eq!(tries.left(began + 15 * SECOND), 20 * SECOND);
        assert_eq!(tries.left(began + 40 * SECOND), Duration::ZERO);
    }

    #[test]
    fn redirections_in_a_row_are_bounded() {
        let now = Instant::now();
        let mut tries = Tries::new(now, SECOND);
        assert_eq!((0..20).filter(|_| tries.may_follow()).count(), MAX_REDIRECTIONS as usize);
        tries.ended(now, 1);
        assert!(tries.may_follow());
    }
}
