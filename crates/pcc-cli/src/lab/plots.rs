//! Plots of runs over time.

use super::machine::Machine;
use super::write;
use pcc_lab::plot::timeline;
use pcc_lab::report::RunReport;
use pcc_lab::scenario::Plan;
use std::path::Path;

/// With more runs than this, only those with the first seed are drawn.
const MOST_DRAWN: usize = 50;

/// Runs every case with every seed as [`Machine::run`] does, and draws each run.
pub fn run(machine: &Machine, plan: &Plan, seeds: &[u64], folder: &Path) -> anyhow::Result<Vec<RunReport>> {
    let runs = plan.cases.len() * seeds.len();
    let all = runs <= MOST_DRAWN;
    if !all && seeds.len() > 1 {
        eprintln!("{runs} runs: only those with seed {} are drawn", seeds[0]);
    }
    let drawn = |seed| all || Some(&seed) == seeds.first();
    machine.run(plan, seeds, drawn, |report| {
        if drawn(report.seed) {
            write(&folder.join(file_name(&report)), &timeline(&plan.scenario.title, &report)?)?;
        }
        Ok(report.without_details())
    })
}

/// Such as `cubic-75kB-seed-1.svg`.
fn file_name(report: &RunReport) -> String {
    let labels: String = report.case.iter().map(|(_, label)| format!("{label}-")).collect();
    let plain = |c: char| if c.is_alphanumeric() || "-.%".contains(c) { c } else { '_' };
    let labels: String = labels.chars().map(plain).collect();
    format!("{labels}seed-{}.svg", report.seed)
}
