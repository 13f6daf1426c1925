//! How the sender's user gives the ticket: never as an argument, which other users of the machine can read.

use super::ticket::{PREFIX, Ticket};
use crate::exit::usage;
use anyhow::Context;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, stdin};
use std::path::Path;

/// Longer than any ticket. What is wrong with one is said where it is parsed.
const MAX_LEN: u64 = 1 << 16;

/// The ticket from a file, else from the environment, else from the user.
pub fn ticket(file: Option<&Path>) -> anyhow::Result<String> {
    match (file, std::env::var("PCC_TICKET")) {
        (Some(path), _) if path == Path::new("-") => first_line(stdin().lock()).context("can't read the ticket"),
        (Some(path), _) => {
            let read = File::open(path).and_then(|file| first_line(BufReader::new(file)));
            read.with_context(|| format!("can't read the ticket from {}", path.display()))
        }
        (None, Ok(ticket)) => Ok(ticket),
        (None, Err(_)) if stdin().is_terminal() => {
            eprint!("The ticket that pcc recv printed: ");
            first_line(stdin().lock()).context("can't read the ticket")
        }
        (None, Err(_)) => Err(usage(
            "the ticket is missing: put what pcc recv printed into PCC_TICKET, or into a file for --ticket-file",
        )),
    }
}

fn first_line(from: impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    from.take(MAX_LEN).read_line(&mut line)?;
    Ok(line)
}

/// Whether this argument was meant as a ticket, perhaps with a typo.
pub fn is_ticket(argument: &str) -> bool {
    argument.parse::<Ticket>().is_ok() || (argument.starts_with(PREFIX) && argument.len() > 64)
}
