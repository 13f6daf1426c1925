//! Losses that duplicate SACKs take back.

use crate::ffi::testing::{Reordering, pcc_reordering_discount};

/// Feeds (duplicate SACKs, losses) of each round trip; returns the losses that count.
fn losses(rounds: impl IntoIterator<Item = (u32, u32)>) -> Vec<u32> {
    let (mut state, mut dsacks) = (Reordering::default(), 0u32);
    let count = |(more, lost)| {
        dsacks = dsacks.wrapping_add(more);
        pcc_reordering_discount(&mut state, dsacks, lost)
    };
    rounds.into_iter().map(count).collect()
}

#[test]
fn lost_segments_count() {
    assert_eq!(losses([(0, 3), (0, 2)]), [3, 2]);
}

#[test]
fn a_path_that_reorders_soon_seems_to_lose_nothing() {
    assert_eq!(losses([(0, 5), (5, 5), (5, 5)]), [5, 0, 0]);
}

#[test]
fn real_losses_among_late_segments_count() {
    assert_eq!(losses([(0, 6), (5, 6), (5, 6), (5, 6)]), [6, 1, 1, 1]);
}

#[test]
fn probes_that_were_not_needed_excuse_no_loss() {
    assert_eq!(losses([(9, 0), (0, 4)]), [0, 4]);
}

#[test]
fn counters_wrap_around() {
    let mut state = Reordering { dsacks: u32::MAX, suspects: 2, credit: 0 };
    assert_eq!(pcc_reordering_discount(&mut state, 1, 2), 0);
}
