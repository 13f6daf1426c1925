//! A table of outstanding packets.

use alloc::collections::VecDeque;

/// Values by packet number, for numbers that rise strictly on insertion; gaps are allowed.
///
/// A ring: insertion is O(1), and so is look-up where numbers have no gaps (with gaps it is a binary search).
/// It allocates only while the number of packets between the oldest outstanding and the newest one grows.
#[derive(Clone, Debug)]
pub struct PacketTable<T> {
    entries: VecDeque<(u64, Option<T>)>,
}

impl<T> Default for PacketTable<T> {
    fn default() -> Self {
        PacketTable { entries: VecDeque::new() }
    }
}

impl<T> PacketTable<T> {
    /// Adds a packet. Returns `false`, and adds nothing, unless `number` is above all numbers before it.
    pub fn insert(&mut self, number: u64, value: T) -> bool {
        if self.entries.back().is_some_and(|&(last, _)| number <= last) {
            return false;
        }
        if self.entries.front().is_some_and(|(_, value)| value.is_none()) {
            self.entries.clear();
        }
        self.entries.push_back((number, Some(value)));
        true
    }

    /// The value of an outstanding packet.
    pub fn get(&self, number: u64) -> Option<&T> {
        self.entries[self.position(number)?].1.as_ref()
    }

    /// The value of an outstanding packet, to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let position = self.position(number)?;
        self.entries[position].1.as_mut()
    }

    /// Takes a packet out; `None` if it isn't there or was taken before.
    #[inline(always)]
    pub fn take(&mut self, number: u64) -> Option<T> {
        let (first, value) = self.entries.front_mut()?;
        if number != *first {
            // Nothing has gone from the front, where the oldest outstanding packet is.
            let position = self.position(number)?;
            return self.entries[position].1.take();
        }
        let value = value.take();
        // The newest entry stays as a mark of the highest number, so that old numbers can't come again.
        while self.entries.len() > 1 && self.entries.front().is_some_and(|(_, value)| value.is_none()) {
            self.entries.pop_front();
        }
        value
    }

    /// The outstanding packet with the lowest number.
    pub fn first(&self) -> Option<(u64, &T)> {
        // An empty entry stays at the front only while it is the sole one.
        self.entries.front().and_then(|(number, value)| Some((*number, value.as_ref()?)))
    }

    /// All outstanding packets in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries.iter().filter_map(|(number, value)| Some((*number, value.as_ref()?)))
    }

    fn position(&self, number: u64) -> Option<usize> {
        let distance = number.checked_sub(self.entries.front()?.0)?;
        // Without gaps the distance is the position; gaps only move it towards the front.
        let guess = usize::try_from(distance).unwrap_or(usize::MAX).min(self.entries.len() - 1);
        if self.entries[guess].0 == number {
            return Some(guess);
        }
        self.entries.binary_search_by_key(&number, |&(n, _)| n).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_is_taken_once() {
        let mut table = PacketTable::default();
        for number in [1, 2, 5, 6, 1000] {
            assert!(table.insert(number, number * 10));
        }
        assert!(!table.insert(6, 0), "numbers must rise");
        assert_eq!(table.get(5), Some(&50));
        assert_eq!(table.take(5), Some(50));
        assert_eq!(table.take(5), None);
        assert_eq!(table.take(4), None);
        assert_eq!(table.take(u64::MAX), None);
        assert_eq!(table.first(), Some((1, &10)));
        assert_eq!(table.take(1), Some(10));
        assert_eq!(table.first(), Some((2, &20)));
        assert_eq!(table.iter().map(|(n, _)| n).collect::<Vec<_>>(), [2, 6, 1000]);
    }

    #[test]
    fn an_emptied_table_still_knows_the_highest_number() {
        let mut table = PacketTable::default();
        table.insert(7, ());
        table.take(7);
        assert_eq!(table.first(), None);
        assert!(!table.insert(7, ()));
        assert!(table.insert(8, ()));
        assert_eq!(table.first().map(|(n, _)| n), Some(8), "a taken newest entry must not hide later ones");
    }
}
