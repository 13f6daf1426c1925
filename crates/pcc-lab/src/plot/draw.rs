//! From a description to SVG.

use super::axis::Axis;
use super::colour::{Colour, GREY, INK};
use super::drawing::{Curve, Drawing, Mark, Panel, PlotError};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, KeyPointWeight, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use std::ops::Range;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failure = Box<dyn std::error::Error>;

const WIDTH: u32 = 1000;
const LEFT: i32 = 70;
const RIGHT: i32 = 30;
const HEADER: i32 = 62;
const LEGEND_ROW: i32 = 20;
/// Pixels below the last panel, for the labels of the x axis.
const X_LABELS: u32 = 42;
/// Pixels below the other panels.
const GAP: u32 = 10;
/// The width of a character of a legend, about.
const CHARACTER: i32 = 8;
/// The length in pixels of the line before a label of the legend.
const SAMPLE: i32 = 22;
const FAINT: RGBColor = RGBColor(0xe6, 0xe6, 0xe6);

impl Drawing {
    /// Draws it as SVG.
    ///
    /// # Errors
    ///
    /// When plotters refuses, which it doesn't for finite numbers.
    pub fn svg(&self) -> Result<String, PlotError> {
        let mut image = String::new();
        self.draw(&mut image).map_err(|error| PlotError(error.to_string()))?;
        Ok(image)
    }

