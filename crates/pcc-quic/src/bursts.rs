//! Learns from losses how many packets may leave back to back.
//!
//! If a burst overflows a queue, the packets at its end get lost. All other causes hit the first packet of a burst as often
//! as the others. So the length of bursts doubles while longer ones are wanted and no harm shows, and is halved when harm shows. After harm the
//! next attempt waits: a second at first, and twice as long each time, until a length that did harm turns out to do none. Where the queue has
//! been seen to hold several of the bursts that are wanted, they are sent at once.
//!
//! Losses don't count while the queue holds several bursts without draining (see `pacing`): there the rate overflows it, and a
//! full queue always loses the end of what arrives at once.

use pcc::Time;
use std::time::Duration;

/// The burst to begin with, in packets: less than half of an initial window.
const FIRST: u32 = 4;

/// The longest burst, in packets: 46 kB, where Linux sends up to 64 kB of paced TCP at once.
const LONGEST: u32 = 32;

/// A length is doubled once this many bursts were tried: enough to see harm that loses one in 64 of the packets behind the first.
const TRIAL: u64 = 1024;

/// The shortest and the longest time from harm to the next attempt.
const SHORTEST_HOLD: Duration = Duration::from_secs(1);
const LONGEST_HOLD: Duration = Duration::from_secs(64);

/// Judge once at least 16 packets behind the first of a burst were lost, and 16 first packets would be expected to be lost if position
/// made no difference.
const EXPECTED: u64 = 16;

/// Harm, if at most 7 first packets were lost (1 % quantile of a Poisson distribution with mean 16).
const HARM: u64 = 7;

/// If more than one in this many packets is lost, it is the rate that overflows the queue, as in start-up.
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
    /// The length of bursts, in packets.
    longest: u32,
    /// How many bursts were tried since the length changed.
    tried: u64,
    /// The length isn't doubled before.
    held_until: Time,
    /// How long the next harm keeps the length from being doubled.
    hold: Duration,
    /// The last length that did harm.
    harmful: u32,
    /// The first packets of bursts, since the last judgement or the last change of length.
    firsts: Count,
    /// The packets behind the first, since then.
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

    /// At `now` it became known whether a packet was lost; `begins_burst` if it was the first of a burst. Bursts of `wanted` packets would be
    /// sent if they did no harm; `fit` if the queue holds several of them.
    pub(crate) fn on_outcome(&mut self, now: Time, begins_burst: bool, lost: bool, wanted: f64, fit: bool) {
        if begins_burst { &mut self.firsts } else { &mut self.others }.add(lost);
        self.tried += u64::from(begins_burst);
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
        } else if (fit || self.tried >= TRIAL)
            && now >= self.held_until
            && f64::from(self.longest) < wanted.min(LONGEST.into())
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

    /// The length after each burst, over so many seconds of 10,000 packets each. `lose` says which packets are lost: it gets a packet's number
    /// and its place in the burst.
    fn after(seconds: u64, lose: impl Fn(u64, u32) -> bool) -> Vec<u32> {
        let mut bursts = Bursts::default();
        let mut lengths = Vec::new();
        let mut number = 0;
        while number < seconds * 10_000 {
            for place in 0..bursts.longest() {
                let now = Time::from_nanos(number * 100_000);
                bursts.on_outcome(now, place == 0, lose(number, place), f64::INFINITY, false);
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
    fn bursts_that_fit_need_no_trial() {
        let mut bursts = Bursts::default();
        let outcome = |bursts: &mut Bursts, number: u64, lost: bool| {
            bursts.on_outcome(Time::from_nanos(number * 100_000), number.is_multiple_of(12), lost, 12.0, true);
        };
        (0..12).for_each(|number| outcome(&mut bursts, number, false));
        assert_eq!(bursts.longest(), 16);
        // The ends of one burst in four get lost: the queue isn't what it was.
        (12..12_000).for_each(|number| outcome(&mut bursts, number, number % 48 == 47));
        assert_eq!(bursts.longest(), 8);
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
