//! Figure files, and all runs of many of them at once.

use super::claims::{self, Finding, Verdict};
use super::file::{Figure, PlotKind};
use super::plots;
use super::select::{OF_RUN, Run, run_metric};
use crate::plot::PlotError;
use crate::report::RunReport;
use crate::run::{map_on_cores, simulate};
use crate::scenario::{Case, Plan, ScenarioError};
use crate::sim::Outcome;
use serde::Deserialize;
use std::path::Path;
use toml::{Table, Value};

/// A figure of a paper, and the cases to run for it.
#[derive(Clone, Debug)]
pub struct Study {
    /// What the figure should show.
    pub figure: Figure,
    /// The cases to run for it.
    pub plan: Plan,
}

/// A study whose cases have all run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished<'a> {
    /// The figure and its cases.
    pub study: &'a Study,
    /// Each claim with its verdict.
    pub findings: Vec<Finding>,
    runs: Vec<Run>,
}

/// No figure has this id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("there is no figure \"{id}\"; there are {}", known.join(", "))]
pub struct UnknownFigure {
    /// The id that was asked for.
    pub id: String,
    /// All ids that there are.
    pub known: Vec<String>,
}

/// The files (name and text) of the figures with these ids in upper or lower case, or of all if none is given, in order of the ids: Allegro's
/// (A), extra ones (X), Vivace's (V). Files without a figure don't count.
///
/// # Errors
///
/// When there is no figure with one of the ids.
pub fn choose<'a>(files: &[(&'a str, &'a str)], ids: &[String]) -> Result<Vec<(&'a str, &'a str)>, UnknownFigure> {
    let mut known: Vec<(String, (&str, &str))> = files.iter().filter_map(|file| Some((id(file.1)?, *file))).collect();
    known.sort_by_key(|(id, _)| rank(id));
    // V9 means V9a and V9b, too.
    let parts = |id: &str| id.trim_end_matches(|c: char| c.is_ascii_lowercase()).to_owned();
    let is = |wanted: &str, id: &str| wanted.eq_ignore_ascii_case(id) || wanted.eq_ignore_ascii_case(&parts(id));
    if let Some(unknown) = ids.iter().find(|wanted| !known.iter().any(|(id, _)| is(wanted, id))) {
        let known = known.into_iter().map(|(id, _)| id).collect();
        return Err(UnknownFigure { id: unknown.clone(), known });
    }
    let chosen = |id: &str| ids.is_empty() || ids.iter().any(|wanted| is(wanted, id));
    Ok(known.into_iter().filter(|(id, _)| chosen(id)).map(|(_, file)| file).collect())
}

/// The id of the figure in a file, whatever else is wrong in it.
fn id(text: &str) -> Option<String> {
    let table: Table = text.parse().ok()?;
    table.get("figure")?.get("id")?.as_str().map(str::to_owned)
}

/// The order of ids: by paper, by number, by what follows.
fn rank(id: &str) -> (usize, u32, String) {
    let id = id.to_ascii_uppercase();
    let paper = ["A", "X", "V"].iter().position(|paper| id.starts_with(paper)).unwrap_or(3);
    let number = id.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    (paper, number[..end].parse().unwrap_or(0), number[end..].to_owned())
}

/// The part of a scenario file that is about a figure.
#[derive(Deserialize)]
struct FigureFile {
    figure: Option<Figure>,
}

