//! Puts the pieces of a stream, which arrive in any order, into their order again; sans-IO.
//!
//! Bytes are copied into blocks of a fixed size. So what is kept depends on where in the stream the latest byte is, which
//! credit bounds, and not on how small the pieces are.

use std::collections::{BTreeMap, VecDeque};

const BLOCK: usize = 16 << 10;

/// Runs behind gaps that are tolerated, however short the stream is.
const MIN_RUNS: usize = 256;
/// Further ones are tolerated for every so many bytes that are kept. A packet is longer.
const BYTES_PER_RUN: u64 = 1024;

/// More gaps than a path makes: the other side wants memory for them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many gaps in the data")]
pub struct TooManyGaps;

/// What of a stream has arrived and was not taken yet.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// Bytes taken from the front.
    taken: u64,
    /// All before this has arrived.
    whole: u64,
    /// The blocks from the one on that has `taken` in it.
    blocks: VecDeque<Option<Box<[u8]>>>,
    /// What has arrived beyond `whole`: runs by their begin, with their end.
    runs: BTreeMap<u64, u64>,
}

impl Reassembly {
    /// Takes in the bytes at this offset of the stream. Those that are there already may come again. The caller bounds
    /// the offset: blocks are kept for all up to it.
    ///
    /// # Errors
    ///
    /// When there are more gaps than a path makes.
    pub fn insert(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<(), TooManyGaps> {
        let known = self.whole.saturating_sub(offset).min(bytes.len() as u64);
        (offset, bytes) = (offset + known, &bytes[known as usize..]);
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset + bytes.len() as u64;
        self.copy(offset, bytes);
        self.join(offset, end);
        let kept = self.runs.last_key_value().map_or(self.whole, |(_, end)| *end) - self.taken;
        if self.runs.len() as u64 > MIN_RUNS as u64 + kept / BYTES_PER_RUN { Err(TooManyGaps) } else { Ok(()) }
    }

    fn copy(&mut self, mut offset: u64, mut bytes: &[u8]) {
        let first = self.taken / BLOCK as u64;
        while !bytes.is_empty() {
            let index = (offset / BLOCK as u64 - first) as usize;
            if index >= self.blocks.len() {
                self.blocks.resize(index + 1, None);
            }
            let block = self.blocks[index].get_or_insert_with(|| vec![0; BLOCK].into());
            let at = (offset % BLOCK as u64) as usize;
            let len = bytes.len().min(BLOCK - at);
            block[at..at + len].copy_from_slice(&bytes[..len]);
            (offset, bytes) = (offset + len as u64, &bytes[len..]);
        }
    }

    fn join(&mut self, mut begin: u64, mut end: u64) {
        while let Some((&other, &other_end)) = self.runs.range(..=end).next_back().filter(|(_, to)| **to >= begin) {
            self.runs.remove(&other);
            (begin, end) = (begin.min(other), end.max(other_end));
        }
        if begin <= self.whole {
            self.whole = end;
        } else {
            self.runs.insert(begin, end);
        }
    }

    /// Takes so many bytes at this offset for taken, if they are next and nothing else is kept. Who has them in its hands needs
    /// no copy.
    pub fn skip(&mut self, offset: u64, len: usize) -> bool {
        let is_next = offset == self.taken && self.is_empty() && self.runs.is_empty();
        if is_next {
            self.taken += len as u64;
            self.whole = self.taken;
        }
        is_next
    }

    /// The next bytes of the stream, as far as they are there in one piece; empty if the next one is missing.
    pub fn front(&self) -> &[u8] {
        let at = (self.taken % BLOCK as u64) as usize;
        let len = (self.whole - self.taken).min((BLOCK - at) as u64) as usize;
        self.blocks.front().and_then(Option::as_deref).map_or(&[], |block| &block[at..at + len])
    }

    /// Takes so many bytes of [`front`](Self::front) away.
    pub fn take(&mut self, len: usize) {
        let before = self.taken / BLOCK as u64;
        self.taken += len as u64;
        let passed = (self.taken / BLOCK as u64 - before) as usize;
        self.blocks.drain(..passed.min(self.blocks.len()));
        if self.is_empty() && self.runs.is_empty() {
            self.blocks.clear();
        }
    }

    /// Bytes taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether there is nothing to take.
    pub fn is_empty(&self) -> bool {
        self.taken == self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take_all(reassembly: &mut Reassembly, into: &mut Vec<u8>) {
        while !reassembly.is_empty() {
            let front = reassembly.front();
            assert!(!front.is_empty());
            into.extend_from_slice(front);
            reassembly.take(front.len());
        }
    }

    proptest! {
        #[test]
        fn the_order_is_restored(
            lens in prop::collection::vec(1_usize..9000, 1..60),
            keys in prop::collection::vec(any::<u32>(), 60),
            overlap in 0_usize..50,
            eager in any::<bool>(),
            direct in any::<bool>(),
        ) {
            let data: Vec<u8> = (0..lens.iter().sum::<usize>()).map(|n| (n * 7 + n / 251) as u8).collect();
            let mut pieces = Vec::new();
            let mut at = 0_usize;
            for (len, key) in lens.iter().zip(&keys) {
                pieces.push((*key, at.saturating_sub(overlap), at + len));
                at += len;
            }
            pieces.sort();
            let (mut reassembly, mut got) = (Reassembly::default(), Vec::new());
            for (_, from, to) in pieces {
                if direct && reassembly.skip(from as u64, to - from) {
                    got.extend_from_slice(&data[from..to]);
                    continue;
                }
                reassembly.insert(from as u64, &data[from..to]).unwrap();
                if eager {
                    take_all(&mut reassembly, &mut got);
                }
            }
            take_all(&mut reassembly, &mut got);
            prop_assert_eq!(&got, &data);
            prop_assert!(reassembly.blocks.is_empty(), "nothing is kept");
            prop_assert_eq!(reassembly.taken(), data.len() as u64);
        }
    }

    #[test]
    fn as_many_gaps_as_a_path_makes_are_filled_from_the_front() {
        const PACKET: usize = 1200;
        let data: Vec<u8> = (0..4000 * PACKET).map(|n| (n / 7) as u8).collect();
        let (mut reassembly, mut got) = (Reassembly::default(), Vec::new());
        for first in [1, 0] {
            for (n, packet) in data.chunks(PACKET).enumerate().skip(first).step_by(2) {
                reassembly.insert((n * PACKET) as u64, packet).unwrap();
                take_all(&mut reassembly, &mut got);
            }
        }
        assert!(got == data);
    }

    #[test]
    fn tiny_pieces_with_gaps_between_are_refused() {
        let mut reassembly = Reassembly::default();
        let mut sent = 0;
        let refused = (1..).step_by(2).find(|&offset| {
            sent += 1;
            reassembly.insert(offset, &[1]).is_err()
        });
        assert!(refused.is_some());
        assert!(sent < 2 * MIN_RUNS, "{sent}");
    }
}
