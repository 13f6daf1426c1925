//! From a file to the cases to run.

use super::sweep::{self, Point};
use super::{Scenario, ScenarioError};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What a scenario file asks for: all its cases.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario, without what sweeps change.
    pub scenario: Scenario,
    /// The cases, in the order of the sweeps' values; the last sweep runs fastest.
    pub cases: Vec<Case>,
}

/// One combination of the values of all sweeps.
#[derive(Clone, Debug)]
pub struct Case {
    /// Per sweep, its name and the label of its value.
    pub labels: Vec<(String, String)>,
    /// The scenario of this case.
    pub scenario: Scenario,
    /// Where relative paths begin.
    pub(super) folder: PathBuf,
}

/// The most cases of a scenario.
const MOST_CASES: usize = 100_000;

impl Plan {
    /// Reads a scenario file; `overrides` are set before anything else.
    ///
    /// # Errors
    ///
    /// When it can't be read, or with the first thing that is wrong in it.
    pub fn read(file: &Path, overrides: &[(String, Value)]) -> Result<Plan, ScenarioError> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| ScenarioError::at(String::new(), format!("can't read {name}: {error}")))?;
        Plan::parse(&name, &text, overrides)
    }

    /// Reads the text of a scenario file.
    ///
    /// # Errors
    ///
    /// With the first thing that is wrong in it.
    pub fn parse(file: &str, text: &str, overrides: &[(String, Value)]) -> Result<Plan, ScenarioError> {
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        Plan::cases_of(text, folder, overrides).map_err(|error| error.located(file, text))
    }

    fn cases_of(text: &str, folder: PathBuf, overrides: &[(String, Value)]) -> Result<Plan, ScenarioError> {
        // First as it stands, so that errors show the line.
        let written: Scenario = toml::from_str(text).map_err(|error| ScenarioError::syntax(&error))?;
        let mut table: Table = toml::from_str(text).map_err(|error| ScenarioError::syntax(&error))?;
        for (key, value) in overrides {
            sweep::set(&mut table, key, value)?;
        }
        let scenario: Scenario = if overrides.is_empty() { written } else { read(&table)? };
        let axes = scenario.sweep.iter().map(|sweep| sweep.points()).collect::<Result<Vec<_>, _>>()?;
        if axes.iter().map(Vec::len).try_fold(1usize, usize::checked_mul).is_none_or(|cases| cases > MOST_CASES) {
            return Err(ScenarioError::at("sweep".to_owned(), format!("these are more than {MOST_CASES} cases")));
        }
        let names: Vec<&String> = scenario.sweep.iter().map(|sweep| &sweep.name).collect();
        let mut cases = Vec::new();
        for points in combinations(&axes) {
            let labels: Vec<(String, String)> =
                names.iter().zip(&points).map(|(name, point)| ((*name).clone(), point.label.clone())).collect();
            let shown = labels.iter().map(|(name, label)| format!("{name} = {label}")).collect::<Vec<_>>().join(", ");
            let scenario = case(&table, &points).map_err(|error| error.in_case(&shown))?;
            cases.push(Case { labels, scenario, folder: folder.clone() });
        }
        if cases.len() == 1 && scenario.sweep.is_empty() {
            scenario.check()?;
        }
        Ok(Plan { scenario, cases })
    }
}

/// The scenario with the values of one combination.
fn case(table: &Table, points: &[&Point]) -> Result<Scenario, ScenarioError> {
    let mut table = table.clone();
    for (key, value) in points.iter().flat_map(|point| &point.set) {
        sweep::set(&mut table, key, value)?;
    }
    let scenario = read(&table)?;
    scenario.check()?;
    Ok(scenario)
}

fn read(table: &Table) -> Result<Scenario, ScenarioError> {
    Value::Table(table.clone()).try_into().map_err(|error| ScenarioError::syntax(&error))
}

/// Every way to take one point of each axis; the last axis runs fastest.
fn combinations(axes: &[Vec<Point>]) -> Vec<Vec<&Point>> {
    axes.iter().fold(vec![Vec::new()], |before, axis| {
        let extend = |head: &Vec<_>| {
            axis.iter().map(|point| head.iter().copied().chain([point]).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        before.iter().flat_map(extend).collect()
    })
}
