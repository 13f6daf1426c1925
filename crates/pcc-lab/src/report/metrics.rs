//! The metrics of a flow, by name.

use super::data::FlowReport;

/// What tables, plots and claims can show of a flow, with its unit.
pub const METRICS: [(&str, &str); 28] = [
    ("goodput", "Mbit/s"),
    ("second-half", "Mbit/s"),
    ("share", ""),
    ("lost", ""),
    ("loss", ""),
    ("spurious", ""),
    ("marked", ""),
    ("rtt-mean", "ms"),
    ("rtt-p95", "ms"),
    ("queueing-mean", "ms"),
    ("queueing-p95", "ms"),
    ("inflation", ""),
    ("power", "Mbit/s/s"),
    ("jain", ""),
    ("transfers", ""),
    ("completed", ""),
    ("fct-mean", "ms"),
    ("fct-median", "ms"),
    ("fct-p95", "ms"),
    ("stalled", ""),
    ("convergence", "s"),
    ("deviation", "Mbit/s"),
    ("per-flow", "Mbit/s"),
    ("payload", "Mbit/s"),
    ("sender-cpu", "s/GB"),
    ("receiver-cpu", "s/GB"),
    ("pacing-error", ""),
    ("burst", "packets"),
];

impl FlowReport {
    /// A metric by its name in [`METRICS`].
    pub fn metric(&self, name: &str) -> Option<f64> {
        match name {
            "goodput" => Some(self.goodput),
            "second-half" => self.second_half,
            "per-flow" => Some(self.goodput / self.count as f64),
            "share" => self.share,
            "lost" => Some(self.lost),
            "loss" => Some(self.loss),
            // Only a sender knows.
            "spurious" => self.real.is_none().then_some(self.spurious),
            "marked" => self.marked,
            "rtt-mean" => self.rtt_mean,
            "rtt-p95" => self.rtt_p95,
            "queueing-mean" => Some(self.queueing_mean),
            "queueing-p95" => Some(self.queueing_p95),
            "inflation" => self.inflation,
            "power" => Some(self.power),
            "jain" => self.jain,
            "transfers" => self.transfers.map(|count| count as f64),
            "completed" => self.completed.map(|count| count as f64),
            "fct-mean" => self.fct_mean,
            "fct-median" => self.fct_median,
            "fct-p95" => self.fct_p95,
            "stalled" => self.stalled,
            "convergence" => self.convergence,
            "deviation" => self.deviation,
            "payload" => self.real.as_ref()?.payload,
            "sender-cpu" => self.real.as_ref()?.sender_cpu_per_gb,
            "receiver-cpu" => self.real.as_ref()?.receiver_cpu_per_gb,
            "pacing-error" => self.real.as_ref()?.pacing_error,
            "burst" => Some(self.real.as_ref()?.burst_p99 as f64),
            _ => None,
        }
    }
}
