//! What packages of `pcc` are made of: completions, manual pages, and another name for the command.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pcc(arguments: &[&str]) -> String {
    called(Path::new(env!("CARGO_BIN_EXE_pcc")), arguments)
}

fn called(program: &Path, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new(program).args(arguments).output().expect("pcc starts");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

/// All subcommands that `--help` names, with their words.
fn subcommands(before: &[&str]) -> Vec<Vec<String>> {
    let help = pcc(&[before, &["--help"]].concat());
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let names = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let mut all = Vec::new();
    for name in names.filter(|name| *name != "help") {
        let words = [before, &[name]].concat();
        all.push(words.iter().map(|&word| word.to_owned()).collect());
        // Without its feature `pcc tcp` only says how to get it.
        if cfg!(feature = "tcp") || *name != *"tcp" {
            all.extend(subcommands(&words));
        }
    }
    all
}

/// Whether a shell that is here takes this script.
fn parses(shell: &str, script: &str) {
    let Ok(mut checking) = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn() else {
        return println!("skipped: there is no {shell}");
    };
    checking.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
    assert!(checking.wait().expect("it ends").success(), "{shell} can't read it");
}

#[test]
fn every_shell_completes_every_subcommand() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = pcc(&["completions", shell]);
        for word in subcommands(&[]).concat().iter().chain(&["max-rate".to_owned()]) {
            assert!(script.contains(word.as_str()), "{word} in {shell}");
        }
        assert!(!script.contains("guard"), "{shell}");
        if ["bash", "zsh", "fish"].contains(&shell) {
            parses(shell, &script);
        }
    }
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    pcc(&["man", "--out", out.to_str().unwrap()]);
    let pages = fs::read_dir(&out).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> = pages.collect();
    pages.sort();
    let mut expected: Vec<String> = subcommands(&[]).iter().map(|words| format!("pcc-{}.1", words.join("-"))).collect();
    expected.push("pcc.1".to_owned());
    expected.sort();
    assert_eq!(pages, expected);
    assert!(pages.len() > 10, "{pages:?}");
    let main = fs::read_to_string(out.join("pcc.1")).unwrap();
    for name in subcommands(&[]).iter().filter_map(|words| match &words[..] {
        [name] => Some(name),
        _ => None,
    }) {
        assert!(main.contains(&format!("pcc\\-{name}(1)")), "{name} in pcc.1");
    }
    let send = fs::read_to_string(out.join("pcc-send.1")).unwrap();
    let title = send.lines().find(|line| line.starts_with(".TH")).unwrap();
    assert!(title.starts_with(".TH pcc-send 1  \"pcc 0.") && title.ends_with("\"User Commands\""), "{title}");
    assert!(send.contains(".SH \"EXIT STATUS\"\n.nf\n") && !send.contains("EXTRA"), "{send}");
    // Lines of examples stay lines.
    let (_, examples) = send.split_once(".SH EXAMPLES\n.nf\n").unwrap();
    assert!(examples.lines().next().unwrap().starts_with("  pcc send photos/"), "{send}");
}

#[cfg(not(feature = "tcp"))]
#[test]
fn help_of_what_is_not_built_in_says_how_to_get_it() {
    for arguments in [&["tcp", "--help"][..], &["tcp", "load", "--help"], &["tcp", "-h"]] {
        let help = pcc(arguments);
        assert!(help.contains("--features tcp") && help.contains("exec, load"), "{arguments:?}: {help}");
    }
    let refused = Command::new(env!("CARGO_BIN_EXE_pcc")).args(["tcp", "load"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.starts_with("error: This pcc was built without") && said.contains("--features tcp"), "{said}");
}

/// The systemd units as a package with this name has them.
fn units(name: &str, folder: &Path) -> Vec<(String, String)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/units.sh");
    assert!(Command::new(script).arg(name).arg(folder).status().expect("a shell").success());
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|file| (file.display().to_string(), fs::read_to_string(&file).unwrap())).collect()
}

#[test]
fn units_of_a_package_start_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let (name, pages) = ("pcc-transport", folder.path().join("man"));
    let other = folder.path().join(name);
    symlink(env!("CARGO_BIN_EXE_pcc"), &other).unwrap();
    called(&other, &["man", "--out", pages.to_str().unwrap()]);
    let units = units(name, &folder.path().join("units"));
    assert_eq!(units.len(), 5, "{units:?}");
    for (file, text) in units {
        // Without its feature `pcc tcp` has neither pages nor options.
        if !cfg!(feature = "tcp") && file.contains("pcc-tcp") {
            continue;
        }
        let page = text.lines().find_map(|line| line.strip_prefix("Documentation=man:")).expect(&file);
        assert!(pages.join(page.replace("(1)", ".1")).is_file(), "{file}: {page}");
        assert!(!text.contains(" pcc "), "{file}: {text}");
        let commands = text.lines().filter(|line| line.starts_with("Exec")).filter_map(|line| line.split_once('='));
        for (_, command) in commands {
            let arguments = command.strip_prefix("/usr/bin/pcc-transport ").expect(&file).split(' ');
            // What is a variable is a path or a controller, but for ports.
            let arguments = arguments.filter(|argument| !argument.starts_with("$PCC"));
            let arguments = arguments.map(|argument| if argument.starts_with("[::]") { "[::]:443" } else { argument });
            // An option that doesn't exist is an error before help is given.
            called(&other, &arguments.chain(["--help"]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn systemd_can_read_the_units() {
    let folder = tempfile::tempdir().unwrap();
    let files = units("pcc-transport", folder.path()).into_iter().map(|(file, text)| {
        // The command and its pages aren't installed.
        let text = text.replace("/usr/bin/pcc-transport ", &format!("{} ", env!("CARGO_BIN_EXE_pcc")));
        let lines = text.lines().filter(|line| !line.starts_with("Documentation="));
        fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
        file
    });
    match Command::new("systemd-analyze").arg("verify").args(files).output() {
        Ok(Output { status, stderr, .. }) => {
            let said = String::from_utf8_lossy(&stderr);
            assert!(status.success() && !said.contains("pcc"), "{said}");
        }
        Err(error) => println!("skipped: systemd-analyze: {error}"),
    }
}

#[test]
fn another_name_shows_where_it_was_called_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("pcc-transport");
    symlink(env!("CARGO_BIN_EXE_pcc"), &other).unwrap();
    let help = called(&other, &["send", "--help"]);
    assert!(
        help.contains("Usage: pcc-transport send [OPTIONS]") && help.contains("  pcc-transport send photos/"),
        "{help}"
    );
    assert!(called(&other, &["--version"]).starts_with("pcc-transport 0."));
    assert!(called(&other, &["completions", "bash"]).contains("-o default pcc-transport\n"));
    let out = folder.path().join("man");
    called(&other, &["man", "--out", out.to_str().unwrap()]);
    assert!(out.join("pcc-transport-lab-run.1").is_file());
    // No page speaks of a command of the other name.
    for page in fs::read_dir(&out).unwrap() {
        let text = fs::read_to_string(page.unwrap().path()).unwrap().replace("\\-", "-");
        for bare in [" pcc ", "\npcc ", "`pcc ", "`pcc`", "(pcc ", " pcc\n", " pcc,", "man pcc-send"] {
            assert!(!text.contains(bare), "{bare:?} in {text}");
        }
    }
    let wrong = Command::new(&other).arg("sned").output().unwrap();
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(message.contains("Usage: pcc-transport "), "{message}");
}
