//! What doesn't change in Sprout's model of a cellular link (sections 3.1 to 3.3): computed once in a process.

use std::sync::LazyLock;

/// Rates that the model knows: from 0 to [`MAX_RATE`] (section 3.1).
const BINS: usize = 256;
/// The maximum rate, in packets a second.
const MAX_RATE: f64 = 1000.0;
/// The length of a tick, in seconds (section 3.1).
pub(crate) const TICK_SECONDS: f64 = 0.02;
/// The strength of the Brownian motion of the rate, in packets a second for each square root of a second.
const SIGMA: f64 = 200.0;
/// How often a second a link without any service comes back.
const OUTAGE_ESCAPES: f64 = 1.0;
/// Ticks that the forecast looks ahead: 100 ms.
const HORIZON: usize = 5;
/// Packets of a tick from which on the forecast doesn't count (the authors' code).
const MAX_COUNT: usize = 30;
/// Cumulative packets that the forecast knows.
const MAX_TOTAL: usize = HORIZON * (MAX_COUNT - 1) + 1;
/// Standard deviations of the rate's motion in a tick that are followed.
const REACH: f64 = 5.0;

/// A distribution over the rates.
pub(crate) type Belief = [f64; BINS];

/// All rates are equally likely.
pub(crate) const IGNORANCE: Belief = [1.0 / BINS as f64; BINS];

/// The tables of the model.
#[derive(Debug)]
pub(crate) struct Model {
    /// Of each bin, the first bin that its rate can reach in a tick, and the probabilities from there on.
    motion: Vec<(usize, Vec<f64>)>,
    /// The packets that each rate brings in a tick on average, and their logarithm.
    means: Vec<(f64, f64)>,
    /// For each rate, the probabilities of 0, 1, 2 ... packets in a tick.
    ticks: Vec<Vec<f64>>,
    /// For each total, the probability that a link that is at each rate now brings it until the horizon.
    totals: Vec<Belief>,
}

/// The model.
pub(crate) static MODEL: LazyLock<Model> = LazyLock::new(Model::new);

fn rate(bin: usize) -> f64 {
    MAX_RATE * bin as f64 / (BINS - 1) as f64
}

/// The distribution function of the standard normal distribution.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / core::f64::consts::SQRT_2)
}

/// Where a rate moves in a tick. What would leave the range is dropped, as in the authors' code, so that a rate near zero
/// doesn't have to end in an outage.
fn motion(bin: usize) -> (usize, Vec<f64>) {
    let width = rate(1);
    let deviation = SIGMA * TICK_SECONDS.sqrt();
    let reach = (REACH * deviation / width) as usize;
    let (first, last) = (bin.saturating_sub(reach), (bin + reach).min(BINS - 1));
    // An outage tends to last.
    let stays = libm::exp(-OUTAGE_ESCAPES * TICK_SECONDS);
    let row = (first..=last).map(|to| {
        let distance = (to as f64 - bin as f64) * width;
        let moves = normal((distance + width / 2.0) / deviation) - normal((distance - width / 2.0) / deviation);
        match (bin, to) {
            (0, 0) => moves * stays,
            (0, _) => moves * (1.0 - stays),
            _ => moves,
        }
    });
    (first, row.collect())
}

/// The Poisson probabilities of 0, 1, 2 ... packets, of which `mean` come on average.
fn poisson(mean: f64) -> Vec<f64> {
    let next = |previous: &f64, count: usize| previous * mean / count as f64;
    let mut probabilities = vec![libm::exp(-mean)];
    for count in 1..MAX_COUNT {
        probabilities.push(next(&probabilities[count - 1], count));
    }
    probabilities
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (sum, y) in sums[i..].iter_mut().zip(b) {
            *sum += x * y;
        }
    }
    sums
}

impl Model {
    fn new() -> Model {
        let motion: Vec<_> = (0..BINS).map(motion).collect();
        // What a tick brings, by the rate some ticks before.
        let ticks: Vec<Vec<f64>> = (0..BINS).map(|bin| poisson(rate(bin) * TICK_SECONDS)).collect();
        let (mut tick, mut total) = (ticks.clone(), ticks.clone());
        // How much of each rate's probability hasn't left the range.
        let mut kept = vec![1.0; BINS];
        for _ in 1..HORIZON {
            tick = motion.iter().map(|(first, row)| mix(&tick[*first..], row)).collect();
            kept = motion.iter().map(|(first, row)| dot(&kept[*first..], row)).collect();
            let next = tick.iter().zip(&kept).map(|(tick, kept)| tick.iter().map(|p| p / kept).collect::<Vec<_>>());
            total = total.iter().zip(next).map(|(total, next)| convolve(total, &next)).collect();
        }
        let totals = (0..MAX_TOTAL).map(|count| core::array::from_fn(|bin| total[bin][count])).collect();
        let means = (0..BINS).map(|bin| rate(bin) * TICK_SECONDS).map(|mean| (mean, libm::log(mean))).collect();
        Model { motion, means, ticks, totals }
    }

