//! The name that this program was called by: packages may install it under another one.

use clap::Command;
use clap::builder::StyledStr;
use std::path::Path;

/// The name in this repository.
pub const NAME: &str = "pcc";

/// The name that it was called by.
pub fn name() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&path).file_stem().and_then(|name| name.to_str());
    name.unwrap_or(NAME).to_owned()
}

/// A command line with this name in place of [`NAME`], in its examples too.
pub fn renamed(command: Command, name: &str) -> Command {
    if name == NAME {
        return command;
    }
    let subcommands: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    with_texts(command, &|text| in_text(text, name, &subcommands)).name(name.to_owned())
}

/// A text with this name wherever the command is meant, or one of its manual pages, and not a file or a crate.
fn in_text(text: &str, name: &str, subcommands: &[String]) -> String {
    let mut parts = text.split(NAME);
    let mut changed = parts.next().unwrap_or_default().to_owned();
    let mut last = changed.chars().next_back();
    for part in parts {
        let begins = !last.is_some_and(|before| before.is_alphanumeric() || "_-/.".contains(before));
        let page = |rest: &str| subcommands.iter().any(|inner| rest.starts_with(inner.as_str()));
        let ends = match part.chars().next() {
            Some('.') => part[1..].chars().next().is_none_or(|after| after == '1' || !after.is_alphanumeric()),
            Some('-') => page(&part[1..]),
            Some(after) => !after.is_alphanumeric() && after != '_' && after != '/',
            None => true,
        };
        changed += if begins && ends { name } else { NAME };
        changed += part;
        last = part.chars().next_back().or_else(|| NAME.chars().next_back());
    }
    changed
}

fn with_texts(command: Command, change: &dyn Fn(&str) -> String) -> Command {
    let changed = |text: Option<&StyledStr>| Some(change(&text?.to_string()));
    let about = changed(command.get_about());
    let long_about = changed(command.get_long_about());
    let after = changed(command.get_after_help());
    let long_after = changed(command.get_after_long_help());
    let command = command.mut_args(|mut arg| {
        let (help, long_help) = (changed(arg.get_help()), changed(arg.get_long_help()));
        if let Some(text) = help {
            arg = arg.help(text);
        }
        if let Some(text) = long_help {
            arg = arg.long_help(text);
        }
        arg
    });
    let mut command = command.mut_subcommands(|command| with_texts(command, change));
    // A text that isn't there must not become an empty one.
    if let Some(text) = about {
        command = command.about(text);
    }
    if let Some(text) = long_about {
        command = command.long_about(text);
    }
    if let Some(text) = after {
        command = command.after_help(text);
    }
    if let Some(text) = long_after {
        command = command.after_long_help(text);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    #[test]
    fn only_the_command_gets_the_name() {
        let subcommands = ["send", "lab"].map(str::to_owned);
        for (text, expected) in [
            ("pcc send, `pcc`: pcc", "other send, `other`: other"),
            ("pcc\npcc.1 pcc. pcc.toml", "other\nother.1 other. pcc.toml"),
            ("man pcc-send, pcc-lab-run.1", "man other-send, other-lab-run.1"),
            (
                "pcc-cli crates/pcc-cli ~/.config/pcc/receiver pcc/x",
                "pcc-cli crates/pcc-cli ~/.config/pcc/receiver pcc/x",
            ),
            ("pcc1aeb pccs4t pcc_vivace pccx xpcc PCC", "pcc1aeb pccs4t pcc_vivace pccx xpcc PCC"),
        ] {
            assert_eq!(in_text(text, "other", &subcommands), expected);
        }
    }

    #[test]
    fn examples_have_the_name_too() {
        let of_pcc = Arg::new("x").long("x").help("As 'pcc tcp -x' has it (pcc tcp)");
        let inner =
            Command::new("lab").after_help("Examples:\n  pcc lab\n  sudo pcc lab, see `pcc tcp`; pccx").arg(of_pcc);
        let mut command = renamed(Command::new(NAME).about("Runs pcc").subcommand(inner), "pcc-transport");
        command.build();
        assert_eq!(command.get_name(), "pcc-transport");
        let lab = command.find_subcommand("lab").unwrap();
        let expected = "Examples:\n  pcc-transport lab\n  sudo pcc-transport lab, see `pcc-transport tcp`; pccx";
        assert_eq!(lab.get_after_help().unwrap().to_string(), expected);
        assert!(lab.get_after_long_help().is_none());
        let x = lab.get_arguments().find(|arg| arg.get_id() == "x").unwrap();
        assert_eq!(x.get_help().unwrap().to_string(), "As 'pcc-transport tcp -x' has it (pcc-transport tcp)");
        assert!(x.get_long_help().is_none());
    }
}
