//! The chart: goodput over time, one line for each controller.

use super::outcome::goodput_series;
use super::report::Report;
use pcc_lab::plot::{Axis, Colour, Curve, Drawing, GREY, Mark, Panel, PlotError, colour};
use pcc_quic::Algorithm;

/// Each controller always has the same colour, the default ones those that differ most.
fn colour_of(algorithm: Algorithm) -> Colour {
    let first = [Algorithm::default(), Algorithm::Cubic, Algorithm::Bbr3];
    let order = first.into_iter().chain(Algorithm::all().filter(|other| !first.contains(other)));
    colour(order.into_iter().position(|other| other == algorithm).unwrap_or_default())
}

/// Draws the median runs as SVG.
///
/// # Errors
///
/// When plotters refuses, which it does not for the finite numbers of a report.
pub fn svg(report: &Report<'_>) -> Result<String, PlotError> {
    let path = report.path;
    let seconds = report.duration.as_secs_f64();
    // What happens within a round trip is bursts, and hides what the controller does.
    let step = report.step().max(path.rtt);
    let runs = report.medians().into_iter().map(|run| Curve {
        label: format!("{}: {}", run.algorithm.name(), run.goodput),
        colour: colour_of(run.algorithm),
        mark: Mark::Line,
        points: goodput_series(&run.samples, step),
    });
    let level = |what, rate: pcc::Rate, mark| Curve {
        label: format!("{what} {rate}"),
        colour: GREY,
        mark,
        points: vec![(0.0, rate.mbps()), (seconds, rate.mbps())],
    };
    let levels = [
        level("capacity", path.rate, Mark::Dashed(10, 4)),
        level("limit for data", path.goodput_limit(), Mark::Dashed(3, 4)),
    ];
    Drawing {
        title: format!("Goodput over a {} path", path.name),
        subtitle: path.to_string(),
        x: Axis::linear("seconds since the connection attempt", 0.0, seconds),
        panels: vec![Panel {
            y: Axis::linear("Mbit/s", 0.0, path.rate.mbps() * 1.08),
            curves: runs.chain(levels).collect(),
            bands: Vec::new(),
        }],
        panel_height: 400,
    }
    .svg()
}
