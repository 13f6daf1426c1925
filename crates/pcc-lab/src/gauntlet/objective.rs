//! What is wanted of a controller.

use super::metric::Metric;
use std::collections::BTreeMap;

/// What somebody wants of a controller: how much each metric weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// Its name.
    pub name: &'static str,
    /// In the order of [`Metric::ALL`].
    weights: [f64; 7],
}

/// The objectives. docs/gauntlet.md gives the reasons for the weights, which are choices.
pub const OBJECTIVES: [Objective; 3] = [
    // throughput, delay, loss, jain, share, completion, stalled
    Objective { name: "bulk", weights: [4.0, 0.0, 1.0, 1.0, 1.0, 4.0, 4.0] },
    Objective { name: "interactive", weights: [1.0, 4.0, 1.0, 1.0, 1.0, 2.0, 2.0] },
    Objective { name: "mixed", weights: [2.0, 2.0, 1.0, 2.0, 2.0, 2.0, 2.0] },
];

impl Objective {
    /// How good it all is: the geometric mean of the goodness of each metric, by the weights. `rtt` is that of the empty path in ms.
    pub fn score(&self, metrics: &BTreeMap<Metric, f64>, rtt: f64) -> f64 {
        let weight = |metric: &Metric| self.weights[*metric as usize];
        let sum: f64 = metrics.keys().map(weight).sum();
        let parts = metrics.iter().map(|(metric, value)| libm::pow(metric.goodness(*value, rtt), weight(metric) / sum));
        parts.product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_weighted_geometric_mean() {
        let metrics = |throughput, delay| {
            BTreeMap::from([(Metric::Throughput, throughput), (Metric::Delay, delay), (Metric::Loss, 0.0)])
        };
        let [bulk, interactive, mixed] = OBJECTIVES;
        assert_eq!(bulk.score(&metrics(10.0, 0.0), 20.0), bulk.score(&metrics(10.0, 99.0), 20.0));
        // A quarter of the delay's goodness is a sixteenth of the throughput's to who is interactive.
        let (slow, late) = (metrics(10.0 / 256.0, 0.0), metrics(10.0, 60.0));
        assert!((interactive.score(&slow, 20.0) - interactive.score(&late, 20.0)).abs() < 1e-12);
        assert_eq!(mixed.score(&metrics(0.0, 0.0), 20.0), 0.0, "who sends nothing is no use, however short the queue");
    }

    #[test]
    fn weights_are_in_the_order_of_the_metrics() {
        assert!(Metric::ALL.iter().enumerate().all(|(index, metric)| *metric as usize == index));
    }
}
