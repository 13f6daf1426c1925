//! Circles in a graph.

use std::collections::{BTreeMap, BTreeSet};

/// The groups of nodes of which each reaches all others (strongly connected components), but for single ones.
pub fn circles<N: Clone + Ord>(edges: &BTreeMap<N, BTreeSet<N>>) -> Vec<Vec<N>> {
    let reached: BTreeMap<&N, BTreeSet<&N>> = edges.keys().map(|node| (node, reach(node, edges))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (node, others) in &reached {
        let circle: Vec<N> = others
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(node)))
            .cloned()
            .cloned()
            .collect();
        if circle.len() > 1 && circle.iter().all(|member| seen.insert(member.clone())) {
            circles.push(circle);
        }
    }
    circles
}

/// All that can be reached from a node.
fn reach<'a, N: Ord>(from: &'a N, edges: &'a BTreeMap<N, BTreeSet<N>>) -> BTreeSet<&'a N> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        open.extend(edges.get(node).into_iter().flatten().filter(|next| reached.insert(*next)));
    }
    reached
}
