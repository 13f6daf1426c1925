//! Reports as a table for people.

use super::data::{EmulatorReport, RunReport};
use serde::Serialize;
use std::fmt;

/// A column: its heading, its metric, what to multiply by, and digits behind the point.
type Column = (&'static str, &'static str, f64, usize);

/// The columns of the table. One in which no flow has a value is left out.
const COLUMNS: [Column; 21] = [
    ("goodput Mbit/s", "goodput", 1.0, 2),
    ("2nd half", "second-half", 1.0, 2),
    ("of link %", "share", 100.0, 1),
    ("lost %", "lost", 100.0, 2),
    ("declared lost %", "loss", 100.0, 2),
    ("marked %", "marked", 100.0, 2),
    ("RTT mean ms", "rtt-mean", 1.0, 1),
    ("RTT p95 ms", "rtt-p95", 1.0, 1),
    ("queueing mean ms", "queueing-mean", 1.0, 2),
    ("queueing p95 ms", "queueing-p95", 1.0, 2),
    ("Jain", "jain", 1.0, 3),
    ("done", "completed", 1.0, 0),
    ("FCT median ms", "fct-median", 1.0, 0),
    ("FCT p95 ms", "fct-p95", 1.0, 0),
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
        Table::made(runs, false)
    }

    /// The same; where the runs of a case differ, behind each median stand the least and the most.
    pub fn with_spread(runs: &[RunReport]) -> Table {
        Table::made(runs, true)
    }

    fn made(runs: &[RunReport], spread: bool) -> Table {
        let names = runs.first().map_or(0, |first| first.case.len() + 1);
        Table { rows: rows(runs, names, spread), names, notes: notes(runs) }
    }
}

/// For people at a terminal.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", aligned(&self.rows, self.names), self.notes)
    }
}

