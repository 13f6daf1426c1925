//! How much may be under way in one direction of a tunnel.
//!
//! QUIC's own windows can't do it: the window of a stream can't be changed once the connection is up, and a large one would
//! let each application that stops reading keep as much memory. So the receiver of a direction grants credit: bytes from the
//! begin of the stream that the sender may send. It begins with [`START`] bytes and grows with what arrives per round trip,
//! as long as the application takes all that is in order and there is memory for it.

use crate::memory::Share;
use pcc_quic::windows::{self, Windows};
use std::time::{Duration, Instant};

pub use crate::memory::Memory;

/// What may be under way before anything was granted, in bytes: more than a first round trip carries.
pub const START: u64 = 64 << 10;

/// What is behind a lost packet waits for its repair, which takes a round trip and may get lost too: a program that takes
/// bytes in order gets so many times the window of one that takes them as they come.
const IN_ORDER: u64 = 2;

/// Decides what to grant in one direction of a tunnel; sans-IO.
#[derive(Debug)]
pub struct Credit {
    windows: Windows,
    looked: Option<Instant>,
    size: u64,
    granted: u64,
    memory: Memory,
    /// Given back with the tunnel.
    share: Option<Share>,
}

impl Credit {
    /// That of a new tunnel.
    pub fn new(memory: Memory) -> Credit {
        let windows = Windows::starting_at(START / IN_ORDER, windows::CAP / IN_ORDER);
        Credit { windows, looked: None, size: START, granted: START, memory, share: None }
    }

    /// What was granted up to now, in bytes from the begin of the stream.
    pub fn granted(&self) -> u64 {
        self.granted
    }

    /// The application has taken all that is in order: `arrived` bytes have come up to `now`, in whatever order.
    pub fn keeps_up(&mut self, now: Instant, rtt: Duration, arrived: u64) {
        let is_due = |looked| now.saturating_duration_since(looked) >= self.windows.interval(rtt);
        if self.looked.is_none_or(is_due) {
            self.looked = Some(now);
            self.windows.update(now, rtt, arrived);
            self.grow();
        }
    }

    /// The application has taken so many bytes; returns what to grant if it is enough to say so.
    pub fn grant(&mut self, taken: u64) -> Option<u64> {
        let limit = taken + self.size;
        if limit - self.granted < self.size / 4 {
            return None;
        }
        self.granted = limit;
        Some(limit)
    }

    fn grow(&mut self) {
        let more = self.windows.size() * IN_ORDER - self.size;
        if more > 0
            && let Some(share) = self.memory.share(more)
        {
            self.size += more;
            match &mut self.share {
                Some(mine) => mine.merge(share),
                none => *none = Some(share),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// An application that takes all that was granted, once per round trip.
    fn greedy(credit: &mut Credit, begin: Instant, round_trips: u32) {
        for round_trip in 1..=round_trips {
            credit.keeps_up(begin + RTT * round_trip, RTT, credit.granted());
            credit.grant(credit.granted());
        }
    }

    #[test]
    fn follows_an_application_that_takes_all() {
        let mut credit = Credit::new(Memory::new());
        greedy(&mut credit, Instant::now(), 8);
        assert!(credit.size > 16 << 20, "{}", credit.size);
    }

    #[test]
    fn what_waits_for_a_repair_counts_as_well() {
        let mut credit = Credit::new(Memory::new());
        let begin = Instant::now();
        credit.keeps_up(begin, RTT, 0);
        // The first packet is lost, and so nothing can be taken.
        for round_trip in 1..=4 {
            credit.keeps_up(begin + RTT * round_trip, RTT, credit.granted() - 1);
            credit.grant(0);
        }
        assert!(credit.granted() > 8 << 20, "{}", credit.granted());
    }

    #[test]
    fn who_takes_nothing_gets_nothing_more() {
        let mut credit = Credit::new(Memory::new());
        assert_eq!(credit.grant(0), None);
        assert_eq!(credit.grant(START / 8), None, "too little to speak of");
        assert_eq!(credit.grant(START / 4), Some(START + START / 4));
        assert_eq!(credit.size, START);
    }

    #[test]
    fn all_share_the_same_memory() {
        let memory = Memory::of(4 << 20);
        let mut first = Credit::new(memory.clone());
        greedy(&mut first, Instant::now(), 20);
        assert!(first.size > 1 << 20 && first.size <= START + (4 << 20), "{}", first.size);
        let mut second = Credit::new(memory.clone());
        greedy(&mut second, Instant::now(), 20);
        assert!(first.size + second.size <= 2 * START + (4 << 20));
        drop((first, second));
        assert!(memory.share(4 << 20).is_some(), "all is given back");
    }
}
