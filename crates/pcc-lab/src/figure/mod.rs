//! Figures of the papers: what a scenario's runs are compared with.
//!
//! A [`Study`] is a scenario file with a `[figure]`. [`run`] runs many of them at once; [`Finished`] has the plots, and
//! the findings about the claims; [`markdown`] writes all of it down.

mod check;
mod claims;
mod label;
mod markdown;
mod plots;
mod select;
mod set_up;
mod study;
#[cfg(test)]
mod tests;

pub use claims::{Finding, Verdict};
pub use markdown::markdown;
pub use study::{Finished, Study, UnknownFigure, choose, run};

use serde::Deserialize;
use toml::Table;

/// `[figure]`: a figure or table of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figure {
    /// Its row in SPEC, section 7, such as `A2`.
    pub id: String,
    /// Where it is from, such as `Allegro 2015, Fig. 4`.
    pub source: String,
    /// What the paper reports.
    pub published: String,
    /// What is different here: substitutes, assumptions.
    #[serde(default)]
    pub note: String,
    /// The plots.
    #[serde(default)]
    pub plot: Vec<Plot>,
    /// What should be seen.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// `[[figure.plot]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plot {
    /// The kind.
    pub kind: PlotKind,
    /// Its title; the scenario's if it isn't given.
    #[serde(default)]
    pub title: String,
    /// Lines: the sweep along the x axis; its labels should begin with numbers. Scatter: the metric there.
    pub x: Option<String>,
    /// The metric.
    #[serde(default = "goodput")]
    pub y: String,
    /// The sweep with one line for each of its values; without it there is one line for each `[[flow]]`.
    pub series: Option<String>,
    /// Only this `[[flow]]`, by name; the first if there are series and it isn't given.
    pub flow: Option<String>,
    /// Only the cases with these labels, by sweep.
    #[serde(default, rename = "where")]
    pub only: Table,
    /// As a ratio to the case with these labels, all others being the same.
    pub over: Option<Table>,
    /// As a ratio to this `[[flow]]` of the same run.
    pub over_flow: Option<String>,
    /// Whether the x axis is logarithmic.
    #[serde(default)]
    pub log_x: bool,
    /// Whether the y axis is logarithmic.
    #[serde(default)]
    pub log_y: bool,
}

fn goodput() -> String {
    "goodput".to_owned()
}

/// What a plot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A metric (the median over seeds) over the values of a sweep.
    Lines,
    /// The distribution of a metric over cases and seeds.
    Cdf,
    /// One point per case, the median over seeds: one metric over another.
    Scatter,
    /// Goodput of each flow over time, of one case.
    Time,
}

/// `[[figure.claim]]`: a number that should come out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// What it is about.
    pub text: String,
    /// What the paper has.
    pub published: String,
    /// The metric.
    pub metric: String,
    /// The `[[flow]]`, by name; the first if it isn't given.
    pub flow: Option<String>,
    /// The cases with these labels, by sweep.
    #[serde(default, rename = "where")]
    pub only: Table,
    /// As a ratio to the case with these labels, all others being the same.
    pub over: Option<Table>,
    /// As a ratio to this `[[flow]]` of the same run.
    pub over_flow: Option<String>,
    /// What becomes of several cases and seeds.
    #[serde(default)]
    pub reduce: Reduce,
    /// The least that agrees with the paper.
    pub min: Option<f64>,
    /// The most that agrees with the paper.
    pub max: Option<f64>,
    /// Why it comes out differently, where it does.
    #[serde(default)]
    pub reason: String,
}

/// How several numbers become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduce {
    /// Half are smaller.
    #[default]
    Median,
    /// The arithmetic mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}
