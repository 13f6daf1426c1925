//! What a PCC controller tried, and what it decided.

use crate::plot::axis::Axis;
use crate::plot::colour::{Colour, INK, colour};
use crate::plot::drawing::{Curve, Mark, Panel};
use crate::plot::series::thinned;
use pcc::{Event, Phase, Role, Time};
use plotters::style::RGBColor;

/// Backgrounds of the phases; probing has none.
const STARTING: Colour = RGBColor(0xfd, 0xf0, 0xd5);
const MOVING: Colour = RGBColor(0xe3, 0xf1, 0xea);
/// Phases that are shorter than such a part of the run aren't seen.
const COLUMNS: f64 = 800.0;

/// The base rate as steps, monitor intervals as marks at their start and rate, and phases as background.
pub fn panel(name: &str, events: &[Event], line: Colour, seconds: f64) -> Panel {
    let [mut up, mut down, mut moves] = [const { Vec::new() }; 3];
    let mut base = Vec::new();
    for event in events {
        match event {
            Event::Interval { role, result, .. } => {
                let point = (at(result.start), result.rate.mbps());
                match role {
                    Role::Probe { faster: true, .. } => up.push(point),
                    Role::Probe { faster: false, .. } => down.push(point),
                    Role::Move | Role::Start => moves.push(point),
                    _ => {}
                }
            }
            Event::Decision { time, from, to, .. } => base.push((at(*time), from.mbps(), to.mbps())),
            _ => {}
        }
    }
    let last = base.last().map(|(_, _, to)| (seconds, *to));
    let steps = thinned(base).into_iter().flat_map(|(time, from, to)| [(time, from), (time, to)]).chain(last).collect();
    let y = Axis::fitting(format!("{name}, Mbit/s"), false, [&up, &down].into_iter().flatten().map(|point| point.1));
    let marks =
        |label: &str, colour, mark, points| Curve { label: label.to_owned(), colour, mark, points: thinned(points) };
    let curves = vec![
        Curve { label: "base rate".to_owned(), colour: line, mark: Mark::Line, points: steps },
        marks("probe up", colour(2), Mark::Up, up),
        marks("probe down", colour(1), Mark::Down, down),
        marks("start, move", INK, Mark::Dots, moves),
    ];
    let mut panel = Panel { y, curves, bands: bands(events, seconds) };
    panel.curves.retain(|curve| !curve.points.is_empty());
    panel
}

fn at(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64()
}

/// Where the controller was starting or moving.
fn bands(events: &[Event], seconds: f64) -> Vec<(f64, f64, Colour)> {
    let mut bands = Vec::new();
    let first = events.iter().find_map(|event| match event {
        Event::Interval { result, .. } => Some(at(result.start)),
        _ => None,
    });
    let (mut since, mut colour) = (first.unwrap_or(0.0), Some(STARTING));
    let changes = events.iter().filter_map(|event| match event {
        Event::Phase { time, phase, .. } => Some((at(*time), Some(*phase))),
        _ => None,
    });
    for (time, phase) in changes.chain([(seconds, None)]) {
        if let Some(colour) = colour.filter(|_| time - since >= seconds / COLUMNS) {
            bands.push((since, time, colour));
        }
        since = time;
        colour = match phase {
            Some(Phase::Starting) => Some(STARTING),
            Some(Phase::Moving) => Some(MOVING),
            _ => None,
        };
    }
    bands
}
