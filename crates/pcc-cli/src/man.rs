//! `pcc man`: manual pages.

use crate::output::write_file;
use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  pcc man --out ~/.local/share/man/man1        # where man finds them: man pcc-send
  pcc man --out /tmp/man && ls /tmp/man        # to look at them";

/// Writes manual pages: pcc.1, and one for each subcommand, such as pcc-lab-run.1.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to write them; the folder is made if it isn't there.
    #[arg(long, value_name = "DIR", default_value = "man")]
    out: PathBuf,
}

/// Writes a page for each subcommand that isn't hidden.
pub fn run(args: &Args, shown: Command) -> anyhow::Result<ExitCode> {
    let mut shown = shown.disable_help_subcommand(true);
    shown.build();
    let source = format!("{} {}", shown.get_name(), shown.get_version().unwrap_or_default());
    write_pages(&shown, &source, &args.out)?;
    Ok(ExitCode::SUCCESS)
}

fn write_pages(command: &Command, source: &str, out: &Path) -> anyhow::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, source, out)?;
    }
    let last = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    // These have no section of their own in what the crate writes.
    let command = command.clone().after_help(None::<&str>).after_long_help(None::<&str>);
    let page = Man::new(command).source(source).manual("User Commands");
    let mut text = Vec::new();
    page.render(&mut text).context("can't make a manual page")?;
    let text = String::from_utf8(text)? + &sections(&last).to_roff();
    write_file(&out.join(page.get_filename()), &text)
}

/// What stands behind the options, as the sections that manual pages have for it. Examples and tables keep their lines.
fn sections(text: &str) -> Roff {
    let (mut notes, mut codes, mut examples) = (Roff::new(), Roff::new(), Roff::new());
    for block in text.split("\n\n") {
        let mut lines = block.lines().peekable();
        let (section, heading) = match lines.peek() {
            Some(&"Examples:") => (&mut examples, "EXAMPLES"),
            Some(&("Exit codes:" | "Exit code:")) => (&mut codes, "EXIT STATUS"),
            Some(_) => (&mut notes, "NOTES"),
            None => continue,
        };
        let begins = section.to_roff().is_empty();
        if begins {
            section.control("SH", [heading]);
        } else {
            section.control("PP", []);
        }
        if heading != "NOTES" {
            lines.next();
        }
        let lines: Vec<&str> = lines.collect();
        let is_table = lines.iter().any(|line| line.starts_with(' '));
        if is_table {
            section.control("nf", []);
        }
        for line in lines {
            section.text([roman(line)]);
        }
        if is_table {
            section.control("fi", []);
        }
    }
    notes.extend([codes, examples]);
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_the_options_has_sections() {
        let text = "Examples:\n  pcc send a\n  pcc send b\n\nA text that may\nbe filled.\n\nExit codes:\n  0    done";
        let expected = ".SH NOTES\nA text that may\nbe filled.\n.SH \"EXIT STATUS\"\n.nf\n  0    done\n.fi\n\
            .SH EXAMPLES\n.nf\n  pcc send a\n  pcc send b\n.fi\n";
        assert_eq!(sections(text).to_roff(), expected);
        assert_eq!(sections("").to_roff(), "");
    }
}
