//! How a user gives the ticket: never as an argument, which other users of the machine can read.

use super::ticket::PREFIX;
use crate::exit::usage;
use anyhow::Context;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write, stderr, stdin};
use std::path::Path;

/// The environment variable that may have the ticket.
const VARIABLE: &str = "PCC_TICKET";
/// Longer than any ticket. What is wrong with one is said where it is parsed.
const MAX_LEN: u64 = 1 << 16;

/// Whatever begins like a ticket and is longer than this was meant as one.
const SHORTEST: usize = 64;

/// How a ticket is given, for whoever wrote it on the command line.
pub const NO_ARGUMENT: &str = "a ticket is no argument, because other users of this machine can read those; get a new one from the other \
    side, and give it to this command when it asks, in PCC_TICKET, or in a file with --ticket-file";

/// The name of standard input among files.
const STDIN: &str = "-";

/// The ticket from a file, else from the environment, else from the user. `printed_by` is the command that made it.
pub fn ticket(file: Option<&Path>, printed_by: &str) -> anyhow::Result<String> {
    match file {
        Some(path) if path == Path::new(STDIN) => first_line(stdin().lock()).context("can't read the ticket"),
        None if std::env::var_os(VARIABLE).is_none() && stdin().is_terminal() => {
            // Whoever doesn't see it may know what to type.
            let _ = write!(stderr(), "The ticket that {printed_by} printed: ");
            first_line(stdin().lock()).context("can't read the ticket")
        }
        _ => ticket_at_hand(file, printed_by),
    }
}

/// The ticket from a file, else from the environment, where standard input is for something else.
pub fn ticket_at_hand(file: Option<&Path>, printed_by: &str) -> anyhow::Result<String> {
    match (file, std::env::var(VARIABLE)) {
        (Some(path), _) if path == Path::new(STDIN) => {
            Err(usage("the ticket can't come from standard input, which is the connection's; name a file"))
        }
        (Some(path), _) => {
            let read = File::open(path).and_then(|file| first_line(BufReader::new(file)));
            read.with_context(|| format!("can't read the ticket from {}", path.display()))
        }
        (None, Ok(ticket)) => Ok(first_line(ticket.as_bytes())?),
        (None, Err(_)) => Err(usage(format!(
            "the ticket is missing: put what {printed_by} printed into {VARIABLE}, or into a file for --ticket-file"
        ))),
    }
}

/// The first line with anything in it, without the mark of the byte order that some editors begin a file with.
fn first_line(from: impl BufRead) -> std::io::Result<String> {
    let mut from = from.take(MAX_LEN);
    loop {
        let mut bytes = Vec::new();
        let is_end = from.read_until(b'\n', &mut bytes)? == 0;
        // What is no text is no ticket, which is said where it is parsed.
        let text = String::from_utf8_lossy(&bytes);
        let line = text.trim_start_matches('\u{feff}').trim();
        if is_end || !line.is_empty() {
            return Ok(line.to_owned());
        }
    }
}

/// Refuses a command line with a ticket in it, perhaps with a typo, before anything else could say what is wrong with it, and show it.
pub fn check_arguments(arguments: impl IntoIterator<Item = OsString>) -> anyhow::Result<()> {
    let shows_one = |argument: &OsString| {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric();
        let bytes = argument.as_encoded_bytes();
        let is_prefix = |at: &[u8]| at.get(..PREFIX.len()).is_some_and(|at| at.eq_ignore_ascii_case(PREFIX.as_bytes()));
        let mut starts = (0..bytes.len()).filter(|&at| is_prefix(&bytes[at..]));
        starts.any(|at| bytes[at..].iter().take_while(|byte| is_part(byte)).count() > SHORTEST)
            && !Path::new(argument).exists()
    };
    match arguments.into_iter().any(|argument| shows_one(&argument)) {
        true => Err(usage(NO_ARGUMENT)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_the_first_line_with_anything_in_it() {
        for text in ["pcc1a", "pcc1a\nb", " pcc1a\r\n\n", "\n\r\n  \npcc1a", "\u{feff}pcc1a\n", "\u{feff}\r\npcc1a"] {
            assert_eq!(first_line(text.as_bytes()).unwrap(), "pcc1a", "{text:?}");
        }
        for text in ["", "\n", "\u{feff}\n\n"] {
            assert_eq!(first_line(text.as_bytes()).unwrap(), "", "{text:?}");
        }
    }
}
