//! Which runs a claim or a curve is about, and what it takes from them.

use super::file::{Claim, Plot, Reduce};
use crate::report::{METRICS, RunReport, jain_at, median};
use crate::scenario::{Case, shown};
use toml::{Table, Value};

/// What is taken from runs: a metric of a `[[flow]]`, perhaps as a ratio.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity<'a> {
    pub metric: &'a str,
    /// The `[[flow]]`, by name; the first if it isn't given.
    pub flow: Option<&'a str>,
    /// The cases with these labels.
    pub only: &'a Table,
    pub over: Option<&'a Table>,
    pub over_flow: Option<&'a str>,
}

impl Claim {
    pub(super) fn quantity(&self) -> Quantity<'_> {
        Quantity {
            metric: &self.metric,
            flow: self.flow.as_deref(),
            only: &self.only,
            over: self.over.as_ref(),
            over_flow: self.over_flow.as_deref(),
        }
    }
}

impl Plot {
    pub(super) fn quantity(&self) -> Quantity<'_> {
        Quantity {
            metric: &self.y,
            flow: self.flow.as_deref(),
            only: &self.only,
            over: self.over.as_ref(),
            over_flow: self.over_flow.as_deref(),
        }
    }
}

/// A run, with the metrics of whole runs that its figure needs.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub report: RunReport,
    pub metrics: Vec<(String, Option<f64>)>,
}

/// Metrics of a whole run begin with this: `run-goodput`, `run-jain`, and `run-jain-1s` for windows of 1 s.
pub(super) const OF_RUN: &str = "run-";

/// Metrics that are the time until something happens, or depend on it: without a value it never did.
const NEVER: [&str; 5] = ["convergence", "deviation", "fct-mean", "fct-median", "fct-p95"];

/// The windows of `run-jain-5s` and its like.
pub(super) fn jain_window(metric: &str) -> Option<std::time::Duration> {
    let window = crate::quantity::duration(metric.strip_prefix("run-jain-")?).ok()?;
    (window >= crate::sim::BIN).then_some(window)
}

/// A metric of a whole run, which must still have its bins.
pub(super) fn run_metric(case: &Case, report: &RunReport, metric: &str) -> Option<f64> {
    match metric {
        "run-goodput" => Some(report.goodput),
        "run-jain" => report.jain,
        _ => jain_at(&report.outcome.flows, jain_window(metric)?, case.scenario.measure_from),
    }
}

impl Run {
    fn value(&self, metric: &str, flow: Option<&str>) -> Option<f64> {
        if metric.starts_with(OF_RUN) {
            return self.metrics.iter().find(|(name, _)| name == metric)?.1;
        }
        let flow = self.report.flows.iter().find(|report| flow.is_none_or(|name| report.name == name))?;
        flow.metric(metric).or(NEVER.contains(&metric).then_some(f64::INFINITY))
    }

    pub fn label(&self, sweep: &str) -> Option<&str> {
        self.report.case.iter().find(|(name, _)| name == sweep).map(|(_, label)| label.as_str())
    }

    fn has_labels(&self, only: &Table) -> bool {
        only.iter().all(|(sweep, wanted)| self.label(sweep).is_some_and(|label| labels(wanted).any(|one| one == label)))
    }

    /// Whether it is the same run but for the labels in `over`.
    fn is_base_of(&self, other: &Run, over: &Table) -> bool {
        let matches = |(sweep, label): &(String, String)| match over.get(sweep) {
            Some(wanted) => labels(wanted).any(|one| one == *label),
            None => other.label(sweep) == Some(label),
        };
        self.report.seed == other.report.seed && self.report.case.iter().all(matches)
    }
}

/// A label, or several in an array, as sweeps write them.
pub(super) fn labels(wanted: &Value) -> impl Iterator<Item = String> {
    let wanted = wanted.as_array().map_or(std::slice::from_ref(wanted), Vec::as_slice);
    wanted.iter().map(crate::scenario::label_of)
}

impl Quantity<'_> {
    /// The runs that it is about: those that there is something to compare with.
    pub fn select<'r>(&self, runs: &'r [Run]) -> Vec<&'r Run> {
        runs.iter().filter(|run| run.has_labels(self.only) && self.base(run, runs).is_some()).collect()
    }

    /// The run that a ratio is taken to; the same run if only flows are compared, or nothing is.
    fn base<'r>(&self, run: &'r Run, runs: &'r [Run]) -> Option<&'r Run> {
        self.over.map_or(Some(run), |over| runs.iter().find(|base| base.is_base_of(run, over)))
    }

    /// Its value in one of `runs`; `None` where it has none, or the run to compare with is missing.
    pub fn of(&self, run: &Run, runs: &[Run]) -> Option<f64> {
        ratio(self.compared(run, runs)?)
    }

    /// Its value in one of `runs`, and what that is compared with: 1 if it is no ratio.
    pub fn compared(&self, run: &Run, runs: &[Run]) -> Option<(f64, f64)> {
        let value = run.value(self.metric, self.flow)?;
        if self.over.is_none() && self.over_flow.is_none() {
            return Some((value, 1.0));
        }
        Some((value, self.base(run, runs)?.value(self.metric, self.over_flow.or(self.flow))?))
    }

    /// The label of its axis.
    pub fn label(&self) -> String {
        let unit = METRICS.iter().find(|metric| metric.name == self.metric).map_or("", |metric| metric.unit);
        let over: Vec<(String, String)> = self
            .over
            .into_iter()
            .flatten()
            .map(|(sweep, label)| (sweep.clone(), labels(label).collect::<Vec<_>>().join(", ")))
            .collect();
        match (over.is_empty(), self.over_flow) {
            (true, None) if unit.is_empty() => self.metric.to_owned(),
            (true, None) => format!("{}, {unit}", self.metric),
            (true, Some(flow)) => format!("{}, ratio to {flow}", self.metric),
            (false, flow) => {
                let flow = flow.map_or(String::new(), |flow| format!("{flow}, "));
                format!("{}, ratio to {flow}{}", self.metric, shown(&over))
            }
        }
    }
}

impl Reduce {
    /// One number from several values and what they are compared with; `None` from none.
    pub(super) fn of(self, compared: &[(f64, f64)]) -> Option<f64> {
        let values: Vec<f64> = compared.iter().copied().filter_map(ratio).collect();
        match self {
            Reduce::Median => median(values),
            Reduce::Mean => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
            Reduce::RatioOfMeans => {
                ratio(compared.iter().fold((0.0, 0.0), |(sum, bases), (value, base)| (sum + value, bases + base)))
            }
            Reduce::Min => values.into_iter().reduce(f64::min),
            Reduce::Max => values.into_iter().reduce(f64::max),
        }
    }
}

/// `None` where both are zero, or both infinite.
fn ratio((value, base): (f64, f64)) -> Option<f64> {
    Some(value / base).filter(|ratio| !ratio.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_means_is_not_the_mean_of_ratios() {
        let compared = [(1.0, 1.0), (9.0, 3.0)];
        assert_eq!(Reduce::Mean.of(&compared), Some(2.0));
        assert_eq!(Reduce::RatioOfMeans.of(&compared), Some(2.5));
        assert_eq!(Reduce::RatioOfMeans.of(&[(f64::INFINITY, 1.0)]), Some(f64::INFINITY), "of what never happened");
        assert_eq!(Reduce::RatioOfMeans.of(&[]), None);
    }
}
