//! What a plot consists of.

use super::axis::Axis;
use super::colour::Colour;

/// A plot: what to draw, before it becomes an SVG.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// What it shows, in a line at the top.
    pub title: String,
    /// The conditions, in a line below the title.
    pub subtitle: String,
    /// The axis that all panels share.
    pub x: Axis,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// The height of a panel in pixels, without its legend.
    pub panel_height: u32,
}

/// One of the panels of a plot.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The y axis of this panel.
    pub y: Axis,
    /// Its curves; the first is drawn last, on top of the others.
    pub curves: Vec<Curve>,
    /// Where the background is coloured: from and to on the x axis.
    pub bands: Vec<(f64, f64, Colour)>,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the legend calls it; empty for a curve that isn't in it.
    pub label: String,
    /// The colour of its line and marks.
    pub colour: Colour,
    /// How its points are drawn.
    pub mark: Mark,
    /// Its points, as values on the x and the y axis.
    pub points: Vec<(f64, f64)>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through the points.
    Line,
    /// A thin line through the points.
    Thin,
    /// A dashed line: its dashes and gaps in pixels.
    Dashed(u32, u32),
    /// A line with a dot at each point.
    Dotted,
    /// A dot at each point.
    Dots,
    /// A mark that points up at each point.
    Up,
    /// A mark that points down at each point.
    Down,
}

/// Why a plot can't be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("can't draw the plot: {0}")]
#[non_exhaustive]
pub struct PlotError(pub(super) String);
