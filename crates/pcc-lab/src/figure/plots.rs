//! The plots of a figure.

use super::file::{Figure, Plot, PlotKind, Reduce};
use super::label;
use super::select::{OF_RUN, Quantity, Run};
use crate::plot::{Axis, COLOURS, Curve, Drawing, Mark, Panel, PlotError, binned, colour};
use crate::scenario::{Scenario, shown};

/// Draws a plot as SVG; `None` if there is nothing to draw.
pub(super) fn draw(
    plot: &Plot,
    figure: &Figure,
    scenario: &Scenario,
    runs: &[Run],
) -> Result<Option<String>, PlotError> {
    let selected = plot.quantity().select(runs);
    let Some(first) = selected.first() else { return Ok(None) };
    let (x, y, curves, subtitle) = match plot.kind {
        PlotKind::Lines => lines(plot, runs),
        PlotKind::Cdf => cdf(plot, runs),
        PlotKind::Scatter => scatter(plot, runs),
        PlotKind::Time => time(first, scenario),
    };
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return Ok(None);
    }
    let title = if plot.title.is_empty() { &scenario.title } else { &plot.title };
    Drawing {
        title: title.clone(),
        subtitle: format!("{}, {}{subtitle}", figure.id, figure.source),
        x,
        panels: vec![Panel { y, curves, bands: Vec::new() }],
        panel_height: 360,
    }
    .svg()
    .map(Some)
}

type Parts = (Axis, Axis, Vec<Curve>, String);

/// The curves of a plot: for each its name, its runs, and what to take from them.
struct Group<'p, 'r> {
    name: String,
    quantity: Quantity<'p>,
    runs: Vec<&'r Run>,
}

/// One group for each label of the series' sweep, or for each `[[flow]]`.
fn groups<'p, 'r: 'p>(plot: &'p Plot, runs: &'r [Run]) -> Vec<Group<'p, 'r>> {
    let quantity = plot.quantity();
    let selected = quantity.select(runs);
    if let Some(sweep) = &plot.series {
        return distinct(selected.iter().filter_map(|run| run.label(sweep)))
            .into_iter()
            .map(|label| {
                let runs = selected.iter().copied().filter(|run| run.label(sweep) == Some(label)).collect();
                Group { name: label.to_owned(), quantity, runs }
            })
            .collect();
    }
    let flows = distinct(selected.iter().flat_map(|run| &run.report.flows).map(|flow| flow.name.as_str()));
    let one = plot.flow.is_some() || plot.y.starts_with(OF_RUN);
    let flows = flows.into_iter().filter(|name| plot.flow.as_deref().is_none_or(|flow| flow == *name));
    let group = |name: &'r str| {
        let quantity = Quantity { flow: Some(name), ..quantity };
        Group { name: name.to_owned(), quantity, runs: selected.clone() }
    };
    let groups: Vec<Group<'p, 'r>> = flows.map(group).collect();
    if one { groups.into_iter().take(1).collect() } else { groups }
}

/// Each once, in the order of their first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn curve(index: usize, label: String, mark: Mark, points: Vec<(f64, f64)>) -> Curve {
    // Colours repeat; the second time round lines are dashed.
    let mark = if index >= COLOURS && mark != Mark::Dots { Mark::Dashed(6, 4) } else { mark };
    Curve { label, colour: colour(index), mark, points }
}

/// An axis along which all of these fit.
fn fitting(label: String, log: bool, curves: &[Curve], coordinate: fn(&(f64, f64)) -> f64) -> Axis {
    Axis::fitting(label, log, curves.iter().flat_map(|curve| &curve.points).map(coordinate))
}

/// Medians of what is finite.
fn typical(quantity: &Quantity<'_>, some: &[&Run], all: &[Run]) -> Option<f64> {
    let compared: Vec<_> = some.iter().filter_map(|run| quantity.compared(run, all)).collect();
    Reduce::Median.of(&compared).filter(|value| value.is_finite())
}

