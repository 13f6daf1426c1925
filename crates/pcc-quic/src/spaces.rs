//! One rising sequence of packet numbers, made of the several that a QUIC connection has.

use pcc::{PacketTable, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// A packet that is neither acknowledged nor lost yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outstanding {
    /// Its number in the contract's single sequence.
    pub(crate) number: u64,
    /// When the packet was sent.
    pub(crate) sent: Time,
    /// The size of the packet in bytes.
    pub(crate) bytes: u64,
    /// It is the first, or the only one, of the packets that were sent at the same time.
    pub(crate) begins_burst: bool,
}

/// Maps the packet numbers of noq's callbacks to strictly rising ones.
///
/// The Initial, Handshake and Data spaces all count from 0, and the callbacks don't say which space they mean. So a packet number that isn't
/// above the one before opens a new *run*, whose offset lifts it above all numbers given out. When noq reports the outcome of
/// a packet, each run that may hold its number is searched for one with the same size and, if noq tells it, the same send
/// time. After the handshake there is one run.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    /// Never empty once a packet was sent. Both fields rise from run to run.
    runs: VecDeque<Run>,
    /// The last number given out.
    last: Option<u64>,
    packets: PacketTable<Sent>,
    last_sent: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    /// The number that its first packet was given.
    first_number: u64,
    /// What is added to noq's packet numbers.
    offset: u64,
}

/// What is remembered of a packet besides its number; the fields of [`Outstanding`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    time: Time,
    bytes: u64,
    begins_burst: bool,
}

impl Spaces {
    /// Takes in a packet that noq numbers `pn`.
    pub(crate) fn insert(&mut self, pn: u64, sent: Time, bytes: u64) -> Outstanding {
        let in_run = self.runs.back().and_then(|run| pn.checked_add(run.offset));
        let number = match (in_run, self.last) {
            (Some(number), Some(last)) if number > last => number,
            (_, last) => {
                let offset = last.map_or(0, |last| last + 1);
                let first_number = pn.saturating_add(offset);
                self.runs.push_back(Run { first_number, offset });
                first_number
            }
        };
        self.last = Some(number);
        let begins_burst = self.last_sent.replace(sent) != Some(sent);
        self.packets.insert(number, Sent { time: sent, bytes, begins_burst });
        Outstanding { number, sent, bytes, begins_burst }
    }

    /// Removes the packet `pn` that was sent at `sent` with `bytes` bytes, if it is outstanding.
    pub(crate) fn take_acked(&mut self, pn: u64, sent: Time, bytes: u64) -> Option<Outstanding> {
        // Nearly always the newest run has it.
        let is_it =
            |number: &u64| self.packets.get(*number).is_some_and(|packet| (packet.time, packet.bytes) == (sent, bytes));
        let number = self.candidates(pn).rev().find(is_it)?;
        self.take(number)
    }

    /// Removes the packet `pn` of `bytes` bytes, if it is outstanding; the oldest, if several spaces have one like it.
    pub(crate) fn take_lost(&mut self, pn: u64, bytes: u64) -> Option<Outstanding> {
        let is_it = |number: &u64| self.packets.get(*number).is_some_and(|packet| packet.bytes == bytes);
        let number = self.candidates(pn).find(is_it)?;
        self.take(number)
    }

    /// Removes the oldest packet if it was sent more than `age` before `newest`.
    pub(crate) fn take_older(&mut self, newest: Time, age: Duration) -> Option<Outstanding> {
        let (number, packet) = self.packets.first()?;
        if newest.since(packet.time) > age { self.take(number) } else { None }
    }

    /// The numbers that `pn` may have been given, oldest first.
    fn candidates(&self, pn: u64) -> impl DoubleEndedIterator<Item = u64> + '_ {
        (0..self.runs.len()).filter_map(move |i| {
            let number = pn.checked_add(self.runs[i].offset)?;
            let end = self.runs.get(i + 1).map_or(u64::MAX, |next| next.first_number);
            (self.runs[i].first_number <= number && number < end).then_some(number)
        })
    }

    fn take(&mut self, number: u64) -> Option<Outstanding> {
        let Sent { time, bytes, begins_burst } = self.packets.take(number)?;
        let oldest = self.packets.first().map_or(u64::MAX, |(number, _)| number);
        while self.runs.len() > 1 && self.runs[1].first_number <= oldest {
            self.runs.pop_front();
        }
        Some(Outstanding { number, sent: time, bytes, begins_burst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Time = Time::from_nanos(5);

    #[test]
    fn three_spaces_from_zero_become_one_rising_sequence() {
        let mut spaces = Spaces::default();
        let sent = [0, 1, 0, 0, 1, 2, 4, 2, 5, 6];
        let numbers: Vec<u64> =
            sent.iter().zip(100..).map(|(&pn, bytes)| spaces.insert(pn, AT, bytes).number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        for ((pn, bytes), number) in sent.into_iter().zip(100..).zip(numbers) {
            let taken = if pn % 2 == 0 { spaces.take_acked(pn, AT, bytes) } else { spaces.take_lost(pn, bytes) };
            assert_eq!(taken, Some(Outstanding { number, sent: AT, bytes, begins_burst: number == 0 }));
        }
        assert_eq!(spaces.runs.len(), 1, "finished runs are forgotten");
        assert_eq!(spaces.packets.first(), None);
    }

    #[test]
    fn only_what_was_sent_is_found() {
        let mut spaces = Spaces::default();
        spaces.insert(3, AT, 1200);
        assert_eq!(spaces.take_lost(2, 1200), None);
        assert_eq!(spaces.take_lost(3, 1100), None);
        assert_eq!(spaces.take_acked(3, Time::ZERO, 1200), None);
        assert_eq!(spaces.take_acked(u64::MAX, AT, 1200), None);
        assert!(spaces.take_acked(3, AT, 1200).is_some());
        assert_eq!(spaces.take_acked(3, AT, 1200), None);
    }

    #[test]
    fn old_packets_can_be_retired() {
        let mut spaces = Spaces::default();
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        spaces.insert(0, ms(1), 1200);
        spaces.insert(0, ms(50), 1200);
        assert_eq!(spaces.take_older(ms(31), Duration::from_millis(30)), None);
        let retired = spaces.take_older(ms(60), Duration::from_millis(30));
        assert_eq!(retired.map(|packet| packet.number), Some(0));
        assert_eq!(spaces.take_older(ms(60), Duration::from_millis(30)), None);
    }
}
