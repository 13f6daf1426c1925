//! Some cases of the gauntlet, as a table: a change of a controller, or of what is drawn, shows as a diff.

use pcc_lab::gauntlet::{CaseResult, CaseRun, CaseSet, Scoreboard, play};
use pcc_lab::scenario::ScenarioError;
use std::fmt::Write;

/// Cheap cases of all situations.
const CASES: [u32; 12] = [15, 55, 59, 61, 69, 101, 114, 119, 122, 137, 155, 156];
const CONTROLLERS: [&str; 4] = ["vivace-latency", "cubic", "bbr3", "copa"];

fn runs() -> Vec<CaseRun> {
    let run =
        |case, controller: &str| CaseRun { set: CaseSet::Development, seed: 1, case, controller: controller.into() };
    CASES.iter().flat_map(|case| CONTROLLERS.map(|controller| run(*case, controller))).collect()
}

fn results(runs: &[CaseRun], jobs: usize) -> Vec<CaseResult> {
    let mut results = Vec::new();
    play(runs, jobs, |result| -> Result<(), ScenarioError> {
        results.push(result);
        Ok(())
    })
    .unwrap();
    results
}

#[test]
fn some_cases_and_their_scores() {
    let results = results(&runs(), 2);
    let mut table = String::new();
    for of_case in results.chunks(CONTROLLERS.len()) {
        writeln!(table, "{}", of_case[0].name).unwrap();
        for CaseResult { controller, metrics, .. } in of_case {
            let metrics: String =
                metrics.iter().map(|(metric, value)| format!("  {} {value:.4}", metric.name())).collect();
            writeln!(table, "  {controller:15}{metrics}").unwrap();
        }
    }
    let controllers = CONTROLLERS.map(str::to_owned).to_vec();
    let scoreboard = Scoreboard::new(CaseSet::Development, 1, controllers, &results);
    insta::assert_snapshot!(format!("{table}\n{}", scoreboard.table()));
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let lines = |results: &[CaseResult]| serde_json::to_string(results).unwrap();
    let [one, two] = [1, 2].map(|jobs| results(&runs()[..8], jobs));
    assert_eq!(lines(&one), lines(&two));
    // As they come back from a file, to the last bit.
    let read: Vec<CaseResult> = serde_json::from_str(&lines(&one)).unwrap();
    assert_eq!(lines(&read), lines(&one));
}

#[test]
fn a_page_needs_no_network() {
    let results = results(&runs()[..4], 1);
    let controllers = CONTROLLERS.map(str::to_owned).to_vec();
    let page = Scoreboard::new(CaseSet::Development, 1, controllers, &results).page().unwrap();
    assert!(page.contains(&results[0].name) && page.contains("[[link]]"));
    for outside in ["http:", "https:", "src=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    for placeholder in ["/*STYLE*/", "/*SCRIPT*/", "/*DATA*/"] {
        assert!(!page.contains(placeholder), "{placeholder}");
    }
}
