//! Random loss.

use fastrand::Rng;

/// Which packets are lost at random. Probabilities are in `0.0..=1.0`; beyond, they count as 0 or 1, and NaN as 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet with the same probability, independently.
    Bernoulli(f64),
    /// Bursts: a chain of two states, good and bad, that may change after each packet (Gilbert 1960, Elliott 1963).
    ///
    /// It is bad for `to_bad / (to_bad + to_good)` of the packets, for `1 / to_good` in a row on average, and starts good.
    GilbertElliott {
        /// Probability of turning bad after a packet in the good state.
        to_bad: f64,
        /// Probability of turning good after a packet in the bad state.
        to_good: f64,
        /// Probability of loss in the good state.
        loss_good: f64,
        /// Probability of loss in the bad state.
        loss_bad: f64,
    },
}

impl From<f64> for Loss {
    /// Independent loss with this probability.
    fn from(probability: f64) -> Loss {
        Loss::Bernoulli(probability)
    }
}

/// Decides for one packet after the other.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    loss: Loss,
    bad: bool,
    rng: Rng,
}

impl Losses {
    pub(super) fn new(loss: Loss, seed: u64) -> Losses {
        Losses { loss, bad: false, rng: Rng::with_seed(seed) }
    }

    /// Whether the next packet is lost.
    pub(super) fn next_is_lost(&mut self) -> bool {
        match self.loss {
            Loss::Bernoulli(probability) => self.happens(probability),
            Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let lost = self.happens(if self.bad { loss_bad } else { loss_good });
                self.bad ^= self.happens(if self.bad { to_good } else { to_bad });
                lost
            }
        }
    }

    pub(super) fn set(&mut self, loss: Loss) {
        self.loss = loss;
    }

    fn happens(&mut self, probability: f64) -> bool {
        // `f64` is below 1, so that a probability of 1 is certain, and one of 0 (or NaN) never.
        self.rng.f64() < probability
    }
}
