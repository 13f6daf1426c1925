//! `pcc lab tune`: looks for better constants of a profile.

use super::machine::jobs;
use super::progress::Progress;
use crate::exit::usage;
use crate::output::{json_lines, show, write_file};
use pcc_lab::gauntlet::{OBJECTIVES, Objective};
use pcc_lab::tune::{Candidate, Constant, Regrets, search, table};
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  pcc lab tune queue-target --vary control.drain.every=1..4
  pcc lab tune queue-target --vary utility.packets=2..8 --vary control.drain.part=0.8..0.98 --objective bulk
  pcc lab tune queue-target --vary control.loss.response=0.1..0.9 --cases 40 --out trials";

/// Looks for better constants of a profile: varies each in turn, by less and less, and keeps what lowers the mean regret by more than its
/// standard error.
///
/// The regret is what a controller misses to the best of --peers and of itself as it is, over development cases of `pcc lab gauntlet`. The
/// first trials show how much hangs on each constant. Judge what comes of it by other cases: it was fitted to these.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The profile.
    controller: String,
    /// A constant and its range; can be repeated.
    #[arg(long, required = true, value_name = "KEY=FROM..TO")]
    vary: Vec<Constant>,
    /// What is wanted: bulk, interactive or mixed.
    #[arg(long, default_value = "mixed", value_name = "NAME", value_parser = objective)]
    objective: Objective,
    /// Controllers to compare with.
    #[arg(long, value_delimiter = ',', value_name = "NAMES", default_value = "cubic,bbr1,bbr3,copa")]
    peers: Vec<String>,
    /// How many cases.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    cases: u32,
    /// The seed of the cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many trials at most.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    trials: u16,
    /// How many runs at a time [default: as many as there are cores].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print a JSON document for each trial, one a line, on standard output instead of the table.
    #[arg(long)]
    json: bool,
    /// Write trials.jsonl, after each trial, and table.txt into this directory, which is made if it isn't there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn objective(name: &str) -> Result<Objective, String> {
    let known = OBJECTIVES.map(|objective| objective.name).join(", ");
    OBJECTIVES.into_iter().find(|objective| objective.name == name).ok_or(format!("there are {known}"))
}

/// Searches, and prints the trials.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for (index, Constant { key, .. }) in args.vary.iter().enumerate() {
        if args.vary[..index].iter().any(|other| other.key == *key) {
            return Err(usage(format!("{key} is in --vary twice")));
        }
    }
    let as_it_is = Candidate::named(&args.controller);
    let start = args.vary.iter().map(|constant| start(&as_it_is, constant)).collect::<anyhow::Result<Vec<f64>>>()?;
    let ends = [|constant: &Constant| constant.least, |constant: &Constant| constant.most];
    for end in ends.map(|end| args.vary.iter().map(end).collect::<Vec<f64>>()) {
        as_it_is.with(&args.vary, &end).config().check().map_err(usage)?;
    }
    let peers: Vec<Candidate> = args.peers.iter().map(|name| Candidate::named(name)).collect();
    for peer in &peers {
        peer.config().check().map_err(usage)?;
    }
    let scores = |candidate: &Candidate, what: String| {
        eprintln!("{what}");
        let progress = Progress::start(args.cases.into(), "cases");
        let shown = |done| progress.show(done as u64);
        let scores = candidate.scores(args.seed, args.cases, &args.objective, jobs(args.jobs), &shown);
        progress.finish();
        scores
    };
    let mut regrets = Regrets::default();
    for peer in &peers {
        regrets.add(&scores(peer, peer.controller.clone())?);
    }
    let mut known = Vec::new();
    let cost = |values: &[f64]| -> anyhow::Result<Vec<f64>> {
        let scores = scores(&as_it_is.with(&args.vary, values), format!("{} {values:?}", args.controller))?;
        if values == start {
            regrets.add(&scores);
        }
        Ok(regrets.of(&scores))
    };
    let trials = search(&args.vary, &start, args.trials.into(), cost, |trial| {
        known.push(trial.clone());
        match &args.out {
            Some(folder) => write_file(&folder.join("trials.jsonl"), &json_lines(&known)?),
            None => Ok(()),
        }
    })?;
    let table = table(&args.vary, &trials);
    show(&if args.json { json_lines(&trials)? } else { table.clone() })?;
    if let Some(folder) = &args.out {
        write_file(&folder.join("table.txt"), &table)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The value of a constant as it is, which must be in its range.
fn start(profile: &Candidate, constant: &Constant) -> anyhow::Result<f64> {
    let Constant { key, least, most } = constant;
    let value = profile.config().constant(key).map_err(usage)?;
    if (*least..=*most).contains(&value) {
        return Ok(value);
    }
    Err(usage(format!("--vary {key}={least}..{most}: it is {value}, which must be within")))
}
