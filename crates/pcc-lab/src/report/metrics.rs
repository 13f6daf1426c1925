//! The metrics of a flow, by name.

use super::data::{FlowReport, RealReport};

/// What tables, plots and claims can show of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name in scenarios, claims and options.
    pub name: &'static str,
    /// Empty for a number without one.
    pub unit: &'static str,
    of: fn(&FlowReport) -> Option<f64>,
}

/// All metrics, in the order in which they are shown.
pub const METRICS: [Metric; 28] = [
    metric("goodput", "Mbit/s", |flow| Some(flow.goodput)),
    metric("second-half", "Mbit/s", |flow| flow.second_half),
    metric("share", "", |flow| flow.share),
    metric("lost", "", |flow| Some(flow.lost)),
    metric("loss", "", |flow| Some(flow.loss)),
    // Only a sender knows.
    metric("spurious", "", |flow| flow.real.is_none().then_some(flow.spurious)),
    metric("marked", "", |flow| flow.marked),
    metric("rtt-mean", "ms", |flow| flow.rtt_mean),
    metric("rtt-p95", "ms", |flow| flow.rtt_p95),
    metric("queueing-mean", "ms", |flow| Some(flow.queueing_mean)),
    metric("queueing-p95", "ms", |flow| Some(flow.queueing_p95)),
    metric("inflation", "", |flow| flow.inflation),
    metric("power", "Mbit/s/s", |flow| Some(flow.power)),
    metric("jain", "", |flow| flow.jain),
    metric("transfers", "", |flow| flow.transfers.map(|count| count as f64)),
    metric("completed", "", |flow| flow.completed.map(|count| count as f64)),
    metric("fct-mean", "ms", |flow| flow.fct_mean),
    metric("fct-median", "ms", |flow| flow.fct_median),
    metric("fct-p95", "ms", |flow| flow.fct_p95),
    metric("stalled", "", |flow| flow.stalled),
    metric("convergence", "s", |flow| flow.convergence),
    metric("deviation", "Mbit/s", |flow| flow.deviation),
    metric("per-flow", "Mbit/s", |flow| Some(flow.goodput / flow.count as f64)),
    metric("payload", "Mbit/s", |flow| real(flow, |real| real.payload)),
    metric("sender-cpu", "s/GB", |flow| real(flow, |real| real.sender_cpu_per_gb)),
    metric("receiver-cpu", "s/GB", |flow| real(flow, |real| real.receiver_cpu_per_gb)),
    metric("pacing-error", "", |flow| real(flow, |real| real.pacing_error)),
    metric("burst", "packets", |flow| real(flow, |real| Some(real.burst_p99 as f64))),
];

const fn metric(name: &'static str, unit: &'static str, of: fn(&FlowReport) -> Option<f64>) -> Metric {
    Metric { name, unit, of }
}

/// What only real traffic has.
fn real(flow: &FlowReport, of: impl FnOnce(&RealReport) -> Option<f64>) -> Option<f64> {
    flow.real.as_ref().and_then(of)
}

impl FlowReport {
    /// A metric by its name in [`METRICS`]. `None` if this flow doesn't have it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let metric = METRICS.iter().find(|metric| metric.name == name)?;
        (metric.of)(self)
    }
}