    /// A tick passes (section 3.2.1).
    pub fn evolve(&self, belief: &Belief) -> Belief {
        let mut evolved = [0.0; BINS];
        for ((first, row), weight) in self.motion.iter().zip(belief) {
            for (sum, probability) in evolved[*first..].iter_mut().zip(row) {
                *sum += weight * probability;
            }
        }
        normalise(&mut evolved);
        evolved
    }

    /// `count` packets came in the tick (section 3.2.2): Bayes' rule.
    pub fn observe(&self, belief: &mut Belief, count: f64) {
        // Relative to the likeliest rate, so that nothing underflows; the factorial is the same for all.
        let log = |(mean, log_mean): &(f64, f64)| if count > 0.0 { count * log_mean - mean } else { -mean };
        let highest = self.means.iter().map(log).fold(f64::NEG_INFINITY, f64::max);
        update(belief, self.means.iter().map(|mean| libm::exp(log(mean) - highest)));
    }

    /// `count` packets came in the tick, and more would have come if there had been more.
    pub fn observe_at_least(&self, belief: &mut Belief, count: f64) {
        let whole = (count as usize).min(MAX_COUNT);
        update(belief, self.ticks.iter().map(|tick| 1.0 - tick[..whole].iter().sum::<f64>()));
    }

    /// The packets that the link brings until the horizon with all but the probability `risk` (section 3.3).
    pub fn forecast(&self, belief: &Belief, risk: f64) -> usize {
        let mut sum = 0.0;
        let fewer = |probabilities: &Belief| {
            sum += dot(belief, probabilities);
            sum < risk
        };
        self.totals.iter().map(fewer).take_while(|fewer| *fewer).count()
    }
}

/// Multiplies a belief by likelihoods.
fn update(belief: &mut Belief, likelihoods: impl Iterator<Item = f64>) {
    belief.iter_mut().zip(likelihoods).for_each(|(probability, likelihood)| *probability *= likelihood);
    normalise(belief);
}

/// Makes the sum one; if nothing is left, all rates are equally likely.
fn normalise(belief: &mut Belief) {
    let sum: f64 = belief.iter().sum();
    if sum > f64::MIN_POSITIVE {
        belief.iter_mut().for_each(|probability| *probability /= sum);
    } else {
        *belief = IGNORANCE;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The mean of distributions with weights.
fn mix(distributions: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut mean = vec![0.0; MAX_COUNT];
    for (distribution, weight) in distributions.iter().zip(weights) {
        for (sum, probability) in mean.iter_mut().zip(distribution) {
            *sum += weight * probability;
        }
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_rate(belief: &Belief) -> f64 {
        belief.iter().enumerate().map(|(bin, probability)| rate(bin) * probability).sum()
    }

    #[test]
    fn probabilities_sum_to_one() {
        let (_, middle) = &MODEL.motion[BINS / 2];
        assert!((middle.iter().sum::<f64>() - 1.0).abs() < 1e-6, "no more than five standard deviations away");
        let low: f64 = MODEL.totals.iter().map(|totals| totals[BINS / 4]).sum();
        assert!((low - 1.0).abs() < 1e-6, "few counts are cut off at 250 packets a second: {low}");
    }

    #[test]
    fn the_belief_follows_what_arrives() {
        let mut belief = IGNORANCE;
        for _ in 0..50 {
            belief = MODEL.evolve(&belief);
            MODEL.observe(&mut belief, 8.0);
        }
        assert!((mean_rate(&belief) - 400.0).abs() < 40.0, "{}", mean_rate(&belief));
        for _ in 0..50 {
            belief = MODEL.evolve(&belief);
            MODEL.observe(&mut belief, 0.0);
        }
        assert!(mean_rate(&belief) < 30.0, "an outage: {}", mean_rate(&belief));
        MODEL.observe_at_least(&mut belief, 0.0);
        let before = mean_rate(&belief);
        assert!(before < 30.0, "no less than none says nothing");
        MODEL.observe_at_least(&mut belief, 2.0);
        assert!(mean_rate(&belief) > before);
        MODEL.observe(&mut belief, 1e6);
        assert!(belief[BINS - 1] > 0.99, "more than the model knows");
    }

    #[test]
    fn the_forecast_is_cautious_and_grows_with_the_rate() {
        let certain = |bin| {
            let mut belief = [0.0; BINS];
            belief[bin] = 1.0;
            MODEL.forecast(&belief, 0.05)
        };
        assert_eq!(certain(0), 0);
        let middle = certain(BINS / 2);
        assert!((30..50).contains(&middle), "50 packets are the mean of 500 a second: {middle}");
        assert!(certain(BINS - 1) > middle && certain(BINS / 4) < middle);
    }

    #[test]
    fn without_observations_the_belief_spreads() {
        let mut belief = [0.0; BINS];
        belief[100] = 1.0;
        let before = MODEL.forecast(&belief, 0.05);
        for _ in 0..10 {
            belief = MODEL.evolve(&belief);
        }
        assert!(MODEL.forecast(&belief, 0.05) < before);
    }
}
