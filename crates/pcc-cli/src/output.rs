//! Standard output, and the exit codes that scripts can use.

use std::io::{ErrorKind, Write};

/// The exit code of a mistake on the command line or in a file, as clap's.
pub const USAGE: u8 = 2;

/// Prints results; `println!` would panic when nobody reads them.
///
/// # Errors
///
/// When they can't be written for another reason.
pub fn show(results: &str) -> std::io::Result<()> {
    match std::io::stdout().write_all(results.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}
