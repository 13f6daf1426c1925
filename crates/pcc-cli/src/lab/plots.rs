//! Plots of runs over time.

use crate::output::write_file;
use pcc_lab::plot::timeline;
use pcc_lab::report::RunReport;
use pcc_lab::scenario::{Case, Plan};
use std::collections::{HashMap, HashSet};
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

/// The files that plots are written into, such as `cubic-75kB-seed-1.svg`.
pub struct Names(HashMap<Vec<(String, String)>, String>);

/// The most bytes of a name that are labels: file systems take 255 in all.
const MAX_LABELS: usize = 150;

impl Names {
    /// Those of a plan's cases. Labels that come to the same name get numbers.
    pub fn of(plan: &Plan) -> Names {
        let mut taken = HashSet::new();
        let name = |(number, case): (usize, &Case)| {
            let mut name = plain(&case.labels);
            while !taken.insert(name.clone()) {
                name += &format!("{number}-");
            }
            (case.labels.clone(), name)
        };
        Names((1..).zip(&plan.cases).map(name).collect())
    }

    /// Draws a run that was recorded.
    pub fn draw(&self, folder: &Path, title: &str, report: &RunReport) -> anyhow::Result<()> {
        let labels = self.0.get(&report.case).map_or("", String::as_str);
        write_file(&folder.join(format!("{labels}seed-{}.svg", report.seed)), &timeline(title, report)?)
    }
}

/// As much of the labels as fits, in characters that every shell and file system takes.
fn plain(labels: &[(String, String)]) -> String {
    let labels: String = labels.iter().map(|(_, label)| format!("{label}-")).collect();
    let plain = |c: char| if c.is_alphanumeric() || "-.%".contains(c) { c } else { '_' };
    let mut plain: String = labels.chars().map(plain).collect();
    if plain.len() > MAX_LABELS {
        while plain.len() >= MAX_LABELS {
            plain.pop();
        }
        plain.push('-');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_of_one_case_each() {
        let long = format!("x - {}", "0.001*x + ".repeat(40));
        let values =
            ["a b", "a_b", "a/b", "a_b-3", &format!("{long}1"), &format!("{long}2"), "\u{e4}".repeat(150).as_str()]
                .map(|label| format!("{{ label = '{label}', duration = '1s' }}"))
                .join(", ");
        let text = format!(
            "duration = '1s'\n[[link]]\nrate = '10mbit'\n[[flow]]\ncontroller = 'cubic'\n[[sweep]]\nname = 'what'\nvalues = [{values}]"
        );
        let plan = Plan::parse("x.toml", &text, &[]).unwrap();
        let names = Names::of(&plan);
        let names: Vec<&str> = plan.cases.iter().map(|case| names.0[&case.labels].as_str()).collect();
        assert_eq!(names[..4], ["a_b-", "a_b-2-", "a_b-3-", "a_b-3-4-"]);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() < MAX_LABELS + 10), "{names:?}");
    }
}
