//! What a disk may hold after the power was cut.
//!
//! What was synced is there. Of all else, any part may be there: a name without its contents, some pages of a write, a later
//! operation without an earlier one, unless it needs that one. The ext4, xfs and btrfs of today lose less, each in its own
//! way, but nothing else: they keep the order of names.

use super::disk::{Disk, Node, Op, Place};
use super::tracer::Trace;
use fastrand::Rng;
use std::collections::HashMap;
use std::fmt;

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Synced,
    Kept,
    Lost,
    /// A write: the length is there, and some of the pages.
    Torn,
}

/// A cut, and what it left.
pub struct Cut<'a> {
    trace: &'a Trace,
    fates: Vec<Fate>,
    /// What is on the disk.
    pub disk: Disk,
}

impl<'a> Cut<'a> {
    /// After so many operations.
    pub fn after(trace: &'a Trace, ops: usize, rng: &mut Rng) -> Self {
        let done = &trace.ops[..ops];
        let needs = needs(done);
        let mut fates = vec![Fate::Lost; ops];
        for at in synced(done, &needs) {
            fates[at] = Fate::Synced;
        }
        let names_kept = rng.usize(..=ops);
        let chance = [0, 10, 50, 90, 100][rng.usize(..5)];
        let in_order = rng.bool();
        for at in 0..ops {
            let is_write = matches!(done[at], Op::Write { .. });
            let drawn = if in_order && !is_write { at < names_kept } else { rng.u32(..100) < chance };
            if fates[at] == Fate::Lost && needs[at].iter().all(|&need| fates[need] != Fate::Lost) {
                fates[at] = match drawn {
                    true => Fate::Kept,
                    false if is_write && rng.bool() => Fate::Torn,
                    false => Fate::Lost,
                };
            }
        }
        let mut disk = trace.before.clone();
        for (op, fate) in done.iter().zip(&fates) {
            match (op, fate) {
                (_, Fate::Lost) => {}
                (Op::Write { node, from, data }, Fate::Torn) => disk.write(*node, *from, &data.0, |_| rng.bool()),
                (op, _) => disk.apply(op),
            }
        }
        Self { trace, fates, disk }
    }
}

impl fmt::Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.trace.ops.iter().zip(&self.fates).try_for_each(|(op, fate)| writeln!(f, "{fate:?}: {op:?}"))
    }
}

/// Which operations each one cannot be there without.
fn needs(ops: &[Op]) -> Vec<Vec<usize>> {
    let mut made: HashMap<Node, usize> = HashMap::new();
    let mut last: HashMap<&Place, usize> = HashMap::new();
    let mut needs = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let (nodes, places): (Vec<Node>, Vec<&Place>) = match op {
            Op::Make { at, .. } | Op::Unlink { at } => (vec![at.folder], vec![at]),
            Op::Link { at, node } => (vec![at.folder, *node], vec![at]),
            Op::Rename { from, to } => (vec![from.folder, to.folder], vec![from, to]),
            Op::Write { node, .. }
            | Op::Resize { node, .. }
            | Op::Punch { node, .. }
            | Op::Mode { node, .. }
            | Op::Time { node, .. }
            | Op::Sync { node } => (vec![*node], vec![]),
            Op::SyncAll => (vec![], vec![]),
        };
        let made_before = nodes.iter().filter_map(|node| made.get(node));
        needs.push(made_before.chain(places.iter().filter_map(|place| last.get(place))).copied().collect());
        if let Op::Make { node, .. } = op {
            made.insert(*node, at);
        }
        last.extend(places.into_iter().map(|place| (place, at)));
    }
    needs
}

/// Which operations are on the disk for certain.
fn synced(ops: &[Op], needs: &[Vec<usize>]) -> Vec<usize> {
    let mut synced = vec![false; ops.len()];
    for (at, op) in ops.iter().enumerate() {
        let is_synced = |earlier: &Op| match (op, earlier) {
            (Op::SyncAll, _) => true,
            // A folder's names belong to it. Of a rename, the new name is what counts.
            (
                Op::Sync { node },
                Op::Make { at: Place { folder, .. }, .. }
                | Op::Link { at: Place { folder, .. }, .. }
                | Op::Unlink { at: Place { folder, .. } }
                | Op::Rename { to: Place { folder, .. }, .. },
            ) => folder == node,
            (
                Op::Sync { node },
                Op::Write { node: of, .. }
                | Op::Resize { node: of, .. }
                | Op::Punch { node: of, .. }
                | Op::Mode { node: of, .. }
                | Op::Time { node: of, .. },
            ) => of == node,
            _ => false,
        };
        for earlier in (0..at).filter(|&earlier| is_synced(&ops[earlier])) {
            synced[earlier] = true;
        }
        // A file that is synced is there, with all folders above it.
        synced[at] |= matches!(op, Op::Sync { .. });
    }
    for at in (0..ops.len()).rev().filter(|&at| synced[at]).collect::<Vec<_>>() {
        mark(at, needs, &mut synced);
    }
    (0..ops.len()).filter(|&at| synced[at]).collect()
}

fn mark(at: usize, needs: &[Vec<usize>], synced: &mut [bool]) {
    synced[at] = true;
    needs[at].iter().for_each(|&need| {
        if !synced[need] {
            mark(need, needs, synced);
        }
    });
}
