//! `pcc tcp` of a build without it.

use crate::output::show;
use std::ffi::OsString;
use std::process::ExitCode;

const NOTICE: &str = "\
This pcc was built without `pcc tcp`, whose subcommands are exec, load, unload, status, default and top. They need clang,
libelf and zlib with their headers (Debian and Ubuntu: apt install clang make pkg-config libelf-dev zlib1g-dev). With these,
in a clone of the repository: cargo install --path crates/pcc-cli --features tcp";

/// PCC for the TCP of this machine's kernel (this build can't: it was made without the feature `tcp`).
#[derive(clap::Args)]
#[command(after_help = NOTICE)]
pub struct Command {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Says what has to be done to get `pcc tcp`: to whom asks for help that is the answer, for all else it is a failure.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    let mut own = command.arguments.iter().take_while(|argument| *argument != "--");
    if own.any(|argument| argument == "--help" || argument == "-h") {
        show(&format!("{NOTICE}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    anyhow::bail!("{NOTICE}")
}
