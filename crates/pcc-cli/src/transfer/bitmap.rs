//! Which blocks or entries are there.

/// One bit per block or entry.
#[derive(Clone, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    len: u64,
}

impl Bitmap {
    /// All zero.
    pub fn new(len: u64) -> Self {
        Self { words: vec![0; len.div_ceil(64) as usize], len }
    }

    /// From runs; `None` if they do not fit.
    pub fn from_runs(len: u64, runs: &[(u64, u64)]) -> Option<Self> {
        let mut bits = Self::new(len);
        let mut at = 0;
        for &(start, count) in runs {
            let end = start.checked_add(count)?;
            if start < at || end > len {
                return None;
            }
            (start..end).for_each(|bit| bits.set(bit, true));
            at = end;
        }
        Some(bits)
    }

    /// One bit.
    pub fn get(&self, bit: u64) -> bool {
        bit < self.len && self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    /// Changes one bit; it must be there.
    pub fn set(&mut self, bit: u64, value: bool) {
        let mask = 1 << (bit % 64);
        let word = &mut self.words[(bit / 64) as usize];
        *word = if value { *word | mask } else { *word & !mask };
    }

    /// All that are set, as runs.
    pub fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for bit in (0..self.len).filter(|&bit| self.get(bit)) {
            match runs.last_mut() {
                Some((start, count)) if *start + *count == bit => *count += 1,
                _ => runs.push((bit, 1)),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps_and_runs() {
        let bits = Bitmap::from_runs(200, &[(0, 3), (64, 64), (199, 1)]).unwrap();
        assert_eq!(bits.runs(), [(0, 3), (64, 64), (199, 1)]);
        assert!(bits.get(127) && !bits.get(128) && !bits.get(200) && !bits.get(u64::MAX));
        for runs in [&[(0, 201)][..], &[(5, 1), (5, 1)], &[(u64::MAX, 2)], &[(1, u64::MAX)]] {
            assert!(Bitmap::from_runs(200, runs).is_none(), "{runs:?}");
        }
    }
}
