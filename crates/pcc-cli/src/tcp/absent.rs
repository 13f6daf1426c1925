//! `pcc tcp` of a build without it.

use std::ffi::OsString;
use std::process::ExitCode;

/// PCC for the TCP of this machine's kernel (this build can't: it was made without the feature `tcp`).
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Command {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Fails with what has to be done to get `pcc tcp`.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    drop(command.arguments);
    anyhow::bail!(
        "this pcc was built without `pcc tcp`, which needs clang, libelf and zlib with their headers; \
         with these, build it with: cargo install --path crates/pcc-cli --features tcp"
    )
}
