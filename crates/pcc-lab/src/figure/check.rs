//! What is wrong with a `[figure]`: names of what isn't there.

use super::file::{Figure, Plot, PlotKind};
use super::select::{OF_RUN, Quantity, jain_window, labels};
use crate::report::METRICS;
use crate::scenario::Plan;

/// The key, such as `figure.claim.0.metric`, and the reason.
type Fault = (String, String);

impl Figure {
    /// Checks that all that plots and claims name is there, when all cases of `plan` are run.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), Fault> {
        for (index, claim) in self.claim.iter().enumerate() {
            let at = |(key, reason): Fault| (format!("figure.claim.{index}.{key}"), reason);
            check(&claim.quantity(), "metric", plan).map_err(at)?;
            if claim.min.is_none() && claim.max.is_none() {
                return Err(at(("text".to_owned(), "a claim needs min, max or both".to_owned())));
            }
        }
        for (index, plot) in self.plot.iter().enumerate() {
            plot.check(plan).map_err(|(key, reason)| (format!("figure.plot.{index}.{key}"), reason))?;
        }
        Ok(())
    }
}

impl Plot {
    fn check(&self, plan: &Plan) -> Result<(), Fault> {
        check(&self.quantity(), "y", plan)?;
        match (self.kind, &self.x) {
            (PlotKind::Lines, Some(sweep)) => check_sweep("x", sweep, plan)?,
            (PlotKind::Lines, None) => return Err(("x".to_owned(), "lines need a sweep along the x axis".to_owned())),
            (PlotKind::Scatter, Some(name)) => check_metric("x", name)?,
            (PlotKind::Scatter, None) => {
                return Err(("x".to_owned(), "a scatter plot needs a metric along the x axis".to_owned()));
            }
            (PlotKind::Cdf | PlotKind::Time, Some(_)) => {
                return Err(("x".to_owned(), "this kind of plot has a fixed x axis".to_owned()));
            }
            (PlotKind::Cdf | PlotKind::Time, None) => {}
        }
        self.series.as_ref().map_or(Ok(()), |sweep| check_sweep("series", sweep, plan))
    }
}

fn check(quantity: &Quantity<'_>, metric_key: &str, plan: &Plan) -> Result<(), Fault> {
    check_metric(metric_key, quantity.metric)?;
    for (key, flow) in [("flow", quantity.flow), ("over-flow", quantity.over_flow)] {
        let known: Vec<String> = plan.cases.iter().flat_map(|case| case.scenario.flow_names()).collect();
        let known = || known.iter().map(String::as_str);
        if let Some(flow) = flow.filter(|flow| !known().any(|known| known == *flow)) {
            return Err(unknown(key, "flow", flow, known()));
        }
    }
    for (key, table) in [("where", Some(quantity.only)), ("over", quantity.over)] {
        for (sweep, wanted) in table.into_iter().flatten() {
            check_sweep(key, sweep, plan)?;
            let all = plan.cases.iter().flat_map(|case| &case.labels).filter(|(name, _)| name == sweep);
            let known: Vec<&str> = all.map(|(_, label)| label.as_str()).collect();
            if let Some(label) = labels(wanted).find(|label| !known.contains(&label.as_str())) {
                return Err(unknown(&format!("{key}.{sweep}"), "label", &label, known));
            }
        }
    }
    Ok(())
}

fn check_metric(key: &str, name: &str) -> Result<(), Fault> {
    let known = METRICS.iter().map(|metric| metric.name);
    if known.clone().any(|known| known == name) || ["run-goodput", "run-jain"].contains(&name) {
        return Ok(());
    }
    if name.starts_with(OF_RUN) && jain_window(name).is_some() {
        return Ok(());
    }
    Err(unknown(
        key,
        "metric",
        name,
        known.chain(["run-goodput", "run-jain", "run-jain-5s (or another window of at least 100ms)"]),
    ))
}

fn check_sweep(key: &str, name: &str, plan: &Plan) -> Result<(), Fault> {
    let known: Vec<&str> = plan.scenario.sweep.iter().map(|sweep| sweep.name.as_str()).collect();
    if known.contains(&name) { Ok(()) } else { Err(unknown(key, "sweep", name, known)) }
}

fn unknown<'a>(key: &str, what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Fault {
    let mut names: Vec<&str> = Vec::new();
    for name in known {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    (key.to_owned(), format!("there is no {what} \"{name}\"; there are {known}"))
}
