//! Plots of runs over time.

use crate::output::write_file;
use pcc_lab::plot::timeline;
use pcc_lab::report::RunReport;
use pcc_lab::scenario::Plan;
use std::path::Path;

/// With more runs than this, only those with the first seed are drawn.
const MAX_DRAWN: usize = 50;

/// Which runs are drawn, by their seeds.
#[derive(Clone, Copy)]
pub enum Drawn {
    All,
    OnlyOf(u64),
}

impl Drawn {
    /// Those of a plan with these seeds.
    pub fn of(plan: &Plan, seeds: &[u64]) -> Drawn {
        let runs = plan.cases.len() * seeds.len();
        match seeds {
            [first, _, ..] if runs > MAX_DRAWN => {
                eprintln!("{runs} runs: only those with seed {first} are drawn");
                Drawn::OnlyOf(*first)
            }
            _ => Drawn::All,
        }
    }

    /// Whether runs with this seed are.
    pub fn has(self, seed: u64) -> bool {
        match self {
            Drawn::All => true,
            Drawn::OnlyOf(only) => seed == only,
        }
    }
}

/// Draws a run that was recorded.
pub fn draw(folder: &Path, title: &str, report: &RunReport) -> anyhow::Result<()> {
    write_file(&folder.join(file_name(report)), &timeline(title, report)?)
}

/// Such as `cubic-75kB-seed-1.svg`.
fn file_name(report: &RunReport) -> String {
    let labels: String = report.case.iter().map(|(_, label)| format!("{label}-")).collect();
    let plain = |c: char| if c.is_alphanumeric() || "-.%".contains(c) { c } else { '_' };
    let labels: String = labels.chars().map(plain).collect();
    format!("{labels}seed-{}.svg", report.seed)
}
