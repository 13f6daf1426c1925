//! `pcc lab run`: a scenario.

use super::progress::Progress;
use super::{jobs, json_lines, plots, write};
use crate::output::{USAGE, show};
use pcc_lab::report::table;
use pcc_lab::scenario::{Plan, ScenarioError};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use toml::Value;

const EXAMPLES: &str = "\
Examples:
  pcc lab run examples/scenarios/two-flows.toml
  pcc lab run figures/a05-shallow-buffer.toml --seeds 1..5 --json > results.jsonl
  pcc lab run examples/scenarios/lossy.toml --out plots
  pcc lab run examples/scenarios/lossy.toml --set link.loss=3% --set duration=60s
  pcc lab run examples/scenarios/lossy.toml --utility 'x^0.9 - 900*x*max(0, rtt_gradient) - 11.35*x*loss'";

/// Runs a scenario in virtual time and prints a table: medians over the seeds.
///
/// A scenario is a TOML file that names links, flows with their controllers, and what changes from case to case; docs/scenarios.md describes all keys.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The scenario.
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// The seed of a single run of each case.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run each case with all of these seeds; the default is what the scenario says, or 1.
    #[arg(long, value_name = "FIRST..LAST", value_parser = seeds)]
    seeds: Option<RangeInclusive<u64>>,
    /// How many runs at a time [default: as many as there are cores].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Set a key of the scenario, such as link.queue=30kB or flow.0.controller=cubic.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, Value)>,
    /// Give all flows with a PCC profile this utility: a formula, or one that is built in.
    #[arg(long, value_name = "FORMULA", allow_hyphen_values = true)]
    utility: Option<String>,
    /// Print a JSON document for each run, one a line, on standard output instead of the table.
    #[arg(long)]
    json: bool,
    /// Write runs.jsonl, table.txt, and plots of the runs over time (SVG) into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let range = text.split_once("..").and_then(|(first, last)| {
        let (first, last) = (first.parse().ok()?, last.trim_start_matches('=').parse().ok()?);
        (first <= last).then_some(first..=last)
    });
    range.ok_or_else(|| "write the first and the last seed, such as 1..20".to_owned())
}

fn setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write a key and a value, such as link.queue=30kB")?;
    // What is no TOML value, such as 30kB, is a string.
    let parsed = format!("v = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
    Ok((key.trim().to_owned(), parsed.unwrap_or_else(|| Value::String(value.to_owned()))))
}

/// The most runs at once.
const MOST_RUNS: usize = 100_000;

/// Runs the scenario.
pub fn run(args: &Args) -> ExitCode {
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(USAGE);
        }
    };
    match experiment(args, &plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn plan(args: &Args) -> Result<Plan, ScenarioError> {
    let mut plan = Plan::read(&args.scenario, &args.set)?;
    if let Some(utility) = &args.utility {
        plan.use_utility(utility)?;
    }
    Ok(plan)
}

fn experiment(args: &Args, plan: &Plan) -> anyhow::Result<()> {
    let seeds = match (args.seed, &args.seeds) {
        (Some(seed), _) => seed..=seed,
        (None, Some(seeds)) => seeds.clone(),
        (None, None) => 1..=plan.scenario.seeds.into(),
    };
    let runs = usize::try_from(seeds.end() - seeds.start())
        .ok()
        .and_then(|last| last.checked_add(1)?.checked_mul(plan.cases.len()));
    anyhow::ensure!(runs.is_some_and(|runs| runs <= MOST_RUNS), "these are more than {MOST_RUNS} runs");
    let seeds: Vec<u64> = seeds.collect();
    let jobs = jobs(args.jobs);
    let progress = Progress::start(plan.cases.len() * seeds.len());
    let show_progress = |done| progress.show(done);
    let reports = match &args.out {
        Some(folder) => plots::run(plan, &seeds, jobs, folder, &show_progress)?,
        None => plan.run(&seeds, jobs, &show_progress)?,
    };
    progress.finish();
    let lines = json_lines(&reports)?;
    let text = format!("{}\n{}", heading(plan, &seeds), table(&reports));
    show(if args.json { &lines } else { &text })?;
    if let Some(folder) = &args.out {
        write(&folder.join("runs.jsonl"), &lines)?;
        write(&folder.join("table.txt"), &text)?;
    }
    Ok(())
}

fn heading(plan: &Plan, seeds: &[u64]) -> String {
    let seeds = match seeds {
        [seed] => format!("seed {seed}"),
        [first, .., last] => format!("medians of the seeds {first} to {last}"),
        [] => String::new(),
    };
    format!("{}{}{seeds}", plan.scenario.title, if plan.scenario.title.is_empty() { "" } else { "; " })
}
