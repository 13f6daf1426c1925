//! Many runs on all cores.

use super::pool;
use super::simulate::simulate;
use crate::report::RunReport;
use crate::scenario::{Case, Plan, ScenarioError};

/// Runs every case with every seed on `jobs` threads, and gives the reports in the order of the cases and, for each, of the seeds; that
/// order, and every byte, is the same on any number of threads. `progress` is called, with the number of finished runs, after each.
///
/// # Errors
///
/// The first error of [`simulate`].
pub fn simulate_all(
    plan: &Plan,
    seeds: &[u64],
    jobs: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Vec<RunReport>, ScenarioError> {
    map(plan, seeds, jobs, progress, |case, seed| simulate(case, seed, false).map(RunReport::without_details))
}

/// Does `work`, which may run the case and look at what it recorded, for every case and seed.
///
/// # Errors
///
/// The first error of `work`.
pub fn map<R: Send, E: Send>(
    plan: &Plan,
    seeds: &[u64],
    jobs: usize,
    progress: &(dyn Fn(usize) + Sync),
    work: impl Fn(&Case, u64) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let runs: Vec<_> = plan.cases.iter().flat_map(|case| seeds.iter().map(move |seed| (case, *seed))).collect();
    pool::map(&runs, jobs, |(case, seed)| work(case, *seed), progress).into_iter().collect()
}

/// Does `work` for one run after the other: every case with the first seed, then with the next, so that what disturbs the machine
/// for a while hits all cases alike. The results are in the order of the cases and, for each, of the seeds.
///
/// # Errors
///
/// The first error of `work`.
pub fn in_turn<R, E>(
    plan: &Plan,
    seeds: &[u64],
    mut work: impl FnMut(&Case, u64) -> Result<R, E>,
) -> Result<Vec<R>, E> {
    let mut of_cases: Vec<Vec<R>> = plan.cases.iter().map(|_| Vec::new()).collect();
    for seed in seeds {
        for (case, results) in plan.cases.iter().zip(&mut of_cases) {
            results.push(work(case, *seed)?);
        }
    }
    Ok(of_cases.into_iter().flatten().collect())
}