impl Study {
    /// Reads a file with a scenario and a figure.
    ///
    /// # Errors
    ///
    /// When it can't be read, or with the first thing that is wrong in it.
    pub fn read(file: &Path) -> Result<Study, ScenarioError> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| ScenarioError::at(String::new(), format!("can't read {name}: {error}")))?;
        Study::parse(&name, &text, false)
    }

    /// Reads a scenario file with a figure; `quick` for its short version.
    ///
    /// # Errors
    ///
    /// With the first thing that is wrong in it.
    pub fn parse(file: &str, text: &str, quick: bool) -> Result<Study, ScenarioError> {
        let plan = Plan::parse(file, text, &[])?;
        let fault = |key: String, reason| ScenarioError::at(key, reason).located(file, text);
        let FigureFile { figure } =
            toml::from_str(text).map_err(|error| ScenarioError::syntax(&error).located(file, text))?;
        let Some(figure) = figure else {
            return Err(fault("figure".to_owned(), "there is no [figure]".to_owned()));
        };
        figure.check(&plan).map_err(|(key, reason)| fault(key, reason))?;
        if !quick {
            return Ok(Study { figure, plan });
        }
        let settings: Vec<(String, Value)> = plan.scenario.quick.clone().into_iter().collect();
        Ok(Study { figure, plan: Plan::parse(file, text, &settings)? })
    }

    /// How many runs it takes: cases times seeds.
    pub fn runs(&self) -> usize {
        self.plan.cases.len() * self.plan.scenario.seeds as usize
    }

    /// Seconds of all its runs, in virtual time.
    pub fn simulated_seconds(&self) -> f64 {
        let cases = self.plan.cases.iter().map(|case| case.scenario.duration.as_secs_f64());
        cases.sum::<f64>() * f64::from(self.plan.scenario.seeds)
    }

    /// Runs a case, and keeps of it what claims and plots need.
    fn run(&self, case: &Case, seed: u64) -> Result<Run, ScenarioError> {
        let mut report = simulate(case, seed, false)?;
        let plots = self.figure.plot.iter().flat_map(|plot| plot.x.iter().chain([&plot.y]));
        let needed = self.figure.claim.iter().map(|claim| &claim.metric).chain(plots);
        let metrics = needed
            .filter(|metric| metric.starts_with(OF_RUN))
            .map(|metric| (metric.clone(), run_metric(case, &report, metric)))
            .collect();
        let over_time = seed == 1 && self.figure.plot.iter().any(|plot| plot.kind == PlotKind::Time);
        if !over_time {
            report.outcome = Outcome { flows: Vec::new(), links: Vec::new() };
        }
        Ok(Run { report, metrics })
    }
}

/// Runs all cases of all studies with all their seeds on `jobs` threads, the long ones first. `progress` is called, with the number of
/// finished runs, after each.
///
/// # Errors
///
/// The first error of [`simulate`].
pub fn run<'a>(
    studies: &'a [Study],
    jobs: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Finished<'a>>, ScenarioError> {
    let mut items = Vec::new();
    for (index, study) in studies.iter().enumerate() {
        let seeds = 1..=u64::from(study.plan.scenario.seeds);
        items.extend(study.plan.cases.iter().flat_map(|case| seeds.clone().map(move |seed| (index, case, seed))));
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|a, b| cost(items[*b].1).total_cmp(&cost(items[*a].1)));
    let work = |item: &usize| {
        let (index, case, seed) = items[*item];
        studies[index].run(case, seed)
    };
    let runs = map_on_cores(&order, jobs, work, progress);
    let mut runs: Vec<(usize, Result<Run, ScenarioError>)> = order.into_iter().zip(runs).collect();
    runs.sort_by_key(|(item, _)| *item);
    let mut runs = runs.into_iter().map(|(_, run)| run);
    studies
        .iter()
        .map(|study| {
            let runs = runs.by_ref().take(study.runs()).collect::<Result<Vec<Run>, _>>()?;
            Ok(Finished { study, findings: claims::findings(&study.figure, &runs), runs })
        })
        .collect()
}

/// How long a run takes, compared with others: about as many packets as the fastest link could carry.
fn cost(case: &Case) -> f64 {
    let rates = case.scenario.link.iter().map(|link| {
        let varied = link.vary.and_then(|vary| vary.rate).map(|[_, high]| high);
        [link.rate, link.lte, varied].into_iter().flatten().map(|rate| rate.mbps()).fold(0.0, f64::max)
    });
    case.scenario.duration.as_secs_f64() * rates.fold(1.0, f64::max)
}

impl Finished<'_> {
    /// The reports of all runs.
    pub fn reports(&self) -> impl Iterator<Item = &RunReport> {
        self.runs.iter().map(|run| &run.report)
    }

    /// The plots as SVG; `None` for one of which nothing was run.
    ///
    /// # Errors
    ///
    /// When plotters refuses, which it doesn't for finite numbers.
    pub fn plots(&self) -> Result<Vec<Option<String>>, PlotError> {
        let Study { figure, plan } = self.study;
        figure.plot.iter().map(|plot| plots::draw(plot, figure, &plan.scenario, &self.runs)).collect()
    }

    /// How many claims agree.
    pub fn agreeing(&self) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == Verdict::Agrees).count()
    }
}
