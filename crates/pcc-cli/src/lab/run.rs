//! `pcc lab run`: a scenario.

use super::machine::{Machine, On};
use super::plots::{Drawn, Names};
use super::selection::{Selection, heading, of_seeds};
use crate::exit::usage;
use crate::output::{json_lines, show, write_file};
use anyhow::Context;
use pcc_lab::page::{RunLines, runs_page};
use pcc_lab::report::{RunReport, Table, course, course_head};
use pcc_lab::scenario::Plan;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  pcc lab run examples/scenarios/two-flows.toml
  pcc lab run figures/a05-shallow-buffer.toml --seeds 1..5 --json > results.jsonl
  pcc lab run examples/scenarios/lossy.toml --out plots
  pcc lab run examples/scenarios/lossy.toml --html lossy.html    # then look at it with a browser
  pcc lab run examples/scenarios/two-flows.toml --series two.csv
  pcc lab run examples/scenarios/lossy.toml --set link.loss=3% --set duration=60s
  pcc lab run examples/scenarios/lossy.toml --utility 'x^0.9 - 900*x*max(0, rtt_gradient) - 11.35*x*loss'
  sudo pcc lab run examples/scenarios/stacks.toml --on emulator

Exit codes:
  0 done, 1 it failed, or no run of a case on the emulator counts, 2 wrong command line or scenario, 130 interrupted";

/// Runs a scenario and prints a table: medians over the seeds.
///
/// A scenario is a TOML file that names links, flows with their controllers, and what changes from case to case; docs/scenarios.md describes all
/// keys. The simulator runs in virtual time; the emulator carries real traffic of the kernel's TCP, of QUIC, and of programs, and takes as long as
/// the scenario says.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Where to run it.
    #[arg(long, value_enum, default_value_t = On::Simulator)]
    on: On,
    /// How many simulations at a time [default: as many as there are cores].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print a JSON document for each run, one a line, on standard output instead of the table.
    #[arg(long)]
    json: bool,
    /// Write runs.jsonl, table.txt, and plots of the runs over time (SVG) into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write all runs over time into this file, as CSV: goodput, wanted rate, round-trip time and queues for each tenth of a second.
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// In the table, add the least and the most of the seeds to each median.
    #[arg(long)]
    spread: bool,
    /// Write the table and the runs over time into this file: an HTML page to zoom and read, which needs no network and no other file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Runs a scenario, and prints or writes what came of it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = args.selection.plan()?;
    let seeds = args.selection.seeds(&plan)?;
    let [out, html, series] = [&args.out, &args.html, &args.series].map(Option::as_deref);
    for (option, file) in [("--html", html), ("--series", series)] {
        if file == Some(Path::new("-")) {
            return Err(usage(format!(
                "{option} doesn't write to standard output, only into a file; {option} ./- is one of this name"
            )));
        }
    }
    if args.json && args.spread && out.is_none() && html.is_none() {
        return Err(usage("--spread is about the table, and with --json there is none without --out or --html"));
    }
    run_plan(
        &plan,
        &seeds,
        &Means { on: args.on, jobs: args.jobs, json: args.json, spread: args.spread, out, html, series },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// That every case has a run that counts.
///
/// # Errors
///
/// Names the cases of which none does, with a reason.
pub fn check_that_some_count(reports: &[RunReport]) -> anyhow::Result<()> {
    let cases = reports.chunk_by(|a, b| a.case == b.case);
    let nothing: Vec<String> = cases
        .filter(|runs| !runs.iter().any(RunReport::counts))
        .map(|runs| {
            let labels: String = runs[0].case.iter().map(|(name, label)| format!("{name} = {label}, ")).collect();
            format!("{labels}seed {}: {}", runs[0].seed, runs[0].doubt().unwrap_or_default())
        })
        .collect();
    anyhow::ensure!(nothing.is_empty(), "there is no run that counts of: {}", nothing.join("; "));
    Ok(())
}

/// How a scenario is run, and where the results go.
pub struct Means<'a> {
    pub on: On,
    pub jobs: Option<u16>,
    pub json: bool,
    pub spread: bool,
    pub out: Option<&'a Path>,
    pub html: Option<&'a Path>,
    pub series: Option<&'a Path>,
}

/// Runs each case with these seeds, and prints or writes what came of it.
///
/// # Errors
///
/// When a run fails, or results can't be written.
pub fn run_plan(plan: &Plan, seeds: &[u64], means: &Means) -> anyhow::Result<()> {
    let machine = Machine::new(means.on, means.jobs)?;
    for folder in means.out.into_iter().chain([means.html, means.series].into_iter().flatten().filter_map(Path::parent))
    {
        // Before the work that would be lost.
        std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    }
    let names = Names::of(plan);
    let drawn = (means.out.is_some() || means.html.is_some()).then(|| Drawn::of(plan, seeds));
    // Real time isn't to be lost if a later run fails.
    let at_once = means.json && means.on == On::Emulator;
    let finished = machine.run(
        plan,
        seeds,
        |seed| means.series.is_some() || drawn.is_some_and(|drawn| drawn.has(seed)),
        |report| {
            let is_drawn = drawn.is_some_and(|drawn| drawn.has(report.seed));
            // What else there is must not be lost because of a plot.
            let plotted = match means.out.filter(|_| is_drawn) {
                Some(folder) => names.draw(folder, &plan.scenario.title, &report),
                None => Ok(()),
            };
            let lines = (means.html.is_some() && is_drawn).then(|| RunLines::of(&report));
            let course = means.series.map(|_| (course_head(&report), course(&report)));
            if at_once {
                show(&json_lines([&report])?)?;
            }
            Ok((report.without_details(), (lines, plotted, course)))
        },
    )?;
    let (reports, drawings): (Vec<RunReport>, Vec<_>) = finished.into_iter().unzip();
    let (mut over_time, mut plotted, mut courses) = (Vec::new(), Vec::new(), Vec::new());
    for (lines, plot, course) in drawings {
        over_time.extend(lines);
        plotted.push(plot);
        courses.extend(course);
    }
    let lines = json_lines(&reports)?;
    let table = if means.spread { Table::with_spread(&reports) } else { Table::of(&reports) };
    let text = format!("{}\n{table}", heading(plan, seeds));
    match (means.json, at_once) {
        (true, true) => {}
        (true, false) => show(&lines)?,
        (false, _) => show(&text)?,
    }
    if let Some(folder) = means.out {
        write_file(&folder.join("runs.jsonl"), &lines)?;
        write_file(&folder.join("table.txt"), &text)?;
    }
    if let Some(page) = means.html {
        write_file(page, &runs_page(&plan.scenario.title, &of_seeds(seeds), &table, &over_time)?)?;
    }
    if let Some(file) = means.series {
        let head = courses.first().map(|(head, _)| head.clone());
        let text: String = head.into_iter().chain(courses.into_iter().map(|(_, lines)| lines)).collect();
        write_file(file, &text)?;
    }
    plotted.into_iter().collect::<anyhow::Result<()>>()?;
    check_that_some_count(&reports)
}
