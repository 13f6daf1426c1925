//! Many runs on all cores.

use super::{Plan, ScenarioError};
use crate::report::RunReport;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

impl Plan {
    /// Runs every case with every seed on `jobs` threads, and gives the reports in the order of the cases and, for each, of the seeds; that
    /// order, and every byte, is the same on any number of threads. `progress` is called, with the number of finished runs, after each.
    ///
    /// # Errors
    ///
    /// The first error, when a trace can't be read.
    pub fn run(
        &self,
        seeds: &[u64],
        jobs: usize,
        record: bool,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<RunReport>, ScenarioError> {
        let runs: Vec<_> = self.cases.iter().flat_map(|case| seeds.iter().map(move |seed| (case, *seed))).collect();
        let next = AtomicUsize::new(0);
        let finished = AtomicUsize::new(0);
        let reports = Mutex::new(Vec::new());
        let work = || {
            while let Some((index, (case, seed))) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, runs.get(index)?)))
            {
                let report = case.run(*seed, record);
                reports.lock().unwrap_or_else(PoisonError::into_inner).push((index, report));
                progress(finished.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        std::thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
        let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        reports.sort_by_key(|(index, _)| *index);
        reports.into_iter().map(|(_, report)| report).collect()
    }
}
