//! Plots as SVG: panels one above the other that share their x axis.

mod axis;
mod colour;
mod draw;
mod drawing;
mod series;
mod timeline;

pub use axis::Axis;
pub(crate) use colour::COLOURS;
pub use colour::{Colour, GREY, colour};
pub use drawing::{Curve, Drawing, Mark, Panel, PlotError};
pub(crate) use series::binned;
pub(crate) use timeline::lines;
pub use timeline::timeline;
