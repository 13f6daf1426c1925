//! Figures of the papers: what a scenario's runs are compared with.
//!
//! A [`Study`] is a scenario file with a `[figure]`. [`run`] runs many of them at once; [`Finished`] has the plots, and
//! the findings about the claims; [`markdown`] writes all of it down.

mod check;
mod claims;
mod file;
mod label;
mod markdown;
mod plots;
mod select;
mod set_up;
mod study;
#[cfg(test)]
mod tests;

pub use claims::{Finding, Verdict};
pub use file::{Claim, Figure, Plot, PlotKind, Reduce};
pub use markdown::markdown;
pub use study::{Finished, Study, UnknownFigure, choose, run};
