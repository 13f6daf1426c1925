//! `pcc lab`: experiments in virtual time and on real traffic, and programs behind emulated paths.

mod compare;
mod figures;
mod machine;
mod plots;
mod progress;
mod run;
mod selection;
mod shell;

use anyhow::Context;
use pcc_lab::report::RunReport;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// Experiments with congestion controllers: in virtual time, where the same seed gives the same result, or on real traffic.
#[derive(clap::Subcommand)]
pub enum Command {
    Run(run::Args),
    Compare(compare::Args),
    Figures(figures::Args),
    Shell(shell::Args),
}

/// Runs a subcommand.
pub fn run(command: Command) -> ExitCode {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Figures(args) => figures::run(&args),
        Command::Shell(args) => shell::run(&args),
    }
}

/// How many runs at a time: as asked for, or as many as there are cores.
fn jobs(wanted: Option<u16>) -> usize {
    wanted.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// A JSON document for each run, one a line.
fn json_lines<'a>(reports: impl IntoIterator<Item = &'a RunReport>) -> anyhow::Result<String> {
    let mut lines = String::new();
    for report in reports {
        writeln!(lines, "{}", serde_json::to_string(report)?)?;
    }
    Ok(lines)
}

/// Writes a file, and the folders that it is in.
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    std::fs::write(file, text).with_context(|| format!("can't write {}", file.display()))
}
