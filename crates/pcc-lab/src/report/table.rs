//! Reports as a table for people.

use super::data::{EmulatorReport, RunReport};
use serde::Serialize;
use std::fmt;

/// A column: its heading, its metric, what to multiply by, and digits behind the point.
type Column = (&'static str, &'static str, f64, usize);

/// The columns of the table. One in which no flow has a value is left out.
const COLUMNS: [Column; 20] = [
    ("goodput Mbit/s", "goodput", 1.0, 2),
    ("2nd half", "second-half", 1.0, 2),
    ("of link %", "share", 100.0, 1),
    ("lost %", "loss", 100.0, 2),
    ("marked %", "marked", 100.0, 2),
    ("RTT mean ms", "rtt-mean", 1.0, 1),
    ("p95", "rtt-p95", 1.0, 1),
    ("queueing mean ms", "queueing-mean", 1.0, 2),
    ("p95", "queueing-p95", 1.0, 2),
    ("Jain", "jain", 1.0, 3),
    ("done", "completed", 1.0, 0),
    ("FCT median ms", "fct-median", 1.0, 0),
    ("p95", "fct-p95", 1.0, 0),
    ("stalled %", "stalled", 100.0, 1),
    ("converged s", "convergence", 1.0, 0),
    ("payload Mbit/s", "payload", 1.0, 2),
    ("sender CPU s/GB", "sender-cpu", 1.0, 2),
    ("receiver CPU", "receiver-cpu", 1.0, 2),
    ("pacing error %", "pacing-error", 100.0, 2),
    ("burst p99", "burst", 1.0, 0),
];

/// Metrics of what may never happen in a run.
const MAY_NEVER_HAPPEN: [&str; 5] = ["convergence", "deviation", "fct-mean", "fct-median", "fct-p95"];

/// Many runs as a table.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// The headings, then a line for each case and flow, with medians over the seeds; all of the same length.
    pub rows: Vec<Vec<String>>,
    /// How many of the first columns are names.
    pub names: usize,
    /// What is said below it, line by line.
    pub notes: String,
}

impl Table {
    /// The table of runs, of which the seeds of a case come one after the other.
    ///
    /// A run on real traffic that doesn't count is left out of a median if there are others, and named in the notes.
    pub fn of(runs: &[RunReport]) -> Table {
        let names = runs.first().map_or(0, |first| first.case.len() + 1);
        Table { rows: rows(runs, names), names, notes: notes(runs) }
    }
}

/// For people at a terminal.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", aligned(&self.rows, self.names), self.notes)
    }
}

fn rows(runs: &[RunReport], names: usize) -> Vec<Vec<String>> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mut rows = vec![first.case.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()];
    rows[0].push("flow".to_owned());
    rows[0].extend(COLUMNS.map(|(heading, ..)| heading.to_owned()));
    for case in of_cases(runs) {
        let labels = case[0].case.iter().map(|(_, label)| label.clone());
        for (index, flow) in case[0].flows.iter().enumerate() {
            let name = if flow.count > 1 { format!("{} x{}", flow.name, flow.count) } else { flow.name.clone() };
            let value = |(_, metric, scale, digits): Column| match of_case(case, index, metric) {
                Some(value) if value.is_infinite() => "never".to_owned(),
                Some(value) => format!("{:.digits$}", value * scale),
                None => String::new(),
            };
            rows.push(labels.clone().chain([name]).chain(COLUMNS.map(value)).collect());
        }
    }
    for column in (names..rows[0].len()).rev() {
        if rows[1..].iter().all(|row| row[column].is_empty()) {
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    rows
}

fn of_cases(runs: &[RunReport]) -> impl Iterator<Item = &[RunReport]> {
    runs.chunk_by(|a, b| a.case == b.case)
}

fn notes(runs: &[RunReport]) -> String {
    let mut text = String::new();
    for case in of_cases(runs) {
        if let Some(jain) = median(case.iter().filter_map(|run| run.jain).collect()) {
            let labels: String = case[0].case.iter().map(|(name, label)| format!("{name} = {label}, ")).collect();
            text += &format!("{labels}Jain's index of all flows: {jain:.3}\n");
        }
    }
    text += &emulators(runs);
    for run in runs {
        let case: String = run.case.iter().map(|(name, label)| format!("{name} = {label}, ")).collect();
        if let Some(doubt) = run.doubt() {
            text += &format!("{case}seed {} doesn't count: {doubt}\n", run.seed);
        }
    }
    text
}

/// How the emulator did at worst in the runs that count, if there are any.
fn emulators(runs: &[RunReport]) -> String {
    let counted = runs.iter().filter(|run| run.counts()).filter_map(|run| run.emulator.as_ref());
    let worst = |part: fn(&EmulatorReport) -> f64| counted.clone().map(part).reduce(f64::max);
    let (Some(p50), Some(p99)) = (worst(|emulator| emulator.lateness_p50), worst(|emulator| emulator.lateness_p99))
    else {
        return String::new();
    };
    let cpu = worst(|emulator| emulator.cpu).unwrap_or(0.0) * 100.0;
    format!(
        "The emulator was late by at most {p50:.0} us (p50) and {p99:.0} us (p99), and took at most {cpu:.0} % of a processor.\n"
    )
}

/// The median of a flow's metric over the runs of a case that count.
pub(super) fn of_case(case: &[RunReport], flow: usize, metric: &str) -> Option<f64> {
    let values: Vec<Option<f64>> = counting(case).map(|run| run.flows.get(flow)?.metric(metric)).collect();
    // What didn't happen with a seed, though it did with another, comes last: it would have taken for ever.
    let never = MAY_NEVER_HAPPEN.contains(&metric) && values.iter().any(Option::is_some);
    median(values.into_iter().flat_map(|value| value.or(never.then_some(f64::INFINITY))).collect())
}

/// The runs of a case that count, or all of them if none does.
fn counting(case: &[RunReport]) -> impl Iterator<Item = &RunReport> {
    let any = case.iter().any(RunReport::counts);
    case.iter().filter(move |run| !any || run.counts())
}

/// Rows of the same length as lines of text; the first `left` columns begin at the left, the others end at the right.
pub fn aligned(rows: &[Vec<String>], left: usize) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, &width))| {
                    if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The median; of an even number the mean of the two in the middle. `None` for none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}
