//! `pcc lab run`: a scenario.

use super::machine::{Machine, On};
use super::outputs::{Outputs, Writer};
use super::selection::Selection;
use crate::output::{json_lines, show};
use pcc_lab::report::RunReport;
use pcc_lab::scenario::Plan;
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
/// keys, and docs/lab-json.md what --json prints. The simulator runs in virtual time; the emulator carries real traffic of the kernel's TCP, of QUIC, and of programs, and takes as long as
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
    #[command(flatten)]
    outputs: Outputs,
}

/// Runs a scenario, and prints or writes what came of it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = args.selection.plan()?;
    let seeds = args.selection.seeds(&plan)?;
    args.outputs.check()?;
    run_plan(&plan, &seeds, &Machine::new(args.on, args.jobs)?, &args.outputs)?;
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

/// Runs each case with these seeds, and prints or writes what came of it.
///
/// # Errors
///
/// When a run fails, none of a case counts, or results can't be written.
pub fn run_plan(plan: &Plan, seeds: &[u64], machine: &Machine, outputs: &Outputs) -> anyhow::Result<()> {
    let writer = Writer::new(outputs, plan, seeds)?;
    // Real time isn't to be lost if a later run fails.
    let at_once = outputs.json && matches!(machine, Machine::Emulator);
    let finished = machine.run(
        plan,
        seeds,
        |seed| writer.wants(seed),
        |report| {
            if at_once {
                show(&json_lines([&report])?)?;
            }
            let over_time = writer.take(&report);
            Ok((report.without_details(), over_time))
        },
    )?;
    let (reports, over_time): (Vec<RunReport>, Vec<_>) = finished.into_iter().unzip();
    if !at_once {
        writer.show(&reports)?;
    }
    writer.write(&reports, over_time)?;
    check_that_some_count(&reports)
}