fn rows(runs: &[RunReport], names: usize, spread: bool) -> Vec<Vec<String>> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mut rows = vec![first.case.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()];
    rows[0].push("flow".to_owned());
    rows[0].extend(COLUMNS.map(|(heading, ..)| heading.to_owned()));
    for case in of_cases(runs) {
        let labels = case[0].case.iter().map(|(_, label)| label.clone());
        for (index, flow) in case[0].flows.iter().enumerate() {
            let name = if flow.count > 1 { format!("{} x{}", flow.name, flow.count) } else { flow.name.clone() };
            let cells = COLUMNS.map(|column| cell(case, index, column, spread));
            rows.push(labels.clone().chain([name]).chain(cells).collect());
        }
    }
    for column in (names..rows[0].len()).rev() {
        if rows[1..].iter().all(|row| row[column].is_empty()) {
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    rows
}

/// What the table shows of a flow's metric in the runs of a case.
fn cell(case: &[RunReport], flow: usize, (_, metric, scale, digits): Column, spread: bool) -> String {
    let shown =
        |value: f64| if value.is_infinite() { "never".to_owned() } else { format!("{:.digits$}", value * scale) };
    // Only a simulated sender says what it declares lost.
    if metric == "loss" && case[0].flows[flow].packets.is_none() {
        return String::new();
    }
    let values = values(case, flow, metric);
    let ends = values.iter().copied().reduce(f64::min).zip(values.iter().copied().reduce(f64::max));
    let Some(median) = median(values) else {
        return if could_happen(case, flow, metric) { "never".to_owned() } else { String::new() };
    };
    let text = match of_case(case, flow, "transfers") {
        Some(transfers) if metric == "completed" => format!("{}/{transfers:.0}", shown(median)),
        _ => shown(median),
    };
    match ends.map(|(least, most)| (shown(least), shown(most))) {
        Some((least, most)) if spread && least != most => format!("{text} ({least} to {most})"),
        _ => text,
    }
}

/// Whether what happened with no seed could have happened: a flow with data all the time, beside others, over links that limit it, can come to
/// its share; a transfer can become complete.
fn could_happen(case: &[RunReport], flow: usize, metric: &str) -> bool {
    let (run, flow) = (&case[0], &case[0].flows[flow]);
    match metric {
        "convergence" => run.jain.is_some() && flow.transfers.is_none() && flow.share.is_some() && flow.goodput > 0.0,
        "fct-median" | "fct-p95" => flow.transfers.is_some_and(|transfers| transfers > 0),
        _ => false,
    }
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
    text += &identical(runs);
    text += &emulators(runs);
    for run in runs {
        let case: String = run.case.iter().map(|(name, label)| format!("{name} = {label}, ")).collect();
        if let Some(doubt) = run.doubt() {
            text += &format!("{case}seed {} doesn't count: {doubt}\n", run.seed);
        }
    }
    text
}

/// Where another seed gave the same: seeds then say nothing about chance.
fn identical(runs: &[RunReport]) -> String {
    let cases: Vec<&[RunReport]> = of_cases(runs).filter(|case| case.len() > 1 && case[0].emulator.is_none()).collect();
    let same = cases.iter().filter(|case| case.iter().all(|run| run.flows == case[0].flows)).count();
    let cases = match same {
        0 => return String::new(),
        _ if same == cases.len() => "All".to_owned(),
        _ => format!("In {same} of {} cases all", cases.len()),
    };
    format!(
        "{cases} seeds gave the same result: nothing there is random. Add jitter or hosts: see \"Phase effects\" in docs/scenarios.md\n"
    )
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
    median(values(case, flow, metric))
}

/// A flow's metric in each of the runs of a case that count.
fn values(case: &[RunReport], flow: usize, metric: &str) -> Vec<f64> {
    let values: Vec<Option<f64>> = counting(case).map(|run| run.flows.get(flow)?.metric(metric)).collect();
    // What didn't happen with a seed, though it did with another, comes last: it would have taken for ever.
    let never = MAY_NEVER_HAPPEN.contains(&metric) && values.iter().any(Option::is_some);
    values.into_iter().flat_map(|value| value.or(never.then_some(f64::INFINITY))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::simulate;
    use crate::scenario::Plan;

    const LINK: &str = "[[link]]\nrate = '10mbit'\ndelay = '10ms'\nqueue = '30kB'\n";

    /// The cell of the first flow in the column with this heading.
    fn cell(table: &Table, heading: &str) -> Option<String> {
        let column = table.rows[0].iter().position(|cell| cell == heading)?;
        Some(table.rows[1][column].clone())
    }

    fn runs(scenario: &str, seeds: std::ops::RangeInclusive<u64>) -> Vec<RunReport> {
        let plan = Plan::parse("x.toml", scenario, &[]).unwrap();
        seeds.map(|seed| simulate(&plan.cases[0], seed, false).unwrap()).collect()
    }

    #[test]
    fn no_two_columns_are_called_the_same() {
        let headings = std::collections::BTreeSet::from_iter(COLUMNS.map(|(heading, ..)| heading));
        assert_eq!(headings.len(), COLUMNS.len(), "{headings:?}");
    }

    #[test]
    fn what_links_lose_is_lost_and_not_what_a_sender_believes() {
        let all = format!("duration = '2s'\n{LINK}loss = '100%'\n[[flow]]\ncontroller = 'cubic'");
        let table = Table::of(&runs(&all, 1..=1));
        assert_eq!(cell(&table, "lost %").as_deref(), Some("100.00"));
        assert_eq!(cell(&table, "declared lost %").as_deref(), Some("0.00"));
        let late = format!(
            "duration = '5s'\n{LINK}reordering = {{ probability = '5%', delay = '10ms' }}\n[[flow]]\ncontroller = 'bbr1'\nsize = '1MB'"
        );
        let run = runs(&late, 1..=1).remove(0);
        let packets = run.flows[0].packets.unwrap();
        assert!(packets.declared_lost > packets.fates.lost && packets.spurious > 0, "{packets:?}");
        let json = serde_json::to_value(&run).unwrap();
        let count = |key: &str| json["flows"][0]["packets"][key].as_u64().unwrap();
        assert_eq!(
            count("on_the_way_at_start") + count("sent"),
            count("arrived") + count("lost") + count("on_the_way_at_end")
        );
    }

    #[test]
    fn transfers_that_are_not_complete_show() {
        let slow = format!("duration = '2s'\n{LINK}[[flow]]\ncontroller = 'cubic'\nsize = '100MB'");
        let table = Table::of(&runs(&slow, 1..=1));
        assert_eq!(cell(&table, "done").as_deref(), Some("0/1"));
        assert_eq!(cell(&table, "FCT median ms").as_deref(), Some("never"));
    }

    #[test]
    fn what_never_converges_says_so() {
        let flows = "[[flow]]\ncontroller = 'cubic'\n[[flow]]\ncontroller = 'scavenger'\n";
        let table = Table::of(&runs(&format!("duration = '12s'\n{LINK}{flows}"), 1..=1));
        assert_eq!(cell(&table, "converged s").as_deref(), Some("never"), "{table}");
        let alone = Table::of(&runs(&format!("duration = '1s'\n{LINK}[[flow]]\ncontroller = 'cubic'"), 1..=1));
        assert_eq!(cell(&alone, "converged s"), None, "with nobody else there is nothing to converge to");
    }

    #[test]
    fn seeds_that_change_nothing_are_noted_and_others_have_a_spread() {
        let flow = "[[flow]]\ncontroller = 'cubic'";
        let same = Table::with_spread(&runs(&format!("duration = '2s'\n{LINK}{flow}"), 1..=3));
        assert!(same.notes.contains("All seeds gave the same result"), "{same}");
        assert!(!cell(&same, "goodput Mbit/s").unwrap().contains("to"));
        let differ = runs(&format!("duration = '2s'\n{LINK}loss = '1%'\n{flow}"), 1..=3);
        assert!(!Table::of(&differ).notes.contains("the same result"));
        let cell = cell(&Table::with_spread(&differ), "goodput Mbit/s").unwrap();
        assert!(cell.contains(" (") && cell.contains(" to "), "{cell}");
    }

    #[test]
    fn nothing_is_counted_of_a_flow_that_ended_before_the_measurement() {
        let queue = LINK.replace("'30kB'", "{ kind = 'fq-codel', limit = '1000 packets', ecn = true }");
        let ended = format!("duration = '4s'\nmeasure-from = '2s'\n{queue}[[flow]]\ncontroller = 'dctcp'\nstop = '1s'");
        assert_eq!(runs(&ended, 1..=1)[0].flows[0].marked, None);
    }

    #[test]
    fn a_policer_limits_what_a_link_can_carry() {
        let link = LINK.replace("'10mbit'", "'100mbit'") + "policer = { rate = '10mbit', burst = '30kB' }\n";
        let run = runs(&format!("duration = '5s'\n{link}[[flow]]\ncontroller = 'bbr1'"), 1..=1).remove(0);
        assert!(run.flows[0].share.unwrap() > 0.8 && run.links[0].utilisation.unwrap() > 0.8, "{:?}", run.flows[0]);
    }
}
