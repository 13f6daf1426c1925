//! From a file to the cases to run.

use super::error::{ScenarioError, with_meant};
use super::file::Scenario;
use super::marks;
use super::sweep::{self, Point, Sweep};
use super::undone;
use crate::controller::UtilitySpec;
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
    /// The keys that sweeps set, each with its value.
    pub settings: Vec<(String, Value)>,
    /// The scenario of this case.
    pub scenario: Scenario,
    /// Where relative paths begin.
    pub(super) folder: PathBuf,
}

/// The most cases of a scenario.
const MAX_CASES: usize = 100_000;

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

    /// Gives every flow with a PCC profile, in all cases, this utility: a formula, or one that is built in.
    ///
    /// # Errors
    ///
    /// When it is neither.
    pub fn use_utility(&mut self, utility: &str) -> Result<(), ScenarioError> {
        let mut is_used = false;
        for case in &mut self.cases {
            for flow in &mut case.scenario.flow {
                if pcc::profiles::entry(&flow.controller).is_some() {
                    is_used = true;
                    flow.utility = Some(UtilitySpec::Text(utility.to_owned()));
                    flow.check().map_err(|(_, reason)| ScenarioError::at("utility".to_owned(), reason))?;
                }
            }
        }
        match is_used {
            true => Ok(()),
            false => {
                Err(ScenarioError::at("utility".to_owned(), "no flow has a PCC profile, which could use it".to_owned()))
            }
        }
    }

    fn cases_of(text: &str, folder: PathBuf, overrides: &[(String, Value)]) -> Result<Plan, ScenarioError> {
        // First as it stands, so that errors show the line.
        toml::from_str::<Scenario>(text).map_err(|error| ScenarioError::syntax(&error))?;
        let mut base: Table = toml::from_str(text).map_err(|error| ScenarioError::syntax(&error))?;
        let mut table = base.clone();
        let settings: Vec<Setting> = overrides.iter().map(Setting::from_outside).collect();
        let scenario = apply(&mut table, &settings, &read)?;
        let points = |sweep: &Sweep| {
            sweep.points().map_err(|error| {
                let of_sweep = format!("sweep.{}.", sweep.name);
                let set = overrides.iter().find(|(key, _)| key.starts_with(&of_sweep));
                set.map_or(error.clone(), |(key, value)| error.set_by(None, key, value))
            })
        };
        let axes = scenario.sweep.iter().map(points).collect::<Result<Vec<_>, _>>()?;
        if axes.iter().map(Vec::len).try_fold(1usize, usize::checked_mul).is_none_or(|cases| cases > MAX_CASES) {
            return Err(ScenarioError::at("sweep".to_owned(), format!("these are more than {MAX_CASES} cases")));
        }
        let names: Vec<&String> = scenario.sweep.iter().map(|sweep| &sweep.name).collect();
        if let Some((index, name)) =
            (1..).zip(names.iter().skip(1)).find(|(index, name)| names[..*index].contains(name))
        {
            return Err(ScenarioError::at(
                format!("sweep.{index}.name"),
                format!("another sweep is called {name}, too"),
            ));
        }
        let axes_by_name: Vec<(&str, &[Point])> =
            names.iter().map(|name| name.as_str()).zip(axes.iter().map(Vec::as_slice)).collect();
        undone::check_sweeps(&table, &axes_by_name)?;
        undone::check_settings(&table, &axes_by_name, overrides)?;
        let quick: Vec<(String, Value)> = scenario.quick.clone().into_iter().collect();
        let settings: Vec<Setting> = quick.iter().map(Setting::from_outside).collect();
        let short = apply(&mut table.clone(), &settings, &read)
            .and_then(|_| undone::check_settings(&table, &axes_by_name, &quick));
        short.map_err(|error| ScenarioError::at("quick".to_owned(), error.to_string()))?;
        // Cases need not know of the others.
        for key in undone::NOT_OF_A_CASE {
            base.remove(key);
        }
        let of_all: Vec<Setting> = overrides
            .iter()
            .filter(|(key, _)| !undone::NOT_OF_A_CASE.contains(&key.split('.').next().unwrap_or_default()))
            .map(Setting::from_outside)
            .collect();
        let case = |points: &Vec<&Point>| {
            let labels: Vec<(String, String)> =
                names.iter().zip(points).map(|(name, point)| ((*name).clone(), point.label.clone())).collect();
            let of_sweeps = names.iter().zip(points).flat_map(|(name, point)| {
                point.set.iter().map(|(key, value)| Setting { sweep: Some(name), key, value })
            });
            let all: Vec<Setting> = of_all.iter().copied().chain(of_sweeps).collect();
            let scenario = apply(&mut base.clone(), &all, &|table| checked(table, &folder))
                .map_err(|error| error.in_case(&shown(&labels)))?;
            let settings = points.iter().flat_map(|point| point.set.clone()).collect();
            Ok(Case { labels, settings, scenario, folder: folder.clone() })
        };
        let cases = combinations(&axes).iter().map(case).collect::<Result<Vec<_>, ScenarioError>>()?;
        marks::check(&scenario, &cases.iter().map(|case| &case.scenario).collect::<Vec<_>>()).map_err(|error| {
            let set = overrides.iter().find(|(key, _)| key.starts_with("flow.") && key.ends_with(".ecn"));
            set.map_or(error.clone(), |(key, value)| error.set_by(None, key, value))
        })?;
        Ok(Plan { scenario, cases })
    }
}

