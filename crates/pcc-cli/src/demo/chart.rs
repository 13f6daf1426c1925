//! The chart: goodput over time, one line for each controller.

use super::experiment::goodput_series;
use super::report::Report;
use anyhow::anyhow;
use pcc_quic::Algorithm;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const SIZE: (u32, u32) = (1000, 560);
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GREY: RGBColor = RGBColor(0x6b, 0x6b, 0x6b);
const FAINT: RGBColor = RGBColor(0xe6, 0xe6, 0xe6);

/// Dash and gap of the line at the rate of the bottleneck, in pixels.
const CAPACITY: (u32, u32) = (10, 4);

/// Dash and gap of the line at the limit for goodput, in pixels.
const LIMIT: (u32, u32) = (3, 4);

/// From the palette of Okabe and Ito, which people with any colour vision can tell apart.
const fn colour(algorithm: Algorithm) -> RGBColor {
    match algorithm {
        Algorithm::VivaceLatency => RGBColor(0x00, 0x72, 0xb2),
        Algorithm::VivaceLoss => RGBColor(0x56, 0xb4, 0xe9),
        Algorithm::Allegro => RGBColor(0xcc, 0x79, 0xa7),
        Algorithm::Cubic => RGBColor(0xd5, 0x5e, 0x00),
        Algorithm::NewReno => RGBColor(0xe6, 0x9f, 0x00),
        Algorithm::Bbr3 => RGBColor(0x00, 0x9e, 0x73),
    }
}

/// Draws the median runs as SVG.
///
/// # Errors
///
/// When plotters refuses, which it does not for the finite numbers of a report.
pub fn svg(report: &Report<'_>) -> anyhow::Result<String> {
    let mut image = String::new();
    draw(report, SVGBackend::with_string(&mut image, SIZE))
        .map_err(|error| anyhow!("can't draw the chart: {error}"))?;
    Ok(image)
}

fn text(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour)
}

fn draw(report: &Report<'_>, backend: SVGBackend<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let path = report.path;
    root.draw_text(&format!("Goodput over a {} path", path.name), &text(24, INK), (70, 22))?;
    root.draw_text(&path.to_string(), &text(15, GREY), (70, 54))?;
    legend(report, &root)?;

    let seconds = report.duration.as_secs_f64();
    let top = path.rate.mbps() * 1.08;
    let mut chart = ChartBuilder::on(&root)
        .margin_top(112)
        .margin_right(40)
        .margin_bottom(14)
        .margin_left(14)
        .x_label_area_size(48)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..seconds, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(FAINT)
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .label_style(text(14, GREY))
        .axis_desc_style(text(15, INK))
        .x_desc("seconds since the connection attempt")
        .y_desc("Mbit/s")
        .x_labels(10)
        .y_labels(8)
        .x_label_formatter(&|x| format!("{x}"))
        .y_label_formatter(&|y| format!("{y}"))
        .draw()?;

    let limit = path.goodput_limit().mbps();
    for (level, (dash, gap)) in [(path.rate.mbps(), CAPACITY), (limit, LIMIT)] {
        chart.draw_series(DashedLineSeries::new([(0.0, level), (seconds, level)], dash, gap, GREY.stroke_width(1)))?;
    }
    // What happens within a round trip is bursts, and hides what the controller does. The first is drawn last, on top.
    let step = report.step().max(path.rtt);
    for run in report.medians().into_iter().rev() {
        let line = goodput_series(&run.samples, step);
        chart.draw_series(LineSeries::new(line, colour(run.algorithm).stroke_width(2)))?;
    }
    root.present()?;
    Ok(())
}

/// One entry for each controller, beside each other above the plot, and the two dashed lines.
fn legend<D: DrawingBackend>(
    report: &Report<'_>,
    root: &DrawingArea<D, plotters::coord::Shift>,
) -> Result<(), DrawingAreaErrorKind<D::ErrorType>> {
    let medians = report.medians();
    let width = (SIZE.0 as i32 - 110) / medians.len().max(4) as i32;
    for (i, run) in (0..).zip(&medians) {
        let x = 70 + i * width;
        root.draw(&Rectangle::new([(x, 86), (x + 22, 90)], colour(run.algorithm).filled()))?;
        root.draw_text(run.algorithm.name(), &text(15, INK), (x + 30, 79))?;
        root.draw_text(&format!("mean {}", run.goodput), &text(13, GREY), (x + 30, 97))?;
    }
    let right = Pos::new(HPos::Right, VPos::Center);
    let x = SIZE.0 as i32 - 40;
    let path = report.path;
    for (y, what, rate, (dash, gap)) in
        [(34, "capacity", path.rate, CAPACITY), (56, "limit for data", path.goodput_limit(), LIMIT)]
    {
        root.draw(&DashedPathElement::new([(x - 36, y), (x, y)], dash, gap, GREY.stroke_width(1)))?;
        root.draw_text(&format!("{what} {rate}"), &text(14, GREY).pos(right), (x - 44, y))?;
    }
    Ok(())
}
