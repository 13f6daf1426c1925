//! A scoreboard as text.

use super::objective::OBJECTIVES;
use super::score::{ControllerScore, ObjectiveScore, Scoreboard};
use crate::report::aligned;

impl Scoreboard {
    /// Tables of regrets and of what is missing in each metric, and the worst cases of each controller under the mixed objective; in
    /// percent.
    pub fn table(&self) -> String {
        let scores = self.scores();
        let mut text = format!("{}; regret in % of the best controller of each case\n\n", self.title());
        text += &regrets(&scores);
        text += "\nMissing to the best in each metric, mean in %\n\n";
        text += &missing(&scores);
        for ControllerScore { controller, objectives, .. } in &scores {
            for score in objectives.iter().filter(|score| score.objective == SHOWN) {
                text += &format!("\nWorst cases of {controller} ({SHOWN})\n");
                text += &aligned(&score.worst_cases.iter().map(worst_case).collect::<Vec<_>>(), 0);
            }
        }
        text
    }
}

/// The objective whose worst cases are named.
const SHOWN: &str = "mixed";

fn worst_case((name, regret): &(String, f64)) -> Vec<String> {
    vec![percent(*regret), name.clone()]
}

fn regrets(scores: &[ControllerScore]) -> String {
    let heading = OBJECTIVES.iter().flat_map(|objective| [objective.name, "worst", "best in"]);
    let row = |score: &ControllerScore| {
        let cells = |of: &ObjectiveScore| [percent(of.mean), percent(of.worst), of.best_in.to_string()];
        [score.controller.clone()].into_iter().chain(score.objectives.iter().flat_map(cells)).collect()
    };
    with_heading(heading, scores.iter().map(row))
}

fn missing(scores: &[ControllerScore]) -> String {
    // All controllers were in the same cases.
    let heading = scores.iter().take(1).flat_map(|score| score.missing.keys().map(|metric| metric.name()));
    let row = |score: &ControllerScore| {
        [score.controller.clone()].into_iter().chain(score.missing.values().map(|share| percent(*share))).collect()
    };
    with_heading(heading, scores.iter().map(row))
}

fn with_heading(heading: impl Iterator<Item = &'static str>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let heading = ["controller"].into_iter().chain(heading).map(str::to_owned).collect();
    aligned(&[heading].into_iter().chain(rows).collect::<Vec<_>>(), 1)
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}
