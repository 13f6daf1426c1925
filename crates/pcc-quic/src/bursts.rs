//! How many packets may leave back to back: learned from which of them get lost.
//!
//! A queue that a burst overflows loses the packets at the burst's end; whatever else loses packets hits the first as often
//! as the others. So bursts double for as long as no harm shows and longer ones are wanted, and are halved when it does. Then
//! the next attempt waits, twice as long each time, until a length that did harm turns out to do none.
//!
//! Losses while a queue stands that holds several bursts tell nothing: there the rate overflows it, and a full queue always
//! loses the end of what comes at once.

use pcc::Time;
use std::time::Duration;

/// The burst to begin with, in packets: less than half of an initial window.
const FIRST: u32 = 4;

/// The longest burst, in packets: 46 kB, where Linux sends up to 64 kB of paced TCP at once.
const LONGEST: u32 = 32;

/// So many bursts of a length are tried before it is doubled: enough to see harm that loses one in 64 of those behind the first.
const TRIAL: u64 = 1024;

/// The shortest and longest time without a new attempt after harm.
const SHORTEST_HOLD: Duration = Duration::from_secs(1);
const LONGEST_HOLD: Duration = Duration::from_secs(64);

/// Judged is when so many of the others were lost, and so many of the first should have been if all were alike.
const EXPECTED: u64 = 16;

/// It is harm if no more of them were: 1 % of a Poisson distribution around [`EXPECTED`].
const HARM: u64 = 7;

/// If more than one in so many packets is lost, it is the rate that overflows the queue, as in start-up.
const OVERLOAD: u64 = 10;

#[derive(Debug, Default)]
struct Count {
    packets: u64,
    lost: u64,
}

impl Count {
    fn add(&mut self, lost: bool) {
        self.packets += 1;
        self.lost += u64::from(lost);
    }
}

/// What was learned about a path.
#[derive(Debug)]
pub(crate) struct Bursts {
    longest: u32,
    /// How many bursts were sent since that was allowed.
    tried: u64,
    /// It isn't doubled before.
    held_until: Time,
    hold: Duration,
    /// The last length that did harm.
    harmful: u32,
    firsts: Count,
    others: Count,
}

impl Default for Bursts {
    fn default() -> Bursts {
        Bursts {
            longest: FIRST,
            tried: 0,
            held_until: Time::ZERO,
            hold: SHORTEST_HOLD,
            harmful: 0,
            firsts: Count::default(),
            others: Count::default(),
        }
    }
}

impl Bursts {
    /// How many packets may leave back to back.
    pub(crate) fn longest(&self) -> u32 {
        self.longest
    }

    /// At `now` it became known whether a packet was lost, that was the `first` of a burst or not. Bursts of `wanted` packets
    /// would be sent if they may.
    pub(crate) fn on_outcome(&mut self, now: Time, first: bool, lost: bool, wanted: f64) {
        if first { &mut self.firsts } else { &mut self.others }.add(lost);
        self.tried += u64::from(first);
        if self.others.lost >= EXPECTED && self.others.lost * self.firsts.packets >= EXPECTED * self.others.packets {
            let (lost, packets) = (self.firsts.lost + self.others.lost, self.firsts.packets + self.others.packets);
            let harm = self.firsts.lost <= HARM && lost < packets / OVERLOAD;
            (self.firsts, self.others) = Default::default();
            if harm {
                self.harmful = self.longest;
                self.longest = (self.longest / 2).max(1);
                self.tried = 0;
                self.held_until = now + self.hold;
                self.hold = (self.hold * 2).min(LONGEST_HOLD);
            } else if self.longest >= self.harmful {
                self.hold = SHORTEST_HOLD;
            }
        } else if self.tried >= TRIAL && now >= self.held_until && f64::from(self.longest) < wanted.min(LONGEST.into())
        {
            self.longest *= 2;
            self.tried = 0;
            (self.firsts, self.others) = Default::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length after so many seconds of 10,000 packets each in bursts of the length allowed, of which those are lost
    /// that `lose` says: it gets a packet's number and its place in the burst.
    fn after(seconds: u64, lose: impl Fn(u64, u32) -> bool) -> Vec<u32> {
        let mut bursts = Bursts::default();
        let mut lengths = Vec::new();
        let mut number = 0;
        while number < seconds * 10_000 {
            for place in 0..bursts.longest() {
                let now = Time::from_nanos(number * 100_000);
                bursts.on_outcome(now, place == 0, lose(number, place), f64::INFINITY);
                number += 1;
            }
            lengths.push(bursts.longest());
        }
        lengths
    }

    #[test]
    fn bursts_grow_where_losses_fall_anywhere() {
        for lose in [|_, _| false, |number: u64, _| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57 == 0] {
            assert_eq!(after(20, lose).last(), Some(&LONGEST));
        }
    }

    #[test]
    fn bursts_that_lose_their_ends_shrink_and_are_tried_less_and_less() {
        let lengths = after(120, |number, place| place >= 2 && number % 25 == 0);
        assert_eq!(lengths.last(), Some(&2));
        let tries = |part: &[u32]| part.windows(2).filter(|pair| pair[0] == 2 && pair[1] == 4).count();
        let (early, late) = lengths.split_at(lengths.len() / 2);
        assert!(tries(early) > tries(late), "{} and {} attempts", tries(early), tries(late));
    }
}
