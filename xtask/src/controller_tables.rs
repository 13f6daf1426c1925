//! The tables of `docs/queue-target-measured.md`: controllers over the cases of `benches/controllers` in the simulator, medians of three seeds.

use anyhow::Context;
use pcc_lab::report::{FlowReport, RunReport, median};
use pcc_lab::run::simulate_all;
use pcc_lab::scenario::Plan;
use std::path::Path;

const CONTROLLERS: [&str; 5] = ["queue-target", "vivace-latency", "bbr1", "copa", "cubic"];
const SEEDS: [u64; 3] = [1, 2, 3];
/// What the names of the flows begin with that a controller is put into.
const UNDER_TEST: &str = "test";

/// What a cell shows of the flows under test.
#[derive(Clone, Copy)]
enum Cell {
    /// Goodput in Mbit/s; the p95 of the queueing delay, and loss.
    Goodput,
    /// Jain's index; the same.
    Jain,
    /// Their share of what all flows have.
    Share,
    /// The mean time of transfers, and loss.
    Completion,
}

/// The tables: in which folder and file the cases are, what a cell shows, and the heading.
const TABLES: [(&str, &str, Cell, &str); 15] = [
    ("dev", "alone", Cell::Goodput, "Alone: Mbit/s; p95 queueing delay, loss"),
    ("dev", "return", Cell::Goodput, "Return paths"),
    ("dev", "lte", Cell::Goodput, "Cellular links"),
    ("dev", "own", Cell::Jain, "Flows of one kind: Jain; p95 queueing delay, loss"),
    ("dev", "rtts", Cell::Jain, "Flows that differ"),
    ("dev", "acks", Cell::Jain, "Acknowledgements every 60 ms"),
    ("dev", "beside", Cell::Share, "Beside one other: share"),
    ("dev", "three", Cell::Share, "Three beside three: share"),
    ("dev", "late", Cell::Share, "Coming 15 s after one other, and its share of the 45 s after that (`late.toml`)"),
    ("dev", "transfers", Cell::Completion, "Transfers: mean time, loss"),
    ("dev", "short", Cell::Completion, "Short flows beside a bulk flow"),
    ("held-out", "alone", Cell::Goodput, "Alone: Mbit/s; p95 queueing delay, loss"),
    ("held-out", "own", Cell::Jain, "Flows of one kind: Jain; p95 queueing delay, loss"),
    ("held-out", "rtts", Cell::Jain, "Flows that differ"),
    ("held-out", "beside", Cell::Share, "Beside one other: share"),
];

/// Prints the tables of the cases in `folder`.
pub fn run(folder: &Path) -> anyhow::Result<()> {
    let mut section = "";
    for (part, file, cell, heading) in TABLES {
        if part != section {
            section = part;
            println!("## {}\n", if part == "dev" { "Development cases" } else { "Held-out cases" });
        }
        println!("{heading}:\n\n| | `{}` |\n|---|{}", CONTROLLERS.join("` | `"), "---|".repeat(CONTROLLERS.len()));
        let file = folder.join(part).join(file).with_extension("toml");
        eprintln!("{}", file.display());
        let columns: Vec<Vec<(String, String)>> =
            CONTROLLERS.iter().map(|controller| column(&file, controller, cell)).collect::<anyhow::Result<_>>()?;
        for (row, (label, _)) in columns[0].iter().enumerate() {
            let cells: Vec<&str> = columns.iter().map(|column| column[row].1.as_str()).collect();
            println!("| {label} | {} |", cells.join(" | "));
        }
        println!();
    }
    Ok(())
}

/// The label and the cell of each case of a file with this controller.
fn column(file: &Path, controller: &str, cell: Cell) -> anyhow::Result<Vec<(String, String)>> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(|| name.clone())?;
    let mut plan = Plan::parse(&name, &text, &[])?;
    for flow in plan.cases.iter_mut().flat_map(|case| &mut case.scenario.flow) {
        if flow.name.as_deref().is_some_and(is_under_test) {
            controller.clone_into(&mut flow.controller);
        }
    }
    let jobs = std::thread::available_parallelism()?.get();
    let reports = simulate_all(&plan, &SEEDS, jobs, &|_| {})?;
    let runs = reports.chunks(SEEDS.len());
    Ok(plan.cases.iter().zip(runs).map(|(case, runs)| (label(&case.labels), shown(runs, cell))).collect())
}

fn is_under_test(flow: &str) -> bool {
    flow.starts_with(UNDER_TEST)
}

fn label(labels: &[(String, String)]) -> String {
    labels.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ")
}

/// A cell, of the medians over the runs.
fn shown(runs: &[RunReport], cell: Cell) -> String {
    let over = |value: &dyn Fn(&RunReport) -> f64| median(runs.iter().map(value).collect()).unwrap_or(f64::NAN);
    let delay = over(&|run| mean(run, |flow| flow.queueing_p95));
    let loss = over(&|run| 100.0 * mean(run, |flow| flow.loss));
    match cell {
        Cell::Goodput => {
            format!("{}; {delay:.0} ms, {loss:.1} %", three_digits(over(&|run| goodput(run, is_under_test))))
        }
        Cell::Jain => format!("{:.2}; {delay:.0} ms, {loss:.1} %", over(&|run| run.jain.unwrap_or(f64::NAN))),
        Cell::Share => format!("{:.2}", over(&|run| goodput(run, is_under_test) / goodput(run, |_| true))),
        Cell::Completion => {
            let time = over(&|run| tested(run).find_map(|flow| flow.fct_mean).unwrap_or(f64::NAN));
            format!("{time:.0} ms, {loss:.1} %")
        }
    }
}

fn tested(run: &RunReport) -> impl Iterator<Item = &FlowReport> {
    run.flows.iter().filter(|flow| is_under_test(&flow.name))
}

/// The mean of a value over the flows under test.
fn mean(run: &RunReport, value: fn(&FlowReport) -> f64) -> f64 {
    let flows: usize = tested(run).map(|flow| flow.count).sum();
    tested(run).map(|flow| flow.count as f64 * value(flow)).sum::<f64>() / flows as f64
}

/// The sum of the goodput of the flows with such names, in Mbit/s.
fn goodput(run: &RunReport, is_counted: fn(&str) -> bool) -> f64 {
    run.flows.iter().filter(|flow| is_counted(&flow.name)).map(|flow| flow.goodput).sum()
}

/// With three digits, without zeros behind them.
fn three_digits(value: f64) -> String {
    let behind = (2.0 - value.abs().max(f64::MIN_POSITIVE).log10().floor()).max(0.0);
    let scale = 10f64.powf(behind);
    format!("{}", (value * scale).round() / scale)
}

#[cfg(test)]
mod tests {
    use super::three_digits;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.4738, 1.0, 19.04, 98.36, 975.4, 14221.3].map(three_digits);
        assert_eq!(shown, ["0.474", "1", "19", "98.4", "975", "14221"]);
    }
}
