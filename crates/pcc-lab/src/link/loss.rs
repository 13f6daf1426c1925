//! Random loss.

use fastrand::Rng;

/// Bernoulli loss: each packet is lost with the same probability, independently.
#[derive(Clone, Debug)]
pub(super) struct Bernoulli {
    probability: f64,
    rng: Rng,
}

impl Bernoulli {
    pub(super) fn new(probability: f64, seed: u64) -> Bernoulli {
        Bernoulli { probability, rng: Rng::with_seed(seed) }
    }

    /// Whether the next packet is lost.
    pub(super) fn next_is_lost(&mut self) -> bool {
        // `f64` is below 1, so that a probability of 1 loses all, and of 0 (or NaN) none.
        self.rng.f64() < self.probability
    }
}
