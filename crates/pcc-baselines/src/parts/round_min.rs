//! The minimum round-trip time of each round, for controllers that look at queueing delay once in a round trip.

use super::window::Ack;

/// Collects the samples of a round.
#[derive(Debug)]
pub(crate) struct RoundMin {
    minimum: f64,
    samples: u32,
}

/// A round that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Round {
    /// Its minimum round-trip time, in seconds; infinite without samples.
    pub minimum: f64,
    pub samples: u32,
}

impl RoundMin {
    pub fn new() -> RoundMin {
        RoundMin { minimum: f64::INFINITY, samples: 0 }
    }

    /// Takes the sample of an acknowledgement; the first of a round ends the round before it.
    pub fn update(&mut self, ack: &Ack) -> Option<Round> {
        let ended = ack.round.then_some(Round { minimum: self.minimum, samples: self.samples });
        if ended.is_some() {
            *self = RoundMin::new();
        }
        self.minimum = self.minimum.min(ack.rtt.latest);
        self.samples += 1;
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::ack;

    #[test]
    fn a_round_has_the_samples_from_its_first_to_the_next_ones_first() {
        let mut rounds = RoundMin::new();
        assert_eq!(rounds.update(&ack(1.0, 0.3, true)), Some(Round { minimum: f64::INFINITY, samples: 0 }));
        assert_eq!(rounds.update(&ack(1.0, 0.2, false)), None);
        assert_eq!(rounds.update(&ack(1.0, 0.1, true)), Some(Round { minimum: 0.2, samples: 2 }));
        assert_eq!(rounds.update(&ack(1.0, 0.4, true)), Some(Round { minimum: 0.1, samples: 1 }));
    }
}