fn lines(plot: &Plot, runs: &[Run]) -> Parts {
    let sweep = plot.x.as_deref().unwrap_or_default();
    let labels = distinct(runs.iter().filter_map(|run| run.label(sweep)));
    let numbers: Option<Vec<f64>> = labels.iter().map(|text| label::number(text)).collect();
    // What doesn't begin with numbers is put side by side.
    let log = plot.log_x && numbers.is_some();
    let numbers = numbers.unwrap_or_else(|| (1..=labels.len()).map(|place| place as f64).collect());
    let ticks: Vec<(f64, String)> =
        numbers.into_iter().zip(&labels).map(|(number, label)| (number, (*label).to_owned())).collect();
    let line = |(index, group): (usize, Group<'_, '_>)| {
        let point = |(number, label): &(f64, String)| {
            let there: Vec<&Run> =
                group.runs.iter().copied().filter(|run| run.label(sweep) == Some(label.as_str())).collect();
            Some((*number, typical(&group.quantity, &there, runs)?))
        };
        let mut points: Vec<(f64, f64)> = ticks.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve(index, group.name, Mark::Dotted, points)
    };
    let curves: Vec<Curve> = groups(plot, runs).into_iter().enumerate().map(line).collect();
    let y = fitting(plot.quantity().label(), plot.log_y, &curves, |point| point.1);
    let x = Axis::fitting(sweep, log, ticks.iter().map(|(number, _)| *number)).with_ticks(ticks);
    (x, y, curves, String::new())
}

fn cdf(plot: &Plot, runs: &[Run]) -> Parts {
    let steps = |(index, group): (usize, Group<'_, '_>)| {
        let mut values: Vec<f64> = group.runs.iter().filter_map(|run| group.quantity.of(run, runs)).collect();
        values.sort_by(f64::total_cmp);
        let share = |rank: usize| rank as f64 / values.len() as f64;
        let points =
            values.iter().enumerate().flat_map(|(rank, value)| [(*value, share(rank)), (*value, share(rank + 1))]);
        curve(index, group.name, Mark::Line, points.filter(|(value, _)| value.is_finite()).collect())
    };
    let curves: Vec<Curve> = groups(plot, runs).into_iter().enumerate().map(steps).collect();
    let x = fitting(plot.quantity().label(), plot.log_x, &curves, |point| point.0);
    (x, Axis::linear("share of the runs below", 0.0, 1.0), curves, String::new())
}

fn scatter(plot: &Plot, runs: &[Run]) -> Parts {
    let across = plot.x.as_deref().unwrap_or_default();
    let dots = |(index, group): (usize, Group<'_, '_>)| {
        let horizontal = Quantity { metric: across, over: None, over_flow: None, ..group.quantity };
        let seeds = group.runs.chunk_by(|a, b| a.report.case == b.report.case);
        let point = |seeds: &[&Run]| Some((typical(&horizontal, seeds, runs)?, typical(&group.quantity, seeds, runs)?));
        let points = seeds.filter_map(point).collect();
        curve(index, group.name, Mark::Dots, points)
    };
    let curves: Vec<Curve> = groups(plot, runs).into_iter().enumerate().map(dots).collect();
    let across = Quantity { metric: across, over: None, over_flow: None, ..plot.quantity() };
    let x = fitting(across.label(), plot.log_x, &curves, |point| point.0);
    (x, fitting(plot.quantity().label(), plot.log_y, &curves, |point| point.1), curves, String::new())
}

/// Goodput of each flow in one run.
fn time(run: &Run, scenario: &Scenario) -> Parts {
    let names = run.report.flows.iter().flat_map(|flow| {
        let number =
            move |index| if flow.count > 1 { format!("{} {}", flow.name, index + 1) } else { flow.name.clone() };
        (0..flow.count).map(number)
    });
    let flows = names.zip(&run.report.outcome.flows).enumerate();
    let curves: Vec<Curve> =
        flows.map(|(index, (name, flow))| curve(index, name, Mark::Line, binned(&flow.bins))).collect();
    let seconds = scenario.duration.as_secs_f64();
    let y = fitting("goodput, Mbit/s".to_owned(), false, &curves, |point| point.1);
    let case = if run.report.case.is_empty() { String::new() } else { format!("; {}", shown(&run.report.case)) };
    (Axis::linear("seconds", 0.0, seconds), y, curves, case)
}
