//! A run over time: rates, queues, round-trip times, and what PCC made of them.

mod decisions;

use super::axis::Axis;
use super::colour::{GREY, colour};
use super::drawing::{Curve, Drawing, Mark, Panel, PlotError};
use super::series::{binned, envelope, joined};
use crate::report::RunReport;
use crate::sim::{BIN, FlowOutcome, Sample};
use pcc::{Rate, Time};
use std::ops::Range;

/// With more flows than this, those of one `[[flow]]` share a curve.
const MAX_CURVES: usize = 8;
/// How the capacities of links are dashed, one after the other.
const DASHES: [Mark; 4] = [Mark::Dashed(10, 4), Mark::Dashed(3, 3), Mark::Dashed(16, 8), Mark::Dashed(6, 10)];
/// The most flows whose decisions are shown.
const MAX_DECIDERS: usize = 4;

/// Draws a recorded run as SVG: rates, queues and round-trip times of all flows, and the monitor intervals and decisions of the first few that
/// PCC controls.
///
/// # Errors
///
/// When plotters refuses, which it doesn't for finite numbers.
pub fn timeline(title: &str, run: &RunReport) -> Result<String, PlotError> {
    let (seconds, panels) = lines(run);
    let case = run.case.iter().map(|(name, label)| format!("{name} = {label}, "));
    let shaded = panels.iter().any(|panel| !panel.bands.is_empty());
    let bands = if shaded { "; shaded: yellow while starting, green while moving" } else { "" };
    Drawing {
        title: title.to_owned(),
        subtitle: case.chain([format!("seed {}{bands}", run.seed)]).collect(),
        x: Axis::linear("seconds", 0.0, seconds),
        panels,
        panel_height: 190,
    }
    .svg()
}

/// How many seconds a recorded run took, and its panels.
pub(crate) fn lines(run: &RunReport) -> (f64, Vec<Panel>) {
    let bins = run.outcome.links.iter().map(|link| link.queue.len());
    let bins = bins.chain(run.outcome.flows.iter().map(|flow| flow.bins.len())).max().unwrap_or(0);
    let seconds = bins as f64 * BIN.as_secs_f64();
    let flows = shown(run);
    let mut panels = vec![rates(run, &flows, bins), queues(run), round_trips(run, &flows)];
    let ours = flows.iter().enumerate().filter_map(|(index, flow)| {
        let events = run.events.get(flow.range.start).filter(|events| !events.is_empty())?;
        Some(decisions::panel(&flow.name, events, colour(index), seconds))
    });
    panels.extend(ours.take(MAX_DECIDERS));
    panels.retain(|panel| !panel.curves.is_empty());
    (seconds, panels)
}

/// One flow, or all of a `[[flow]]`.
struct Shown {
    name: String,
    /// The name of the `[[flow]]`.
    group: String,
    range: Range<usize>,
}

impl Shown {
    /// The flow of which there is a curve where there can't be one of all.
    fn first(&self) -> String {
        match self.range.len() {
            1 => self.name.clone(),
            count => format!("{}, the first of {count}", self.group),
        }
    }
}

fn shown(run: &RunReport) -> Vec<Shown> {
    let apart = run.outcome.flows.len() <= MAX_CURVES;
    let mut first = 0;
    let mut flows = Vec::new();
    for group in &run.flows {
        let range = first..first + group.count;
        first = range.end;
        match (apart, group.count) {
            (_, 0) => {}
            (_, 1) => flows.push(Shown { name: group.name.clone(), group: group.name.clone(), range }),
            (true, _) => flows.extend(range.clone().map(|index| Shown {
                name: format!("{} {}", group.name, index - range.start + 1),
                group: group.name.clone(),
                range: index..index + 1,
            })),
            (false, count) => {
                flows.push(Shown { name: format!("{} x{count}", group.name), group: group.name.clone(), range })
            }
        }
    }
    flows
}

/// Goodput of each, the rate that its controller wants (of several the first one's), and what the links can carry.
fn rates(run: &RunReport, flows: &[Shown], bins: usize) -> Panel {
    let mut curves = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        let points = binned(&sum(&run.outcome.flows[flow.range.clone()], bins));
        curves.push(Curve { label: flow.name.clone(), colour: colour(index), mark: Mark::Line, points });
    }
    let step = BIN * joined(bins) as u32;
    for (link, dashes) in run.links.iter().zip(DASHES.into_iter().cycle()) {
        let rate = |index: u32| {
            let from = Time::ZERO + step * index;
            let bytes = link.config.capacity(from, from + step)?;
            Some(((step * index + step / 2).as_secs_f64(), Rate::from_bytes_over(bytes, step).mbps()))
        };
        let points: Vec<(f64, f64)> = (0..bins.div_ceil(joined(bins)) as u32).filter_map(rate).collect();
        if !points.is_empty() {
            let label = format!("capacity{}", of_link(run, &link.name));
            curves.push(Curve { label, colour: GREY, mark: dashes, points });
        }
    }
    let y = Axis::fitting("Mbit/s", false, curves.iter().flat_map(|curve| &curve.points).map(|point| point.1 * 1.1));
    for (index, flow) in flows.iter().enumerate() {
        let points = samples(&run.outcome.flows[flow.range.start], |sample| sample.rate_mbps);
        // One of several says what all thin lines are.
        let label = match flow.range.len() {
            _ if points.is_empty() => String::new(),
            1 if index > 0 => String::new(),
            1 => "thin: wanted rate".to_owned(),
            _ => format!("wanted rate of {}", flow.first()),
        };
        curves.push(Curve { label, colour: colour(index), mark: Mark::Thin, points });
    }
    Panel { y, curves, bands: Vec::new() }
}

