//! Runs controllers through cases.

use super::case::{CaseSet, GauntletCase};
use super::measure::{Course, course, measure};
use super::metric::Metric;
use super::objective::Objective;
use crate::report::RunReport;
use crate::run::{in_order, simulate};
use crate::scenario::ScenarioError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Table;

/// What a controller did in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The set of the case.
    pub set: CaseSet,
    /// The seed of the case.
    pub seed: u64,
    /// The number of the case.
    pub case: u32,
    /// Its name.
    pub name: String,
    /// The controller.
    pub controller: String,
    /// What was measured.
    pub metrics: BTreeMap<Metric, f64>,
    /// Goodput over time.
    pub course: Course,
}

impl CaseResult {
    /// How good it is under an objective.
    pub(crate) fn score(&self, objective: &Objective) -> f64 {
        objective.score(&self.metrics, GauntletCase::draw(self.set, self.seed, self.case).rtt())
    }
}

/// A case, and a controller to run in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseRun {
    /// The set of the case.
    pub set: CaseSet,
    /// The seed of the case.
    pub seed: u64,
    /// The number of the case.
    pub case: u32,
    /// The controller.
    pub controller: String,
}

impl CaseRun {
    /// Runs it. The result depends on nothing else.
    ///
    /// # Errors
    ///
    /// When there is no such controller.
    pub fn play(&self) -> Result<CaseResult, ScenarioError> {
        self.play_with(&Table::new())
    }

    /// Runs it with other constants of the controller, as in [`ControllerConfig::set`](crate::controller::ControllerConfig::set).
    pub(crate) fn play_with(&self, set: &Table) -> Result<CaseResult, ScenarioError> {
        let case = GauntletCase::draw(self.set, self.seed, self.case);
        let mut plan = case.plan(std::slice::from_ref(&self.controller))?;
        for flow in &mut plan.cases[0].scenario.flow[..case.tested()] {
            flow.set.clone_from(set);
        }
        let run = simulate(&plan.cases[0], case.run_seed(), false)?;
        Ok(self.result(plan.scenario.duration, &run))
    }

    /// What a run of its scenario, which took so long, shows; also one on real traffic.
    pub fn result(&self, duration: Duration, run: &RunReport) -> CaseResult {
        let case = GauntletCase::draw(self.set, self.seed, self.case);
        CaseResult {
            set: self.set,
            seed: self.seed,
            case: self.case,
            name: case.name(),
            controller: self.controller.clone(),
            metrics: measure(&case, run, duration),
            course: course(&case, run, duration),
        }
    }
}

/// Runs all of them on `jobs` threads, and gives each result to `take`, in the order of the runs and as soon as it may.
///
/// # Errors
///
/// The first error of a run or of `take`; what hasn't begun then never does.
pub fn play<E: From<ScenarioError> + Send>(
    runs: &[CaseRun],
    jobs: usize,
    mut take: impl FnMut(CaseResult) -> Result<(), E> + Send,
) -> Result<(), E> {
    in_order(runs, jobs, CaseRun::play, |result| take(result?))
}
