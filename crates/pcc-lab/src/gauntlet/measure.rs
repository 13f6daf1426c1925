//! From a run to what is measured of it.

use super::case::GauntletCase;
use super::dice::rounded;
use super::metric::Metric;
use crate::report::RunReport;
use crate::sim::{Distribution, FlowOutcome};
use std::collections::BTreeMap;
use std::time::Duration;

/// What was measured, to so many digits: fewer than a JSON reader needs to give back the same number.
const DIGITS: usize = 6;
/// Transfers count that began in this share of the run: later ones had no time.
const COUNTED: f64 = 2.0 / 3.0;

/// What a case measures of a run of it. Without any packet that arrived there are no delays to speak of, and no rates to compare.
pub(super) fn measure(case: &GauntletCase, run: &RunReport, duration: Duration) -> BTreeMap<Metric, f64> {
    let groups = &run.flows[..case.tested()];
    let flows = &run.outcome.flows[..groups.iter().map(|group| group.count).sum()];
    let value = |metric: &Metric| match metric {
        Metric::Throughput => groups.iter().map(|group| group.goodput).sum(),
        Metric::Delay => {
            let waited = flows.iter().fold(Distribution::default(), |all, flow| all.with(&flow.queueing));
            millis(waited.quantile(0.95))
        }
        Metric::Loss => {
            let sum = |part: fn(&FlowOutcome) -> u64| flows.iter().map(part).sum::<u64>();
            sum(|flow| flow.lost) as f64 / sum(|flow| flow.sent).max(1) as f64
        }
        Metric::Jain => run.jain.unwrap_or(0.0),
        Metric::Share => {
            let of_others: Vec<f64> =
                run.flows[case.tested()..].iter().map(|group| group.goodput / group.count as f64).collect();
            let ours = groups.iter().map(|group| group.goodput).sum::<f64>() / flows.len() as f64;
            // Nobody got anything: none is to blame for the others' share.
            if ours == 0.0 { 0.0 } else { ours / of_others.iter().sum::<f64>().max(1e-6) }
        }
        Metric::Completion => {
            let began = |flow: &&FlowOutcome| flow.start.since(pcc::Time::ZERO) < duration.mul_f64(COUNTED);
            let times: Vec<f64> = flows.iter().filter(began).map(|flow| millis(flow.end.since(flow.start))).collect();
            if times.is_empty() { millis(duration) } else { times.iter().sum::<f64>() / times.len() as f64 }
        }
        Metric::Stalled => groups.iter().filter_map(|group| group.stalled).fold(0.0, f64::max),
    };
    case.metrics().iter().map(|metric| (*metric, rounded(value(metric), DIGITS))).collect()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
