//! Plots as SVG: panels one above the other that share their x axis.

mod axis;
mod draw;
mod series;
mod timeline;

pub use axis::Axis;
pub use series::{binned, envelope};
pub use timeline::timeline;

use plotters::style::RGBColor;

/// A colour of a plot.
pub type Colour = RGBColor;

/// Text and what matters most.
pub const INK: Colour = RGBColor(0x22, 0x22, 0x22);
/// Axes, and what curves are compared with.
pub const GREY: Colour = RGBColor(0x6b, 0x6b, 0x6b);

/// How many colours there are to tell curves apart.
pub const COLOURS: usize = 7;

/// The palette of Okabe and Ito (2008), which people with any colour vision can tell apart, without its yellow.
const PALETTE: [Colour; COLOURS] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
];

/// The colour of the curve with this index; they repeat.
pub fn colour(index: usize) -> Colour {
    PALETTE[index % PALETTE.len()]
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// What it shows.
    pub title: String,
    /// Under what conditions.
    pub subtitle: String,
    /// The axis that all panels share.
    pub x: Axis,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// The height of a panel in pixels, without its legend.
    pub panel_height: u32,
}

/// One of the panels of a plot.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its own axis.
    pub y: Axis,
    /// What it shows; the first is drawn last, on top of the others.
    pub curves: Vec<Curve>,
    /// Where the background is coloured: from and to on the x axis.
    pub bands: Vec<(f64, f64, Colour)>,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the legend calls it; empty for a curve that isn't in it.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
    /// How it is drawn.
    pub mark: Mark,
    /// On both axes.
    pub points: Vec<(f64, f64)>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line.
    Line,
    /// A thin line.
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
pub struct PlotError(String);