/// The delivered bytes of all flows together, in each of the bins.
fn sum(flows: &[FlowOutcome], bins: usize) -> Vec<u64> {
    (0..bins).map(|bin| flows.iter().filter_map(|flow| flow.bins.get(bin)).sum()).collect()
}

/// The name of a link where there are several.
fn of_link(run: &RunReport, name: &str) -> String {
    if run.links.len() > 1 { format!(" of link {name}") } else { String::new() }
}

fn queues(run: &RunReport) -> Panel {
    let queue = |(index, link): (usize, &crate::sim::LinkOutcome)| {
        let points: Vec<(f64, f64)> =
            link.queue.iter().enumerate().map(|(bin, bytes)| (end_of(bin), *bytes as f64 / 1e3)).collect();
        let label = format!("queue{}", of_link(run, &run.links[index].name));
        let ever = link.queue.iter().any(|bytes| *bytes > 0);
        // Other colours than those of the flows.
        ever.then(|| Curve { label, colour: colour(index + 6), mark: Mark::Line, points: envelope(&points) })
    };
    fitted("kB", run.outcome.links.iter().enumerate().filter_map(queue).collect())
}

/// Round-trip times. Where several flows share a curve, it shows those of the first of them.
fn round_trips(run: &RunReport, flows: &[Shown]) -> Panel {
    let rtt = |(index, flow): (usize, &Shown)| Curve {
        label: flow.first(),
        colour: colour(index),
        mark: Mark::Line,
        points: samples(&run.outcome.flows[flow.range.start], |sample| sample.rtt_ms),
    };
    fitted("RTT, ms", flows.iter().enumerate().map(rtt).collect())
}

fn fitted(label: &str, curves: Vec<Curve>) -> Panel {
    let y = Axis::fitting(label, false, curves.iter().flat_map(|curve| &curve.points).map(|point| point.1));
    Panel { y, curves, bands: Vec::new() }
}

/// What is more than zero of a flow's samples while it ran.
fn samples(flow: &FlowOutcome, value: fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    let [start, end] = [flow.start, flow.end].map(|time| time.since(Time::ZERO).as_secs_f64());
    let points = flow.samples.iter().enumerate().map(|(bin, sample)| (end_of(bin), value(sample)));
    let points: Vec<(f64, f64)> = points.filter(|(at, value)| (start..=end).contains(at) && *value > 0.0).collect();
    envelope(&points)
}

fn end_of(bin: usize) -> f64 {
    (bin + 1) as f64 * BIN.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Plan;

    fn run(flows: &str) -> RunReport {
        let link = "rate = '10mbit'\ndelay = '10ms'\nqueue = '30kB'\nschedule = [{ at = '1s', rate = '5mbit' }]";
        let text = format!("duration = '2s'\n[[link]]\n{link}\n{flows}");
        crate::run::simulate(&Plan::parse("x.toml", &text, &[]).unwrap().cases[0], 1, true).unwrap()
    }

    #[test]
    fn a_run_has_a_panel_for_each_thing_that_changes() {
        let run =
            run("[[flow]]\nname = 'a < b'\ncontroller = 'vivace-latency'\n[[flow]]\ncontroller = 'cubic'\ncount = 2");
        let svg = timeline("two seconds", &run).unwrap();
        assert_eq!(svg, timeline("two seconds", &run).unwrap());
        for part in
            ["two seconds", "a &lt; b", "cubic 2", "capacity", "queue", "RTT, ms", "probe up", "seconds", "seed 1"]
        {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn flows_without_decisions_have_no_panel_of_them_and_many_share_a_curve() {
        let run = run("[[flow]]\ncontroller = 'cubic'\ncount = 9");
        let svg = timeline("many", &run).unwrap();
        assert!(svg.contains("cubic x9") && !svg.contains("probe up"));
        for one in ["wanted rate of cubic, the first of 9", ">\ncubic, the first of 9\n"] {
            assert!(svg.contains(one), "{one}");
        }
    }

    #[test]
    fn links_and_thin_lines_can_be_told_apart() {
        let link = |name: &str| format!("[[link]]\nname = '{name}'\nrate = '10mbit'\ndelay = '10ms'\n");
        let text = format!("duration = '1s'\n{}{}[[flow]]\ncontroller = 'cubic'\ncount = 2", link("a"), link("b"));
        let run = crate::run::simulate(&Plan::parse("x.toml", &text, &[]).unwrap().cases[0], 1, true).unwrap();
        let panel = rates(&run, &shown(&run), 10);
        let mark = |label: &str| panel.curves.iter().find(|curve| curve.label == label).unwrap().mark;
        assert_ne!(mark("capacity of link a"), mark("capacity of link b"));
        assert_eq!(mark("thin: wanted rate"), Mark::Thin);
    }

    #[test]
    fn capacity_follows_the_schedule() {
        let run = run("[[flow]]\ncontroller = 'cubic'");
        let panel = rates(&run, &shown(&run), 20);
        let capacity = panel.curves.iter().find(|curve| curve.label == "capacity").unwrap();
        let rate_at = |index: usize| capacity.points[index].1.round();
        assert_eq!([rate_at(0), rate_at(9), rate_at(10), rate_at(19)], [10.0, 10.0, 5.0, 5.0]);
    }
}
