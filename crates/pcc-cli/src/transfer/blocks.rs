//! Files as blocks, each of which can be verified by itself: BLAKE3 subtrees.

use blake3::hazmat::{ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

/// The size of every block but the last of a file. A power of two, as a complete BLAKE3 subtree must be.
pub const BLOCK: u64 = 256 * 1024;

/// The number of blocks of a file; none if it is empty.
pub fn count(size: u64) -> u64 {
    size.div_ceil(BLOCK)
}

/// The length of one block of a file of this size.
pub fn length(size: u64, block: u64) -> usize {
    (size - block * BLOCK).min(BLOCK) as usize
}

/// The hash that vouches for a block: its chaining value in the tree of its file, or, if it is the whole file, the root.
pub fn hash(size: u64, block: u64, data: &[u8]) -> ChainingValue {
    if size <= BLOCK {
        return *blake3::hash(data).as_bytes();
    }
    blake3::Hasher::new().set_input_offset(block * BLOCK).update(data).finalize_non_root()
}

/// The BLAKE3 hash of a file from the hashes of its blocks.
pub fn root(hashes: &[ChainingValue]) -> blake3::Hash {
    match hashes {
        [] => blake3::hash(&[]),
        [whole] => blake3::Hash::from_bytes(*whole),
        _ => {
            let (left, right) = split(hashes);
            merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

fn subtree(hashes: &[ChainingValue]) -> ChainingValue {
    match hashes {
        [one] => *one,
        _ => {
            let (left, right) = split(hashes);
            merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

/// The left subtree is the largest complete one that leaves something for the right.
fn split(hashes: &[ChainingValue]) -> (&[ChainingValue], &[ChainingValue]) {
    hashes.split_at(hashes.len().div_ceil(2).next_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_merge_to_the_standard_hash() {
        let b = BLOCK as usize;
        for size in [0, 1, 1024, 1025, b - 1, b, b + 1, 2 * b, 2 * b + 1, 3 * b, 5 * b + 77, 8 * b, 9 * b - 1] {
            let data: Vec<u8> = (0..size).map(|i| (i * 31 + i / 257) as u8).collect();
            let total = size as u64;
            let hashes: Vec<_> = (0..count(total))
                .map(|i| {
                    let start = (i * BLOCK) as usize;
                    hash(total, i, &data[start..start + length(total, i)])
                })
                .collect();
            assert_eq!(root(&hashes), blake3::hash(&data), "{size}");
        }
    }

    #[test]
    fn a_block_is_bound_to_its_place() {
        let data = vec![7; BLOCK as usize];
        assert_ne!(hash(4 * BLOCK, 0, &data), hash(4 * BLOCK, 1, &data));
        assert_ne!(hash(BLOCK, 0, &data), hash(4 * BLOCK, 0, &data));
    }
}
