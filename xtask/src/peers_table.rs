//! The table of `docs/peers.md`: what real senders did on the emulator, medians over seeds.
//!
//! The scenario gives the order of the rows and the round-trip times of empty links, the JSON lines of `pcc lab run` the rest.

use anyhow::Context;
use pcc_lab::report::median;
use pcc_lab::scenario::{Case, Plan, Scenario};
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// A run, as far as the table shows it.
#[derive(Deserialize)]
struct Run {
    case: Vec<(String, String)>,
    flows: [Flow; 1],
    emulator: Emulator,
}

/// Rates in Mbit/s, times in ms, shares as fractions. A flow that got nothing through has no loss and no round-trip time.
#[derive(Deserialize)]
struct Flow {
    goodput: f64,
    second_half: f64,
    loss: Option<f64>,
    rtt_p95: Option<f64>,
    real: Real,
}

#[derive(Deserialize)]
struct Real {
    payload: Option<f64>,
    /// In s for 10^9 bytes of delivered packets.
    sender_cpu_per_gb: Option<f64>,
}

#[derive(Deserialize)]
struct Emulator {
    /// Why the run doesn't count.
    doubt: Option<String>,
}

const COLUMNS: [&str; 7] = [
    "goodput Mbit/s",
    "second half",
    "payload Mbit/s",
    "lost %",
    "p95 RTT / empty RTT",
    "sender CPU s/GB",
    "runs that count",
];

/// Prints the table of the runs in `data`.
pub fn run(scenario: &Path, data: &Path) -> anyhow::Result<()> {
    let plan = Plan::read(scenario, &[])?;
    let text = std::fs::read_to_string(data).with_context(|| data.display().to_string())?;
    let runs = runs(&text).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))?;
    print!("{}", table(&plan, &runs)?);
    Ok(())
}

fn runs(text: &str) -> Result<Vec<Run>, String> {
    (1..)
        .zip(text.lines())
        .map(|(number, line)| serde_json::from_str(line).map_err(|error| format!("line {number}: {error}")))
        .collect()
}

fn table(plan: &Plan, runs: &[Run]) -> anyhow::Result<String> {
    if let Some(run) = runs.iter().find(|run| plan.cases.iter().all(|case| case.labels != run.case)) {
        anyhow::bail!("the scenario has no case {:?}: run it again", run.case);
    }
    let names: Vec<&str> = plan.scenario.sweep.iter().map(|sweep| sweep.name.as_str()).collect();
    let mut table = format!("| {} | {} |\n", names.join(" | "), COLUMNS.join(" | "));
    writeln!(table, "|{}{}", "---|".repeat(names.len()), "---:|".repeat(COLUMNS.len()))?;
    for case in &plan.cases {
        let labels: Vec<&str> = case.labels.iter().map(|(_, label)| label.as_str()).collect();
        writeln!(table, "| {} | {} |", labels.join(" | "), cells(case, runs).join(" | "))?;
    }
    Ok(table)
}

fn cells(case: &Case, runs: &[Run]) -> [String; COLUMNS.len()] {
    let runs: Vec<&Run> = runs.iter().filter(|run| run.case == case.labels).collect();
    let counted: Vec<&Flow> =
        runs.iter().filter(|run| run.emulator.doubt.is_none()).flat_map(|run| &run.flows).collect();
    let cell = |value: &dyn Fn(&Flow) -> Option<f64>, scale: f64| {
        let median = median(counted.iter().filter_map(|flow| value(flow)).collect()).map(|value| value * scale);
        median.map_or(String::new(), |value| format!("{value:.*}", if value < 10.0 { 2 } else { 1 }))
    };
    [
        cell(&|flow| Some(flow.goodput), 1.0),
        cell(&|flow| Some(flow.second_half), 1.0),
        cell(&|flow| flow.real.payload, 1.0),
        cell(&|flow| flow.loss, 100.0),
        cell(&|flow| flow.rtt_p95, 1e-3 / empty_rtt(&case.scenario).as_secs_f64()),
        cell(&|flow| flow.real.sender_cpu_per_gb, 1.0),
        format!("{} of {}", counted.len(), runs.len()),
    ]
}

/// The round-trip time with empty queues.
fn empty_rtt(scenario: &Scenario) -> Duration {
    let links: Duration = scenario.link.iter().map(|link| link.delay).sum();
    scenario.flow.first().and_then(|flow| flow.rtt).unwrap_or(2 * links)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        duration = "15s"
        [[link]]
        rate = "100mbit"
        [[flow]]
        controller = "cubic"
        [[sweep]]
        name = "path"
        key = "link.delay"
        values = ["15ms", "400ms"]
        [[sweep]]
        name = "sender"
        key = "flow.controller"
        values = ["cubic", "bbr1"]
    "#;

    fn line(path: &str, goodput: f64, payload: &str, doubt: &str) -> String {
        format!(
            r#"{{"case": [["path", "{path}"], ["sender", "cubic"]], "seed": 1, "jain": null,
                "flows": [{{"name": "cubic", "goodput": {goodput}, "second_half": 97.5, "loss": 0.0125, "rtt_p95": 45.0,
                    "real": {{"payload": {payload}, "sender_cpu_per_gb": 0.5}}}}],
                "emulator": {{"lateness_p99": 46, "doubt": {doubt}}}}}"#
        )
        .replace('\n', " ")
    }

    #[test]
    fn medians_of_the_runs_that_count() {
        let lines = [
            line("15ms", 90.0, "88", "null"),
            line("15ms", 1.0, "1", r#""the emulator was late""#),
            line("15ms", 94.0, "null", "null"),
            line("400ms", 1.0, "1", r#""the emulator was late""#),
        ];
        let plan = Plan::parse("grid.toml", SCENARIO, &[]).unwrap();
        let table = table(&plan, &runs(&lines.join("\n")).unwrap()).unwrap();
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| 15ms | cubic | 92.0 | 97.5 | 88.0 | 1.25 | 1.50 | 0.50 | 2 of 3 |",
                "| 15ms | bbr1 |  |  |  |  |  |  | 0 of 0 |",
                "| 400ms | cubic |  |  |  |  |  |  | 0 of 1 |",
                "| 400ms | bbr1 |  |  |  |  |  |  | 0 of 0 |",
            ]
        );
    }

    #[test]
    fn the_grid_is_a_scenario() {
        let grid = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/peers/grid.toml");
        let plan = Plan::read(Path::new(grid), &[]).unwrap();
        let of_default = plan.cases.iter().filter(|case| case.labels[1].1 == "queue-target");
        let rtts: Vec<u128> = of_default.map(|case| empty_rtt(&case.scenario).as_millis()).collect();
        assert_eq!(rtts, [30, 30, 30, 30, 60, 800, 10, 40]);
    }

    #[test]
    fn what_does_not_belong_together_is_an_error() {
        let plan = Plan::parse("grid.toml", SCENARIO, &[]).unwrap();
        let other = runs(&line("30ms", 90.0, "88", "null")).unwrap();
        assert!(table(&plan, &other).unwrap_err().to_string().contains("30ms"));
        let error = runs(&format!("{}\n{{\"case\": []}}", line("15ms", 90.0, "88", "null"))).err().unwrap();
        assert!(error.starts_with("line 2: missing field"), "{error}");
    }
}
