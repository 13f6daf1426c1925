//! Exit codes, and the one place where an error becomes one.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// The exit code of a mistake on the command line or in a file, as clap's.
const USAGE: u8 = 2;

/// The exit code after Ctrl-C, as a shell's.
pub const INTERRUPTED: u8 = 130;

/// A mistake in the command line, or in a file that it names.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// Makes an error of a mistake on the command line or in a file, for exit code 2.
pub fn usage(mistake: impl Display) -> anyhow::Error {
    Usage(mistake.to_string()).into()
}

/// The exit code of a subcommand; what went wrong is said on standard error.
pub fn code(done: anyhow::Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        // `eprintln!` would panic where nobody can read it.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        if error.is::<Usage>() { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn mistakes_have_a_code_of_their_own() {
        assert_eq!(code(Ok(ExitCode::from(7))), ExitCode::from(7));
        assert_eq!(code(Err(anyhow::anyhow!("no network"))), ExitCode::FAILURE);
        assert_eq!(code(Err(usage("there is no figure Z9"))), ExitCode::from(USAGE));
        assert_eq!(code(Err(usage("no key")).context("scenario.toml")), ExitCode::from(USAGE));
    }
}