    fn draw(&self, image: &mut String) -> Result<(), Failure> {
        let legends: Vec<Legend<'_>> = self.panels.iter().map(Legend::of).collect();
        let heights = legends.iter().map(|legend| legend.height() + self.panel_height as i32 + GAP as i32);
        let height = HEADER + heights.clone().sum::<i32>() + X_LABELS as i32;
        let root = SVGBackend::with_string(image, (WIDTH, height as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw_text(&self.title, &text(22, INK), (LEFT, 14))?;
        root.draw_text(&self.subtitle, &text(14, GREY), (LEFT, 42))?;
        let mut top = HEADER;
        for (index, ((panel, legend), height)) in self.panels.iter().zip(&legends).zip(heights).enumerate() {
            legend.draw(&root, top)?;
            let last = index + 1 == self.panels.len();
            let below = if last { X_LABELS } else { 0 };
            let plot = (WIDTH, (height - legend.height()) as u32 + below);
            let area = root.clone().shrink((0, top + legend.height()), plot);
            panel.draw(&area, &self.x, GAP + below, last)?;
            top += height;
        }
        root.present()?;
        Ok(())
    }
}

fn text(size: u32, colour: Colour) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour)
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (first, last): (i32, i32)) -> i32 {
        first + ((position - self.low) / (self.high - self.low) * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight() {
            KeyPointWeight::Bold => self.ticks.iter().map(|(position, _)| *position).collect(),
            KeyPointWeight::Any => Vec::new(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, position: &f64) -> String {
        self.tick(*position)
    }
}

type Context<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

impl Panel {
    fn draw(&self, area: &Area<'_>, x: &Axis, below: u32, numbered: bool) -> Result<(), Failure> {
        let mut chart = ChartBuilder::on(area)
            .margin_right(RIGHT)
            .margin_left(10)
            .x_label_area_size(below)
            .y_label_area_size(LEFT - 10)
            .build_cartesian_2d(x.clone(), self.y.clone())?;
        for (from, to, colour) in &self.bands {
            let corners = [(from.max(x.low), self.y.low), (to.min(x.high), self.y.high)];
            chart.draw_series([Rectangle::new(corners, colour.filled())])?;
        }
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(FAINT)
            .light_line_style(TRANSPARENT)
            .axis_style(GREY)
            .label_style(text(13, GREY))
            .axis_desc_style(text(14, INK))
            .x_desc(if numbered { x.label.as_str() } else { "" })
            .y_desc(&self.y.label)
            .x_label_formatter(&|position| if numbered { x.tick(*position) } else { String::new() })
            .draw()?;
        self.curves.iter().rev().try_for_each(|curve| curve.draw(&mut chart, x, &self.y))
    }
}

impl Curve {
    fn draw(&self, chart: &mut Context<'_, '_>, x: &Axis, y: &Axis) -> Result<(), Failure> {
        // What is off the scale is shown at its end.
        let place = |(a, b): &(f64, f64)| {
            let (a, b) = (x.position(*a)?, y.position(*b)?);
            (x.low..=x.high).contains(&a).then(|| (a, b.clamp(y.low, y.high)))
        };
        let points: Vec<(f64, f64)> = self.points.iter().filter_map(place).collect();
        let colour = self.colour;
        match self.mark {
            Mark::Line => drop(chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?),
            Mark::Thin => drop(chart.draw_series(LineSeries::new(points, colour.mix(0.6).stroke_width(1)))?),
            Mark::Dashed(dash, gap) => {
                let line = DashedLineSeries::new(points, dash, gap, colour.stroke_width(1));
                chart.draw_series(line)?;
            }
            Mark::Dotted => {
                chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
                chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
            }
            Mark::Dots => {
                chart.draw_series(points.into_iter().map(|point| Circle::new(point, 3, colour.mix(0.7).filled())))?;
            }
            Mark::Up => {
                chart.draw_series(points.into_iter().map(|point| TriangleMarker::new(point, 4, colour.filled())))?;
            }
            Mark::Down => {
                let upside_down =
                    |point| EmptyElement::at(point) + Polygon::new(vec![(-3, -2), (3, -2), (0, 3)], colour.filled());
                chart.draw_series(points.into_iter().map(upside_down))?;
            }
        }
        Ok(())
    }
}

/// The labels of a panel's curves, in rows above it.
struct Legend<'a> {
    /// Curves with their row and where they begin in it.
    entries: Vec<(&'a Curve, i32, i32)>,
}

impl Legend<'_> {
    fn of(panel: &Panel) -> Legend<'_> {
        let (mut row, mut left) = (0, LEFT);
        let mut entries = Vec::new();
        for curve in panel.curves.iter().filter(|curve| !curve.label.is_empty()) {
            let width = SAMPLE + CHARACTER * (curve.label.chars().count() as i32 + 3);
            if left > LEFT && left + width > WIDTH as i32 - RIGHT {
                (row, left) = (row + 1, LEFT);
            }
            entries.push((curve, row, left));
            left += width;
        }
        Legend { entries }
    }

    fn height(&self) -> i32 {
        self.entries.last().map_or(6, |(_, row, _)| (row + 1) * LEGEND_ROW + 6)
    }

    fn draw(&self, root: &Area<'_>, top: i32) -> Result<(), Failure> {
        for (curve, row, left) in &self.entries {
            let (left, middle) = (*left, top + row * LEGEND_ROW + LEGEND_ROW / 2);
            let (begin, centre, end) = ((left, middle), (left + SAMPLE / 2, middle), (left + SAMPLE, middle));
            let colour = curve.colour;
            match curve.mark {
                Mark::Line => root.draw(&PathElement::new([begin, end], colour.stroke_width(3)))?,
                Mark::Thin => root.draw(&PathElement::new([begin, end], colour.stroke_width(1)))?,
                Mark::Dashed(dash, gap) => {
                    root.draw(&DashedPathElement::new([begin, end], dash, gap, colour.stroke_width(1)))?;
                }
                Mark::Dotted => {
                    root.draw(&PathElement::new([begin, end], colour.stroke_width(2)))?;
                    root.draw(&Circle::new(centre, 3, colour.filled()))?;
                }
                Mark::Dots => root.draw(&Circle::new(centre, 3, colour.filled()))?,
                Mark::Up => root.draw(&TriangleMarker::new(centre, 4, colour.filled()))?,
                Mark::Down => {
                    let corners = [(-3, -2), (3, -2), (0, 3)].map(|(x, y)| (centre.0 + x, centre.1 + y));
                    root.draw(&Polygon::new(corners, colour.filled()))?;
                }
            }
            root.draw_text(&curve.label, &text(14, INK), (left + SAMPLE + 6, middle - 8))?;
        }
        Ok(())
    }
}
