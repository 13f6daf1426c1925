//! Sequence numbers as UDT has them: what is lost is sent again under its old number and before anything new, and the
//! window spans all from the lowest number that hasn't arrived (UDT4).
//!
//! The contract doesn't say what a packet carries: the packets sent next after a loss are taken to be the repairs.

use pcc::PacketTable;
use std::collections::VecDeque;

/// Which data is where. All counts are packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    /// The sequence number of each packet in flight.
    in_flight: PacketTable<u64>,
    in_flight_count: u64,
    /// The sequence numbers that haven't arrived.
    missing: PacketTable<()>,
    repairs: VecDeque<u64>,
    next: u64,
    latest: Option<u64>,
}

impl Sequence {
    /// The next new sequence number.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The sequence number sent last, `None` if it was a repair.
    pub fn latest(&self) -> Option<u64> {
        self.latest
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight_count
    }

    /// How many packets may be sent with a window of `window`: repairs always.
    pub fn allowance(&self, window: u64) -> u64 {
        let span = self.missing.first().map_or(0, |(lowest, ())| self.next - lowest);
        window.saturating_sub(span).max(self.repairs.len() as u64)
    }

    pub fn on_sent(&mut self, number: u64) {
        let sequence = self.repairs.front().copied().unwrap_or(self.next);
        if !self.in_flight.insert(number, sequence) {
            return;
        }
        self.in_flight_count += 1;
        if self.repairs.pop_front().is_some() {
            self.latest = None;
        } else {
            self.missing.insert(sequence, ());
            self.next += 1;
            self.latest = Some(sequence);
        }
    }

    /// The sequence number of a packet that arrived; `None` if it wasn't in flight.
    pub fn on_arrived(&mut self, number: u64) -> Option<u64> {
        let sequence = self.take(number)?;
        self.missing.take(sequence);
        Some(sequence)
    }

    /// The sequence number of a packet that has to be sent again; `None` if it wasn't in flight.
    pub fn on_lost(&mut self, number: u64) -> Option<u64> {
        let sequence = self.take(number)?;
        self.repairs.push_back(sequence);
        Some(sequence)
    }

    fn take(&mut self, number: u64) -> Option<u64> {
        let sequence = self.in_flight.take(number)?;
        self.in_flight_count -= 1;
        Some(sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_holds_the_window_until_it_is_repaired() {
        let mut sequence = Sequence::default();
        (0..10).for_each(|number| sequence.on_sent(number));
        assert_eq!((sequence.allowance(10), sequence.allowance(14), sequence.latest()), (0, 4, Some(9)));
        assert_eq!(sequence.on_lost(2), Some(2));
        assert_eq!(sequence.on_lost(2), None);
        assert_eq!(sequence.allowance(10), 1, "the repair");
        (0..10).for_each(|number| _ = sequence.on_arrived(number));
        assert_eq!(sequence.allowance(10), 2, "2 to 9 are not released");
        sequence.on_sent(10);
        assert_eq!((sequence.latest(), sequence.next()), (None, 10));
        assert_eq!(sequence.on_arrived(10), Some(2));
        assert_eq!((sequence.allowance(10), sequence.in_flight()), (10, 0));
    }
}
