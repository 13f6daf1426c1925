//! From a run to what is measured of it.

use super::case::GauntletCase;
use super::dice::rounded;
use super::metric::Metric;
use crate::report::RunReport;
use crate::sim::{BIN, Distribution, FlowOutcome, PACKET_BYTES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What was measured, to so many digits: few enough that a reader of JSON gets back the same number.
const DIGITS: usize = 6;
/// Transfers count that began in this share of the run: later ones had no time.
const COUNTED: f64 = 2.0 / 3.0;

/// What a case measures of a run of it.
pub(super) fn measure(case: &GauntletCase, run: &RunReport, duration: Duration) -> BTreeMap<Metric, f64> {
    let groups = &run.flows[..case.tested()];
    let flows = tested(case, run);
    let value = |metric: &Metric| match metric {
        Metric::Throughput => groups.iter().map(|group| group.goodput).sum(),
        Metric::Delay => {
            let waited = flows.iter().fold(Distribution::default(), |all, flow| all.with(&flow.queueing));
            millis(waited.quantile(0.95))
        }
        Metric::Loss => {
            let sum = |part: fn(&FlowOutcome) -> u64| flows.iter().map(part).sum::<u64>() as f64;
            let (lost, arrived) = (sum(|flow| flow.lost), sum(|flow| flow.delivered_bytes) / f64::from(PACKET_BYTES));
            // Not over what was sent: some of that was before the measurement, and some is on its way when the run ends.
            lost / (lost + arrived).max(1.0)
        }
        Metric::Jain => run.jain.unwrap_or(0.0),
        Metric::Share => {
            let ours = groups.iter().map(|group| group.goodput).sum::<f64>() / flows.len() as f64;
            let others = &run.flows[case.tested()];
            // Whatever is more than nothing is infinitely more; a bit per second is near enough.
            ours / (others.goodput / others.count as f64).max(1e-6)
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

/// Goodput over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// How long a window is, in seconds.
    pub window: f64,
    /// Goodput of the flows under test in one window after the other, in Mbit/s.
    pub throughput: Vec<f64>,
}

/// The most windows that a run is cut into.
const WINDOWS: u32 = 100;

/// The goodput of the flows under test over the time of a run.
pub(super) fn course(case: &GauntletCase, run: &RunReport, duration: Duration) -> Course {
    // Whole bins: goodput is not known to less.
    let window = BIN * duration.div_duration_f64(BIN * WINDOWS).ceil() as u32;
    let windows = duration.div_duration_f64(window).ceil() as u32;
    let rate = |index: u32| {
        let rates =
            tested(case, run).iter().map(|flow| flow.goodput_between(window * index, window * (index + 1)).mbps());
        rounded(rates.sum(), 3)
    };
    Course { window: window.as_secs_f64(), throughput: (0..windows).map(rate).collect() }
}

/// The flows under test.
fn tested<'a>(case: &GauntletCase, run: &'a RunReport) -> &'a [FlowOutcome] {
    &run.outcome.flows[..run.flows[..case.tested()].iter().map(|group| group.count).sum()]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
