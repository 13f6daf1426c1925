//! Do others keep the queue full? Then the number of packets in it is what a TCP would have.

use super::rounds::Round;

/// Round trips without a nearly empty queue after which others are at work.
const CROWDED_ROUNDS: u32 = 16;
/// A queue is nearly empty below this part of the largest one of late.
const NEARLY_EMPTY: f64 = 0.1;
/// Loss in excess of the background that ends growth, and what remains then.
const LOSS: f64 = 0.04;
const DECREASE: f64 = 0.7;
/// A base round-trip time older than this is looked for, in seconds.
const BASE_AGE: f64 = 10.0;
/// Every so many round trips the queue is given time to drain: so many round trips at this part of the bandwidth.
const YIELD_EVERY: u32 = 32;
const YIELD_SPREAD: u32 = 8;
const YIELD_ROUNDS: u32 = 3;
pub(super) const YIELD_GAIN: f64 = 0.6;
/// What remains of the additional packets in each round trip without competition.
const FADE: f64 = 0.85;

/// Whether others compete, and what is done about it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Competition {
    pub competes: bool,
    /// Packets in the queue beyond those that the utility wants.
    pub more: f64,
    /// Round trips since the queue was nearly empty, and the window then.
    crowded: u32,
    window_then: f64,
    /// The largest queue of late, in seconds.
    largest: f64,
    /// Round trips until the next yield, and those that the present one still takes.
    until_yield: u32,
    pub yields: u32,
    emptied: bool,
    since_cut: u32,
}

impl Competition {
    /// Takes in the queue at the end of a batch.
    pub fn on_batch(&mut self, queue: f64, packet_time: f64, window: f64) {
        self.largest = self.largest.max(queue);
        if queue <= (NEARLY_EMPTY * self.largest).max(packet_time) {
            self.crowded = 0;
            self.emptied = true;
            if self.yields == 0 {
                self.window_then = window;
            }
        }
    }

    /// Takes in a round trip. `queued` packets of ours are in the queue. Returns the window to go back to when a competition is found out.
    pub fn on_round(&mut self, round: &Round, background: f64, base_age: f64, queued: f64, random: u32) -> Option<f64> {
        self.largest *= 0.95;
        self.crowded = self.crowded.saturating_add(1);
        self.since_cut = self.since_cut.saturating_add(1);
        if self.yields > 0 {
            self.yields -= 1;
            if self.yields == 0 && self.emptied {
                self.competes = false;
            }
            return None;
        }
        self.until_yield = self.until_yield.saturating_sub(1);
        let old = base_age > BASE_AGE;
        if (self.competes || old) && self.until_yield == 0 {
            self.until_yield = YIELD_EVERY + random % YIELD_SPREAD;
            self.yields = YIELD_ROUNDS;
            self.emptied = false;
            return None;
        }
        if !self.competes {
            self.more *= FADE;
            if self.crowded >= CROWDED_ROUNDS {
                self.competes = true;
                self.until_yield = YIELD_EVERY + random % YIELD_SPREAD;
                self.more = queued.max(self.more);
                return Some(self.window_then);
            }
            return None;
        }
        let loss = f64::from(round.lost) / f64::from((round.lost + round.acked).max(1));
        if loss > background + LOSS && self.since_cut > 2 {
            self.more *= DECREASE;
            self.since_cut = 0;
        } else {
            self.more += 1.0 + f64::from(self.since_cut) / 32.0;
        }
        None
    }
}
