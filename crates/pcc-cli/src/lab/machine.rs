//! What runs scenarios: the simulator or the emulator.

use super::progress::Progress;
use crate::exit::usage;
use pcc_emulator::host::privileges;
use pcc_emulator::{EmulatorError, emulate};
use pcc_lab::report::RunReport;
use pcc_lab::run::{in_turn, map, simulate};
use pcc_lab::scenario::Plan;
use std::collections::BTreeSet;

/// Where scenarios run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum On {
    /// In virtual time: no network, no privileges, the same result for the same seed.
    Simulator,
    /// On real traffic, through an emulated path between network namespaces.
    Emulator,
}

/// How many runs at a time: as asked for, or as many as there are cores.
pub fn jobs(wanted: Option<u16>) -> usize {
    wanted.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// What runs scenarios.
pub enum Machine {
    /// As many simulations at a time.
    Simulator { jobs: usize },
    /// One run after the other.
    Emulator,
}

impl Machine {
    /// A machine that may run here; `threads` is how many simulations at a time, if not as many as there are cores.
    ///
    /// # Errors
    ///
    /// When this process isn't allowed to have an emulator, or the emulator was asked for several runs at a time.
    pub fn new(on: On, threads: Option<u16>) -> anyhow::Result<Machine> {
        Ok(match on {
            On::Simulator => Machine::Simulator { jobs: jobs(threads) },
            On::Emulator if threads.is_some() => {
                return Err(usage("--jobs is for the simulator: on the emulator real traffic runs one at a time"));
            }
            On::Emulator => {
                privileges::acquire()?;
                Machine::Emulator
            }
        })
    }

    /// Runs every case with every seed, and gives what `finish` makes of the reports, the seeds of a case one after the other. Runs that `record`
    /// picks by their seed keep what plots over time need. Cases whose programs aren't there are left out, with a line about it, unless all are.
    pub fn run<R: Send>(
        &self,
        plan: &Plan,
        seeds: &[u64],
        record: impl Fn(u64) -> bool + Sync,
        finish: impl Fn(RunReport) -> anyhow::Result<R> + Sync,
    ) -> anyhow::Result<Vec<R>> {
        let runs = plan.cases.len() * seeds.len();
        match self {
            Machine::Simulator { jobs } => {
                let progress = Progress::start(runs as u64, "runs");
                let reports = map(plan, seeds, *jobs, &|done| progress.show(done as u64), |case, seed| {
                    finish(simulate(case, seed, record(seed))?)
                })?;
                progress.finish();
                Ok(reports)
            }
            Machine::Emulator => {
                let each: u64 = plan.cases.iter().map(|case| case.scenario.duration.as_secs()).sum();
                let progress = Progress::start(each * seeds.len() as u64, "seconds");
                let mut before = 0;
                let mut skipped = BTreeSet::new();
                let reports = in_turn(plan, seeds, |case, seed| {
                    let emulated =
                        emulate(case, seed, record(seed), &|passed| progress.show(before + passed.as_secs()));
                    before += case.scenario.duration.as_secs();
                    match emulated {
                        Err(error @ EmulatorError::NoProgram { .. }) => {
                            skipped.insert(error.to_string());
                            Ok(None)
                        }
                        emulated => finish(emulated?).map(Some),
                    }
                })?;
                progress.finish();
                let reports: Vec<R> = reports.into_iter().flatten().collect();
                anyhow::ensure!(!reports.is_empty(), "{}", Vec::from_iter(skipped).join("; "));
                skipped.iter().for_each(|reason| eprintln!("skipped: {reason}"));
                Ok(reports)
            }
        }
    }
}
