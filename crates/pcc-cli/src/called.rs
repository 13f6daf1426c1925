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
    if name == NAME { command } else { with_texts(command, name).name(name.to_owned()) }
}

fn with_texts(command: Command, name: &str) -> Command {
    let changed = |text: Option<&StyledStr>| {
        let text = text?.to_string();
        let words = [" ", "`", "(", "'"].map(|before| (format!("{before}{NAME} "), format!("{before}{name} ")));
        Some(words.iter().fold(text, |text, (old, new)| text.replace(old, new)))
    };
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
    let mut command = command.mut_subcommands(|command| with_texts(command, name));
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
