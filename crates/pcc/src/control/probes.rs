//! Rounds of probes: pairs of intervals above and below the base rate, in random order.

use super::LIMITED_LOSS;
use crate::monitor::{Measurement, Role};
use crate::units::Rate;

/// The most probes in a round.
const MOST: usize = 4;

/// One round: planned, then collected.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    count: usize,
    planned: usize,
    /// Per pair, whether its first probe is the faster one.
    faster_first: [bool; MOST / 2],
    results: [Option<Measurement>; MOST],
}

/// The results at the faster and the slower rate of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub faster: Measurement,
    pub slower: Measurement,
}

impl Pair {
    /// The difference of the achieved rates in Mbit/s; `None` if it is less than half of what was asked for,
    /// so that the pair says nothing about the rate.
    pub fn rate_difference(&self) -> Option<f64> {
        let achieved = self.faster.rate.mbps() - self.slower.rate.mbps();
        let asked = self.faster.target.mbps() - self.slower.target.mbps();
        let limited = self.faster.is_limited() || self.slower.is_limited();
        (!limited && achieved > 0.0 && achieved >= asked / 2.0).then_some(achieved)
    }
}

impl Probes {
    /// A round of `pairs` pairs, one or two, each in an order drawn from `rng`.
    pub fn new(pairs: usize, rng: &mut fastrand::Rng) -> Probes {
        Probes { count: 2 * pairs.clamp(1, MOST / 2), faster_first: [rng.bool(), rng.bool()], ..Probes::default() }
    }

    /// The role of the next probe, `None` when all have been planned.
    pub fn next_role(&mut self) -> Option<Role> {
        let index = self.planned;
        if index >= self.count {
            return None;
        }
        self.planned += 1;
        let faster = self.faster_first[index / 2] == index.is_multiple_of(2);
        Some(Role::Probe { index, faster })
    }

    /// Takes the result of one probe; returns whether the round is complete.
    pub fn on_result(&mut self, index: usize, result: Measurement) -> bool {
        if let Some(slot) = self.results.get_mut(index) {
            *slot = Some(result);
        }
        self.results[..self.count].iter().all(Option::is_some)
    }

    /// What arrived of a pair that says nothing about the rate but lost too much to go on.
    pub fn arrived_in_spite(&self) -> Option<Rate> {
        let lossy = |pair: &Pair| pair.rate_difference().is_none() && pair.slower.loss > LIMITED_LOSS;
        self.pairs().find(lossy).map(|pair| pair.slower.throughput())
    }

    /// The pairs of a complete round.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        self.results[..self.count].chunks_exact(2).zip(self.faster_first).filter_map(|(pair, faster_first)| {
            let (first, second) = (pair[0]?, pair[1]?);
            let (faster, slower) = if faster_first { (first, second) } else { (second, first) };
            Some(Pair { faster, slower })
        })
    }
}
