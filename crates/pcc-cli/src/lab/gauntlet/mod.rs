//! `pcc lab gauntlet`: which controller for which path.

mod results;
mod shard;

use super::machine::{Machine, On, jobs};
use super::outputs::Outputs;
use super::progress::Progress;
use super::run::run_plan;
use crate::exit::usage;
use crate::output::{json_lines, show, write_file};
use anyhow::Context;
use pcc_lab::controller::ControllerConfig;
use pcc_lab::gauntlet::{CaseRun, CaseSet, GauntletCase, Scoreboard, play};
use pcc_lab::scenario::Plan;
use results::{Results, of_shards};
use shard::Shard;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  pcc lab gauntlet --cases 20
  pcc lab gauntlet --out scores                              # 200 cases; then look at scores/index.html
  pcc lab gauntlet --out scores --resume                     # goes on with a run that was killed
  pcc lab gauntlet --out scores --shard 1/4                  # a quarter; another job of an array does 2/4
  pcc lab gauntlet --out scores --resume                     # puts the shards together when all are there
  pcc lab gauntlet --controllers cubic,bbr3 --json
  pcc lab gauntlet --case 137 --out plots                    # one case alone, with plots over time
  pcc lab gauntlet --case 137 > 137.toml                     # as a scenario, to change it";

/// The most cases of a run.
const MAX_CASES: i64 = 100_000;

/// Runs controllers through cases that are drawn at random, and shows how far each is from the best one of each case.
///
/// A case is a path and what flows do on it. The cases of a seed are the same everywhere, and so are the results, on any number of
/// cores. docs/gauntlet.md says what cases are drawn from, and how controllers are scored.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The controllers.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "queue-target,vivace-latency,vivace-loss,cubic,newreno,bbr1,bbr3,copa"
    )]
    controllers: Vec<String>,
    /// How many cases.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=MAX_CASES))]
    cases: u32,
    /// The seed of the cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take the final cases, which nobody should look at while developing, instead of the development cases.
    #[arg(long = "final")]
    of_final: bool,
    /// Print the case with this number as a scenario, and run nothing; with --out, run it alone, and write its scenario, table, reports and
    /// plots over time there.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["cases", "shard", "jobs", "json", "resume"])]
    case: Option<u32>,
    /// Run only a part of the cases, such as 1/4; --resume without a shard puts the parts together.
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with = "json")]
    shard: Option<Shard>,
    /// How many runs at a time [default: as many as there are cores].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print a JSON document for each controller, one a line, on standard output instead of the table.
    #[arg(long)]
    json: bool,
    /// Write results.jsonl, scores.jsonl, table.txt and index.html into this directory, which is made if it isn't there; with --case see there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the results in the directory, those of shards included.
    #[arg(long, requires = "out")]
    resume: bool,
}

/// Runs the cases, and prints or writes what came of them.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for (index, name) in args.controllers.iter().enumerate() {
        ControllerConfig::named(name).check().map_err(usage)?;
        if args.controllers[..index].contains(name) {
            return Err(usage(format!("{name} is in --controllers twice")));
        }
    }
    let set = if args.of_final { CaseSet::Final } else { CaseSet::Development };
    if let Some(number) = args.case {
        one_case(&GauntletCase::draw(set, args.seed, number), &args.controllers, args.out.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    let cases = (0..args.cases).filter(|case| args.shard.is_none_or(|shard| shard.has(*case)));
    let run = |case, controller: &String| CaseRun { set, seed: args.seed, case, controller: controller.clone() };
    let runs: Vec<CaseRun> =
        cases.flat_map(|case| args.controllers.iter().map(move |controller| run(case, controller))).collect();
    let mut results = results(args, &runs)?;
    let missing: Vec<CaseRun> = runs.iter().filter(|run| !results.has(run)).cloned().collect();
    let progress = Progress::start(missing.len() as u64, "runs");
    let mut done = 0;
    play(&missing, jobs(args.jobs), |result| {
        done += 1;
        progress.show(done);
        results.add(result)
    })?;
    progress.finish();
    let results = results.finish(&runs)?;
    if args.shard.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let scoreboard = Scoreboard::new(set, args.seed, args.controllers.clone(), &results);
    let (table, lines) = (scoreboard.table(), json_lines(scoreboard.scores())?);
    show(if args.json { &lines } else { &table })?;
    if let Some(folder) = &args.out {
        write_file(&folder.join("table.txt"), &table)?;
        write_file(&folder.join("scores.jsonl"), &lines)?;
        write_file(&folder.join("index.html"), &scoreboard.page()?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a case as a scenario, or runs it into a folder as `pcc lab run` does.
fn one_case(case: &GauntletCase, controllers: &[String], out: Option<&Path>) -> anyhow::Result<()> {
    let scenario = case.scenario(controllers);
    let Some(folder) = out else { return Ok(show(&scenario)?) };
    let plan = Plan::parse(&case.name(), &scenario, &[])?;
    let outputs = Outputs { out: Some(folder.to_owned()), ..Outputs::default() };
    run_plan(&plan, &[case.run_seed()], &Machine::new(On::Simulator, None)?, &outputs)?;
    write_file(&folder.join("scenario.toml"), &scenario)
}

/// Where the results go, with those that are there.
fn results(args: &Args, runs: &[CaseRun]) -> anyhow::Result<Results> {
    let Some(folder) = &args.out else { return Ok(Results::in_memory()) };
    std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    let file = folder.join(args.shard.map_or("results.jsonl".to_owned(), |shard| format!("results-{shard}.jsonl")));
    match (args.resume, args.shard) {
        (false, _) => Results::create(file),
        (true, Some(_)) => Results::resume(file, &[], runs),
        (true, None) => Results::resume(file, &of_shards(folder)?, runs),
    }
}
