//! The simulator beside the emulator.

use super::data::RunReport;
use super::metrics::{METRICS, Metric};
use super::table::{aligned, of_case};
use serde::Serialize;

/// A metric of a flow in the simulator and on the emulator.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Per sweep, its name and the label of its value.
    pub case: Vec<(String, String)>,
    /// The name of the flow.
    pub flow: String,
    /// The metric, one of [`METRICS`].
    pub metric: &'static str,
    /// The unit of the metric; empty for a plain number.
    pub unit: &'static str,
    /// The median over the seeds in the simulator.
    pub simulator: f64,
    /// The median over the seeds that count on the emulator.
    pub emulator: f64,
    /// How much larger the emulator's is, as a share of the simulator's; `None` where that is zero.
    pub difference: Option<f64>,
}

/// Compares runs of the same cases and flows, each with the seeds of a case one after the other. A case that only one of them has is left out.
pub fn compare(simulated: &[RunReport], emulated: &[RunReport]) -> Vec<Comparison> {
    let cases = |runs| <[RunReport]>::chunk_by(runs, |a: &RunReport, b: &RunReport| a.case == b.case);
    let mut comparisons = Vec::new();
    for emulated in cases(emulated) {
        let Some(simulated) = cases(simulated).find(|runs| runs[0].case == emulated[0].case) else { continue };
        for (index, flow) in simulated[0].flows.iter().enumerate() {
            for Metric { name: metric, unit, .. } in METRICS {
                let [ours, real] = [simulated, emulated].map(|runs| of_case(runs, index, metric));
                let (Some(simulator), Some(emulator)) = (ours, real) else { continue };
                comparisons.push(Comparison {
                    case: simulated[0].case.clone(),
                    flow: flow.name.clone(),
                    metric,
                    unit,
                    simulator,
                    emulator,
                    difference: (simulator != 0.0).then(|| emulator / simulator - 1.0),
                });
            }
        }
    }
    comparisons
}

/// Comparisons as a table for people, a line for each metric.
pub fn comparison_table(comparisons: &[Comparison]) -> String {
    let Some(first) = comparisons.first() else { return String::new() };
    let sweeps = first.case.iter().map(|(name, _)| name.clone());
    let headings = ["flow", "metric", "simulator", "emulator", "difference %"].map(str::to_owned);
    let mut rows = vec![sweeps.chain(headings).collect::<Vec<_>>()];
    for row in comparisons {
        let labels = row.case.iter().map(|(_, label)| label.clone());
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
        let difference = row.difference.map_or_else(String::new, |share| format!("{:+.1}", share * 100.0));
        let cells = [
            row.flow.clone(),
            format!("{}{unit}", row.metric),
            number(row.simulator),
            number(row.emulator),
            difference,
        ];
        rows.push(labels.chain(cells).collect());
    }
    aligned(&rows, first.case.len() + 2)
}

/// With four digits that say something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size.is_infinite() => "never".to_owned(),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Plan;

    #[test]
    fn differences_are_relative_to_the_simulator() {
        let text = "duration = '1s'\n[[link]]\nrate = '10mbit'\ndelay = '10ms'\nqueue = '30kB'\n[[flow]]\ncontroller = 'cubic'";
        let run = crate::run::simulate(&Plan::parse("x.toml", text, &[]).unwrap().cases[0], 1, false).unwrap();
        let mut other = run.clone();
        other.flows[0].goodput = run.flows[0].goodput * 1.1;
        let rows = compare(std::slice::from_ref(&run), &[other]);
        let difference = |metric| rows.iter().find(|row| row.metric == metric).unwrap().difference;
        assert!((difference("goodput").unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(difference("rtt-mean"), Some(0.0));
        assert_eq!(difference("spurious"), None, "there is none to compare with");
        assert!(!rows.iter().any(|row| row.metric == "sender-cpu"), "the simulator has none");
        let table = comparison_table(&rows);
        assert!(table.contains("+10.0") && table.starts_with("flow"), "{table}");
    }
}
