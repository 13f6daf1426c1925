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

/// Says what to do.
pub fn run(command: Command) -> ExitCode {
    drop(command.arguments);
    eprintln!(
        "error: this pcc was built without `pcc tcp`, which needs clang, libelf and zlib with their headers; \
         with these, build it with: cargo install --path crates/pcc-cli --features tcp"
    );
    ExitCode::FAILURE
}
