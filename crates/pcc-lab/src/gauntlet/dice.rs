//! Draws of numbers: the same on every machine.

/// A generator of random choices.
pub(super) struct Dice(fastrand::Rng);

impl Dice {
    /// The choices of one of the streams of a seed.
    pub fn new(seed: u64, stream: u64) -> Dice {
        let first = fastrand::Rng::with_seed(seed).u64(..);
        // Twice, because streams next to each other begin alike.
        Dice(fastrand::Rng::with_seed(first.wrapping_add(stream)).fork())
    }

    /// Evenly between two numbers, to three digits.
    pub fn even(&mut self, low: f64, high: f64) -> f64 {
        rounded(low + (high - low) * self.0.f64(), 3)
    }

    /// Evenly on a logarithmic scale between two numbers above zero, to three digits; `low` if they are the wrong way round.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        rounded(low * libm::pow(high.max(low) / low, self.0.f64()), 3)
    }

    /// One of several, by their weights.
    pub fn pick<T: Copy>(&mut self, weighted: &[(u32, T)]) -> T {
        let mut rest = self.0.u32(0..weighted.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in weighted {
            if rest < *weight {
                return *choice;
            }
            rest -= weight;
        }
        unreachable!("the rest is less than the sum of the weights")
    }
}

/// A number with so many digits that count.
pub(super) fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_within_their_range_and_streams_differ() {
        let mut dice = Dice::new(1, 0);
        for _ in 0..1000 {
            assert!((0.5..=10_000.0).contains(&dice.log(0.5, 1e4)) && (2.0..=3.0).contains(&dice.even(2.0, 3.0)));
        }
        assert_eq!(dice.log(5.0, 1.0), 5.0);
        let first = |stream| Dice::new(1, stream).log(1.0, 1e6);
        let mut firsts: Vec<f64> = (0..100).map(first).collect();
        firsts.sort_by(f64::total_cmp);
        assert!(firsts[0] < 4.0 && firsts[49] > 200.0 && firsts[49] < 5e3 && firsts[99] > 2.5e5, "{firsts:?}");
    }

    #[test]
    fn weights_are_kept() {
        let mut dice = Dice::new(1, 0);
        let thousand: Vec<bool> = (0..1000).map(|_| dice.pick(&[(90, false), (10, true), (0, true)])).collect();
        let share = thousand.iter().filter(|picked| **picked).count();
        assert!((70..130).contains(&share), "{share}");
    }

    #[test]
    fn three_digits() {
        assert_eq!([rounded(0.012_345, 3), rounded(98_765.0, 3), rounded(0.0, 3)], [0.0123, 98_800.0, 0.0]);
    }
}
