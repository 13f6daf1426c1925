//! `pcc lab compare`: the simulator beside the emulator.

use super::machine::{Machine, On};
use super::run::check_that_some_count;
use super::selection::{Selection, heading};
use crate::output::{json_lines, show};
use clap::builder::PossibleValuesParser;
use pcc_lab::report::{METRICS, compare, comparison_table};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  sudo pcc lab compare examples/scenarios/stacks.toml
  sudo pcc lab compare benches/agreement.toml --metric goodput --metric rtt-p95
  sudo pcc lab compare benches/agreement.toml --seeds 1..3 --json > agreement.jsonl

Exit codes:
  0 done, 1 it failed, or no run of a case on the emulator counts, 2 wrong command line or scenario, 130 interrupted";

/// Runs a scenario in the simulator and on the emulator, and prints each metric of both with the difference.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Compare this metric, not all of them; can be given again.
    #[arg(long, value_parser = metrics())]
    metric: Vec<String>,
    /// Print a JSON document for each metric, one a line, instead of the table.
    #[arg(long)]
    json: bool,
}

fn metrics() -> PossibleValuesParser {
    METRICS.map(|metric| metric.name).into()
}

/// Runs the scenario in both places, and prints how the results compare.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = &args.selection.plan()?;
    let seeds = args.selection.seeds(plan)?;
    // Privileges must be acquired before there are threads. What can't be simulated is reported before the long part begins.
    let emulator = Machine::new(On::Emulator, None)?;
    let simulator = Machine::new(On::Simulator, None)?;
    let run = |machine: &Machine| machine.run(plan, &seeds, |_| false, |report| Ok(report.without_details()));
    let simulated = run(&simulator)?;
    let emulated = run(&emulator)?;
    let mut comparisons = compare(&simulated, &emulated);
    comparisons.retain(|row| args.metric.is_empty() || args.metric.iter().any(|metric| metric == row.metric));
    let doubtful = emulated.iter().filter(|run| !run.counts()).count();
    if doubtful > 0 {
        eprintln!("{doubtful} of {} runs on the emulator don't count: see pcc lab run --on emulator", emulated.len());
    }
    let table = || format!("{}\n{}", heading(plan, &seeds), comparison_table(&comparisons));
    show(&if args.json { json_lines(&comparisons)? } else { table() })?;
    check_that_some_count(&emulated)?;
    Ok(ExitCode::SUCCESS)
}
