//! `pcc man`: manual pages.

use anyhow::Context;
use clap::Command;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  pcc man && man -l man/pcc-send.1
  pcc man --out ~/.local/share/man/man1        # where man finds them: man pcc-send";

/// Writes manual pages: pcc.1, and one for each subcommand, such as pcc-lab-run.1.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to write them.
    #[arg(long, value_name = "DIR", default_value = "man")]
    out: PathBuf,
}

/// Writes a page for each subcommand that isn't hidden.
pub fn run(args: &Args, shown: Command) -> anyhow::Result<ExitCode> {
    let out = &args.out;
    std::fs::create_dir_all(out).with_context(|| format!("can't create {}", out.display()))?;
    clap_mangen::generate_to(shown, out).with_context(|| format!("can't write into {}", out.display()))?;
    Ok(ExitCode::SUCCESS)
}
