//! `[figure]` as it is written.

use serde::Deserialize;
use toml::Table;

/// `[figure]`: a figure or table of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figure {
    /// Its row in section 7 of `docs/research-notes.md`, such as `A2`.
    pub id: String,
    /// Where it is from, such as `Allegro 2015, Fig. 4`.
    pub source: String,
    /// What the paper reports.
    pub published: String,
    /// What is different here: substitutes, assumptions.
    #[serde(default)]
    pub note: String,
    /// The plots to draw of it.
    #[serde(default)]
    pub plot: Vec<Plot>,
    /// The claims to check.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// A plot of a figure: `[[figure.plot]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plot {
    /// The kind of plot.
    pub kind: PlotKind,
    /// Its title; the scenario's if it isn't given.
    #[serde(default)]
    pub title: String,
    /// Lines: the sweep along the x axis; its labels should begin with numbers. Scatter: the metric there.
    pub x: Option<String>,
    /// The metric that it shows; goodput if it isn't given.
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

/// The kinds of plots.
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
    /// The claim in words.
    pub text: String,
    /// The value that the paper reports.
    pub published: String,
    /// The metric that is claimed something about.
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
    /// How the values of several cases and seeds become one.
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
    /// The median: half of the values are smaller.
    #[default]
    Median,
    /// The arithmetic mean.
    Mean,
    /// Of a ratio: the mean over the mean of what it is compared with.
    RatioOfMeans,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
}