/// Labels as in `queue = 75kB, sender = cubic`.
pub(crate) fn shown(labels: &[(String, String)]) -> String {
    labels.iter().map(|(name, label)| format!("{name} = {label}")).collect::<Vec<_>>().join(", ")
}

/// A key that takes a value, by a sweep or from outside.
#[derive(Clone, Copy)]
struct Setting<'a> {
    sweep: Option<&'a str>,
    key: &'a str,
    value: &'a Value,
}

impl<'a> Setting<'a> {
    fn from_outside((key, value): &'a (String, Value)) -> Setting<'a> {
        Setting { sweep: None, key, value }
    }
}

/// Sets keys and reads the result; an error names the setting that is to blame.
fn apply(
    table: &mut Table,
    settings: &[Setting<'_>],
    read: &dyn Fn(&Table) -> Result<Scenario, ScenarioError>,
) -> Result<Scenario, ScenarioError> {
    let before = table.clone();
    for Setting { sweep, key, value } in settings {
        sweep::set(table, key, value).map_err(|error| error.set_by(*sweep, key, value))?;
    }
    read(table).map_err(|error| {
        // The first setting after which it was wrong in this way.
        let mut table = before;
        if read(&table).is_err_and(|earlier| earlier == error) {
            return error;
        }
        let to_blame = settings.iter().find(|Setting { key, value, .. }| {
            sweep::set(&mut table, key, value).is_ok() && read(&table).is_err_and(|earlier| earlier == error)
        });
        match to_blame {
            Some(Setting { sweep, key, value }) => {
                let error = match sweep::misnamed(&table, key) {
                    Some((name, missing)) => error.or_misnamed(name, &missing),
                    None => error,
                };
                error.set_by(*sweep, key, value)
            }
            None => error,
        }
    })
}

fn read(table: &Table) -> Result<Scenario, ScenarioError> {
    // By way of the text: to read scenarios from tables, too, would make the compiled program a fifth larger.
    let scenario: Result<Scenario, toml::de::Error> = toml::from_str(&table.to_string());
    scenario.map_err(|error| ScenarioError::at(String::new(), with_meant(error.message())))
}

fn checked(table: &Table, folder: &Path) -> Result<Scenario, ScenarioError> {
    let scenario = read(table)?;
    scenario.check(folder)?;
    Ok(scenario)
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
