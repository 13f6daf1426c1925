//! What a controller with constants of its own comes to in cases of the gauntlet.

use super::Constant;
use crate::controller::ControllerConfig;
use crate::gauntlet::{CaseRun, CaseSet, Objective, regret};
use crate::run::map_on_cores;
use crate::scenario::ScenarioError;
use toml::{Table, Value};

/// A controller with constants of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The controller.
    pub controller: String,
    /// What differs, as in [`ControllerConfig::set`].
    pub set: Table,
}

impl Candidate {
    /// A controller as it is.
    pub fn named(controller: &str) -> Candidate {
        Candidate { controller: controller.to_owned(), set: Table::new() }
    }

    /// The same with these values of `constants`.
    pub fn with(&self, constants: &[Constant], values: &[f64]) -> Candidate {
        let mut set = self.set.clone();
        for (constant, value) in constants.iter().zip(values) {
            put(&mut set, &constant.key, *value);
        }
        Candidate { controller: self.controller.clone(), set }
    }

    /// The controller, to be built.
    pub fn config(&self) -> ControllerConfig {
        ControllerConfig { set: self.set.clone(), ..ControllerConfig::named(&self.controller) }
    }

    /// Its score in each of the first `cases` development cases of a seed, on `jobs` threads. `progress` gets the number of finished cases.
    ///
    /// # Errors
    ///
    /// When there is no such controller, or no such constant.
    pub fn scores(
        &self,
        seed: u64,
        cases: u32,
        objective: &Objective,
        jobs: usize,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<f64>, ScenarioError> {
        let cases: Vec<u32> = (0..cases).collect();
        let score = |case: &u32| {
            let run = CaseRun { set: CaseSet::Development, seed, case: *case, controller: self.controller.clone() };
            Ok(run.play_with(&self.set)?.score(objective))
        };
        map_on_cores(&cases, jobs, score, progress).into_iter().collect()
    }
}

/// Sets the constant at a dotted key.
fn put(table: &mut Table, key: &str, value: f64) {
    match key.split_once('.') {
        None => drop(table.insert(key.to_owned(), Value::Float(value))),
        Some((outer, inner)) => {
            if let Value::Table(table) = table.entry(outer).or_insert_with(|| Table::new().into()) {
                put(table, inner, value);
            }
        }
    }
}

/// The best scores of others, to judge candidates by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Regrets {
    best: Vec<f64>,
}

impl Regrets {
    /// Adds one who may be the best, by its score in each case.
    pub fn add(&mut self, scores: &[f64]) {
        self.best.resize(scores.len().max(self.best.len()), 0.0);
        self.best.iter_mut().zip(scores).for_each(|(best, score)| *best = best.max(*score));
    }

    /// The share of the best score that these scores miss in each case; less than 0 where they are better than all that were added.
    pub fn of(&self, scores: &[f64]) -> Vec<f64> {
        scores.iter().zip(&self.best).map(|(score, best)| regret(*score, *best)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_come_to_their_tables() {
        let constants = ["control.drain.every=1..4", "control.drain.part=0.5..1", "utility.packets=1..9"];
        let constants = constants.map(|text| text.parse().unwrap());
        let candidate = Candidate::named("queue-target").with(&constants, &[3.0, 0.9, 4.0]);
        let profile = candidate.config().profile().unwrap();
        assert_eq!(candidate.config().constant("control.drain.every"), Ok(3.0));
        assert_eq!(candidate.config().constant("utility.packets"), Ok(4.0));
        assert_eq!(profile.name, "queue-target");
    }

    #[test]
    fn a_regret_is_what_the_best_has_more() {
        let mut regrets = Regrets::default();
        regrets.add(&[1.0, 4.0, 0.0]);
        regrets.add(&[2.0, 3.0, 0.0]);
        assert_eq!(regrets.of(&[1.0, 5.0, 0.0]), [0.5, -0.25, 0.0]);
    }

    #[test]
    fn a_constant_changes_what_comes_of_a_case() {
        let objective = &crate::gauntlet::OBJECTIVES[2];
        let as_it_is = Candidate::named("queue-target");
        let constants = ["utility.packets=1..100".parse().unwrap()];
        let scores = |candidate: &Candidate| candidate.scores(1, 2, objective, 2, &|_| {}).unwrap();
        assert_eq!(scores(&as_it_is), scores(&as_it_is.with(&constants, &[3.0])), "3 is what it is");
        assert_ne!(scores(&as_it_is), scores(&as_it_is.with(&constants, &[50.0])));
    }
}
