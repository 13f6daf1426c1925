//! What is on a disk after the power was cut.

use super::disk::{Op, Record};
use super::image::Image;

/// After so many operations: what was written before the last flush is there, and any blocks of what was written since, because
/// a disk writes in what order it likes.
pub fn after<N>(record: &Record<N>, ops: usize, rng: &mut fastrand::Rng) -> Image {
    let done = &record.ops[..ops];
    let flushed = done.iter().rposition(|op| matches!(op, Op::Flush)).unwrap_or(0);
    let chance = [0, 10, 50, 90, 100][rng.usize(..5)];
    let mut image = record.before.clone();
    for (number, op) in done.iter().enumerate() {
        if let Op::Write { at, data } = op {
            image.write(*at, data, || number < flushed || rng.u32(..100) < chance);
        }
    }
    image
}

/// Where to cut: `number` of `total` that are spread evenly over the flushes, or, if it is odd, anywhere.
pub fn place<N>(record: &Record<N>, number: u64, total: u64, rng: &mut fastrand::Rng) -> usize {
    if number % 2 == 1 {
        return rng.usize(..=record.ops.len());
    }
    let flushes = record.ops.iter().enumerate().filter(|(_, op)| matches!(op, Op::Flush));
    let flushes: Vec<usize> = flushes.map(|(at, _)| at).collect();
    flushes.get((number as usize * flushes.len()) / total as usize).copied().unwrap_or(record.ops.len())
}
