//! Rounds of probes: pairs of intervals above and below the base rate, in random order.

use super::LIMITED_LOSS;
use crate::monitor::{Measurement, Role};
use crate::units::Rate;

/// The most probes in a round.
const MAX_PROBES: usize = 4;
/// The most pairs in a round.
const MAX_PAIRS: usize = MAX_PROBES / 2;

/// A round that is being planned and measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    count: usize,
    planned: usize,
    /// Per pair, whether its first probe is the faster one.
    faster_first: [bool; MAX_PAIRS],
    results: [Option<Measurement>; MAX_PROBES],
}

impl Probes {
    /// A round of `pairs` pairs, one or two, each in an order drawn from `rng`.
    pub fn new(pairs: usize, rng: &mut fastrand::Rng) -> Probes {
        Probes { count: 2 * pairs.clamp(1, MAX_PAIRS), faster_first: [rng.bool(), rng.bool()], ..Probes::default() }
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

    /// Takes the result of one probe; returns the round when that completes it.
    pub fn on_result(&mut self, index: usize, result: Measurement) -> Option<Round> {
        *self.results.get_mut(index)? = Some(result);
        let pair = |i: usize| {
            let (first, second) = (self.results[2 * i]?, self.results[2 * i + 1]?);
            let (faster, slower) = if self.faster_first[i] { (first, second) } else { (second, first) };
            Some(Pair { faster, slower })
        };
        let count = self.count / 2;
        // A round of one pair has no second: the place is filled, but not counted.
        Some(Round { pairs: [pair(0)?, pair(count - 1)?], count })
    }
}

/// The results of all pairs of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pairs: [Pair; MAX_PAIRS],
    count: usize,
}

impl Round {
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs[..self.count]
    }

    pub fn pairs_mut(&mut self) -> &mut [Pair] {
        &mut self.pairs[..self.count]
    }

    /// What arrived of a pair that says nothing about the rate but lost too much to go on.
    pub fn arrived_in_spite(&self) -> Option<Rate> {
        let lossy = |pair: &&Pair| pair.rate_difference().is_none() && pair.slower.loss > LIMITED_LOSS;
        self.pairs().iter().find(lossy).map(|pair| pair.slower.throughput())
    }
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
