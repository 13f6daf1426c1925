//! Random loss.

use crate::quantity::{Quantity, read};
use fastrand::Rng;
use serde::Deserialize;

/// Which packets are lost at random. Probabilities are in `0.0..=1.0`; beyond, they count as 0 or 1, and NaN as 0.
///
/// Scenarios write a probability, `"1%"`, or a table for bursts, `{ to-bad = 0.01, to-good = 0.2, loss-bad = 0.5 }`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "Bursts")]
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

impl Quantity for Loss {
    const EXPECTED: &'static str = f64::EXPECTED;

    fn from_text(text: &str) -> Result<Loss, String> {
        f64::from_text(text).map(Loss::Bernoulli)
    }

    fn from_number(number: f64) -> Option<Loss> {
        f64::from_number(number).map(Loss::Bernoulli)
    }
}

/// The table for bursts, as scenarios write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bursts {
    #[serde(deserialize_with = "read")]
    to_bad: f64,
    #[serde(deserialize_with = "read")]
    to_good: f64,
    #[serde(default, deserialize_with = "read")]
    loss_good: f64,
    #[serde(deserialize_with = "read")]
    loss_bad: f64,
}

impl From<Bursts> for Loss {
    fn from(Bursts { to_bad, to_good, loss_good, loss_bad }: Bursts) -> Loss {
        // What never turns bad has no bursts.
        if to_bad == 0.0 {
            Loss::Bernoulli(loss_good)
        } else {
            Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad }
        }
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
