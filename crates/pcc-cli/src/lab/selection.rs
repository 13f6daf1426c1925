//! Which runs of a scenario are meant.

use crate::exit::usage;
use pcc_lab::figure::Study;
use pcc_lab::scenario::Plan;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use toml::Value;

/// A scenario, what differs from the file, and the seeds.
#[derive(clap::Args)]
pub struct Selection {
    /// The scenario.
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// The seed of a single run of each case.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run each case with all of these seeds; the default is what the scenario says, or 1.
    #[arg(long, value_name = "FIRST..LAST", value_parser = seeds)]
    seeds: Option<RangeInclusive<u64>>,
    /// Set a key of the scenario, such as link.queue=30kB or flow.0.controller=cubic.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, Value)>,
    /// Give all flows with a PCC profile this utility: a formula, or one that is built in.
    #[arg(long, value_name = "FORMULA", allow_hyphen_values = true)]
    utility: Option<String>,
}

/// The most runs that one command does.
const MAX_RUNS: usize = 100_000;

impl Selection {
    /// The scenario as it is to be run.
    ///
    /// # Errors
    ///
    /// When the scenario can't be read or isn't valid: a mistake of the user.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        let mut plan = Plan::read(&self.scenario, &self.set).map_err(usage)?;
        // What a figure claims is about the scenario as it stands in the file.
        if plan.scenario.figure.is_some() && self.set.is_empty() {
            Study::read(&self.scenario).map_err(usage)?;
        }
        if let Some(utility) = &self.utility {
            plan.use_utility(utility).map_err(usage)?;
        }
        Ok(plan)
    }

    /// The seeds to run each case with.
    pub fn seeds(&self, plan: &Plan) -> anyhow::Result<Vec<u64>> {
        let seeds = match (self.seed, &self.seeds) {
            (Some(seed), _) => seed..=seed,
            (None, Some(seeds)) => seeds.clone(),
            (None, None) => 1..=plan.scenario.seeds.into(),
        };
        let runs = usize::try_from(seeds.end() - seeds.start())
            .ok()
            .and_then(|last| last.checked_add(1)?.checked_mul(plan.cases.len()));
        match runs {
            Some(runs) if runs <= MAX_RUNS => Ok(seeds.collect()),
            _ => Err(usage(format!("these are more than {MAX_RUNS} runs"))),
        }
    }
}

fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let numbers = text
        .split_once("..")
        .and_then(|(first, last)| Some((first.parse().ok()?, last.trim_start_matches('=').parse().ok()?)));
    match numbers {
        Some((first, last)) if first <= last => Ok(first..=last),
        Some(_) => Err("the first seed is larger than the last".to_owned()),
        None => Err("write the first and the last seed, such as 1..20".to_owned()),
    }
}

fn setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write a key and a value, such as link.queue=30kB")?;
    // What is no TOML value, such as 30kB, is a string.
    let parsed = format!("v = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
    Ok((key.trim().to_owned(), parsed.unwrap_or_else(|| Value::String(value.to_owned()))))
}

/// What the results of a scenario are headed with.
pub fn heading(plan: &Plan, seeds: &[u64]) -> String {
    let title = &plan.scenario.title;
    format!("{title}{}{}", if title.is_empty() { "" } else { "; " }, of_seeds(seeds))
}

/// What results have of these seeds.
pub fn of_seeds(seeds: &[u64]) -> String {
    match seeds {
        [seed] => format!("seed {seed}"),
        [first, .., last] => format!("medians of the seeds {first} to {last}"),
        [] => String::new(),
    }
}
