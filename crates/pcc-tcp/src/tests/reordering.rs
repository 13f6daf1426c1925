//! Losses that duplicate SACKs take back.

use crate::ffi::testing::{Reordering, pcc_reordering_age, pcc_reordering_discount};

/// Feeds (losses, duplicate SACKs) of each round trip; returns the losses that count.
fn losses(rounds: impl IntoIterator<Item = (u32, u32)>) -> Vec<u32> {
    let (mut state, mut lost, mut dsacks) = (Reordering::default(), 0, 0);
    let count = |(more_lost, more_dsacks)| {
        (lost, dsacks) = (lost + more_lost, dsacks + more_dsacks);
        pcc_reordering_discount(&mut state, lost, dsacks)
    };
    rounds.into_iter().map(count).collect()
}

#[test]
fn lost_segments_count() {
    assert_eq!(losses([(3, 0), (2, 0)]), [3, 2]);
}

#[test]
fn a_path_that_reorders_soon_seems_to_lose_nothing() {
    assert_eq!(losses([(5, 0), (5, 5), (5, 5)]), [5, 0, 0]);
}

#[test]
fn real_losses_among_late_segments_count() {
    assert_eq!(losses([(6, 0), (6, 5), (6, 5), (6, 5)]), [6, 1, 1, 1]);
}

#[test]
fn probes_that_were_not_needed_excuse_no_loss() {
    assert_eq!(losses([(0, 9), (4, 0)]), [0, 4]);
}

#[test]
fn what_was_long_ago_excuses_little() {
    let mut state = Reordering { credit: 100, suspects: 100, ..Reordering::default() };
    for _ in 0..20 {
        pcc_reordering_age(&mut state);
    }
    assert!(state.credit < 5 && state.suspects < 5, "{state:?}");
}

#[test]
fn counters_wrap_around() {
    let mut state = Reordering { lost: u32::MAX - 1, dsacks: u32::MAX, suspects: 2, credit: 0 };
    assert_eq!(pcc_reordering_discount(&mut state, 1, 1), 1);
}
