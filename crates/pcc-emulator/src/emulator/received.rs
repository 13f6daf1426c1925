//! Which data of TCP connections has been delivered, so that what is sent again counts once.

use super::frame::TcpData;
use std::collections::{BTreeMap, HashMap};

/// More connections at a time aren't told apart: beyond, all are forgotten, and what is then sent again counts twice.
const CONNECTIONS: usize = 4096;

/// Data this far behind the newest is forgotten; no window of TCP is larger (RFC 7323, section 2.3).
const WINDOW: u64 = 1 << 30;

/// The connections of a flow.
#[derive(Debug, Default)]
pub(super) struct Received {
    connections: HashMap<(u16, u16), Ranges>,
}

impl Received {
    /// Data is delivered; returns how many bytes of it are new.
    pub fn add(&mut self, data: TcpData) -> u64 {
        if data.bytes == 0 && !data.opens {
            return 0;
        }
        if self.connections.len() >= CONNECTIONS && !self.connections.contains_key(&data.ports) {
            self.connections.clear();
        }
        let ranges = self.connections.entry(data.ports).or_default();
        if data.opens {
            *ranges = Ranges::default();
        }
        ranges.add(data.sequence, data.bytes)
    }
}

/// What has been delivered of a connection.
#[derive(Debug, Default)]
struct Ranges {
    /// Beginnings and ends, apart from each other, in sequence numbers that go on beyond 32 bits.
    ranges: BTreeMap<u64, u64>,
    /// The largest end of a range so far.
    newest: Option<u64>,
}

impl Ranges {
    fn add(&mut self, sequence: u32, bytes: u32) -> u64 {
        // So far from 0 that what is a little older isn't below it.
        let newest = self.newest.unwrap_or((1 << 32) + u64::from(sequence));
        let ahead = sequence.wrapping_sub(newest as u32) as i32;
        let from = newest.saturating_add_signed(ahead.into());
        let to = from + u64::from(bytes);
        let (mut merged_from, mut merged_to, mut known) = (from, to, 0);
        while let Some((begin, end)) = self.last_up_to(merged_to).filter(|(_, end)| *end >= merged_from) {
            self.ranges.remove(&begin);
            known += end.min(to).saturating_sub(begin.max(from));
            (merged_from, merged_to) = (merged_from.min(begin), merged_to.max(end));
        }
        self.ranges.insert(merged_from, merged_to);
        let newest = newest.max(to);
        self.newest = Some(newest);
        while self.ranges.first_key_value().is_some_and(|(_, end)| end + WINDOW < newest) {
            self.ranges.pop_first();
        }
        to - from - known
    }

    /// The last range that begins at or before `at`.
    fn last_up_to(&self, at: u64) -> Option<(u64, u64)> {
        self.ranges.range(..=at).next_back().map(|(begin, end)| (*begin, *end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(sequence: u32, bytes: u32) -> TcpData {
        TcpData { ports: (1, 2), sequence, bytes, opens: false }
    }

    #[test]
    fn a_new_connection_between_the_same_ports_begins_anew() {
        let mut received = Received::default();
        assert_eq!(received.add(data(100, 50)), 50);
        assert_eq!(received.add(TcpData { ports: (1, 3), ..data(100, 50) }), 50);
        assert_eq!(received.add(data(90, 100)), 50);
        assert_eq!(received.add(TcpData { opens: true, ..data(100, 0) }), 0);
        assert_eq!(received.add(data(100, 50)), 50);
    }

    proptest! {
        /// From any first sequence number, so that some wrap around.
        #[test]
        fn each_byte_is_new_once(first in any::<u32>(), pieces in prop::collection::vec((0..2000u32, 1..300u32), 1..100)) {
            let mut received = Received::default();
            let mut known = std::collections::HashSet::new();
            for (at, bytes) in pieces {
                let new = (at..at + bytes).filter(|byte| known.insert(*byte)).count() as u64;
                prop_assert_eq!(received.add(data(first.wrapping_add(at), bytes)), new);
            }
        }
    }
}
