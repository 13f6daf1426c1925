//! How far each controller is from the best one of each case.

use super::case::{CaseSet, GauntletCase};
use super::measure::Course;
use super::metric::Metric;
use super::objective::{OBJECTIVES, Objective};
use super::play::CaseResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// The results of some controllers in all the same cases.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    set: CaseSet,
    seed: u64,
    controllers: Vec<String>,
    cases: Vec<ScoredCase>,
}

/// A case, and what each controller did in it.
#[derive(Clone, Debug)]
pub(super) struct ScoredCase {
    pub case: GauntletCase,
    /// In the order of the controllers.
    pub metrics: Vec<BTreeMap<Metric, f64>>,
    /// In the order of the controllers.
    pub courses: Vec<Course>,
}

/// What a controller comes to over all cases.
#[derive(Clone, Debug, Serialize)]
pub struct ControllerScore {
    /// The controller.
    pub controller: String,
    /// In the order of [`OBJECTIVES`].
    pub objectives: Vec<ObjectiveScore>,
    /// For each metric that any case measures, the mean over these cases of what is missing to the best controller of each, as a share.
    pub missing: BTreeMap<Metric, f64>,
}

/// What a controller comes to under an objective. A regret is the share of the score of the best controller of a case that is missing.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectiveScore {
    /// The name of the objective.
    pub objective: &'static str,
    /// The mean of the regrets of all cases.
    pub mean: f64,
    /// The largest of them.
    pub worst: f64,
    /// In how many cases it was the best.
    pub best_in: usize,
    /// The cases with the largest regrets, the worst first, each with its regret.
    pub worst_cases: Vec<(String, f64)>,
}

/// So many worst cases are named.
const WORST_CASES: usize = 10;

impl Scoreboard {
    /// The results of `controllers`, which must all be in the same cases; `results` has those of a case one after the other, in the order of
    /// the controllers.
    pub fn new(set: CaseSet, seed: u64, controllers: Vec<String>, results: &[CaseResult]) -> Scoreboard {
        let scored = |of_case: &[CaseResult]| ScoredCase {
            case: GauntletCase::draw(set, seed, of_case[0].case),
            metrics: of_case.iter().map(|result| result.metrics.clone()).collect(),
            courses: of_case.iter().map(|result| result.course.clone()).collect(),
        };
        let cases = results.chunks(controllers.len().max(1)).map(scored).collect();
        Scoreboard { set, seed, controllers, cases }
    }

    /// What the results are of, in a line.
    pub fn title(&self) -> String {
        let (cases, controllers) = (self.cases.len(), self.controllers.len());
        format!("{cases} {} cases of seed {}, {controllers} controllers", self.set, self.seed)
    }

    /// The controllers.
    pub fn controllers(&self) -> &[String] {
        &self.controllers
    }

    pub(super) fn cases(&self) -> &[ScoredCase] {
        &self.cases
    }

    /// What each controller comes to, in their order.
    pub fn scores(&self) -> Vec<ControllerScore> {
        let score = |(index, controller): (usize, &String)| ControllerScore {
            controller: controller.clone(),
            objectives: OBJECTIVES.iter().map(|objective| self.under(objective, index)).collect(),
            missing: Metric::ALL
                .into_iter()
                .filter_map(|metric| Some((metric, self.missing(metric, index)?)))
                .collect(),
        };
        self.controllers.iter().enumerate().map(score).collect()
    }

    fn under(&self, objective: &Objective, controller: usize) -> ObjectiveScore {
        let regret = |scored: &ScoredCase| (scored.case.name(), scored.regrets(objective)[controller]);
        let mut regrets: Vec<(String, f64)> = self.cases.iter().map(regret).collect();
        let best_in = regrets.iter().filter(|(_, regret)| *regret == 0.0).count();
        let mean = mean(regrets.iter().map(|(_, regret)| *regret)).unwrap_or(0.0);
        regrets.sort_by(|a, b| b.1.total_cmp(&a.1));
        regrets.truncate(WORST_CASES);
        ObjectiveScore {
            objective: objective.name,
            mean,
            worst: regrets.first().map_or(0.0, |(_, regret)| *regret),
            best_in,
            worst_cases: regrets,
        }
    }

    fn missing(&self, metric: Metric, controller: usize) -> Option<f64> {
        mean(self.cases.iter().filter_map(|scored| Some(scored.missing(metric)?[controller])))
    }
}

impl ScoredCase {
    /// The share of the best score that each controller misses.
    pub fn regrets(&self, objective: &Objective) -> Vec<f64> {
        regrets(self.metrics.iter().map(|metrics| objective.score(metrics, self.case.rtt())))
    }

    /// The share of the best value of a metric that each controller misses, if the case measures it.
    fn missing(&self, metric: Metric) -> Option<Vec<f64>> {
        let good = |metrics: &BTreeMap<Metric, f64>| Some(metric.goodness(*metrics.get(&metric)?, self.case.rtt()));
        Some(regrets(self.metrics.iter().map(good).collect::<Option<Vec<f64>>>()?.into_iter()))
    }
}

/// The share of the best that each misses; nobody misses any if the best is nothing.
fn regrets(scores: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let best = scores.clone().fold(0.0, f64::max);
    scores.map(|score| regret(score, best)).collect()
}

/// The share of the best score that a score misses; less than 0 if it is better than that.
pub(crate) fn regret(score: f64, best: f64) -> f64 {
    if best > 0.0 { 1.0 - score / best } else { 0.0 }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regret_is_what_the_best_has_more() {
        assert_eq!(regrets([2.0, 4.0, 1.0].into_iter()), [0.5, 0.0, 0.75]);
        assert_eq!(regrets([0.0, 0.0].into_iter()), [0.0, 0.0]);
    }
}
