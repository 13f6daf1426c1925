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
    assert!(send.contains("Exit codes:") && send.contains("pcc send photos/"), "{send}");
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
    let wrong = Command::new(&other).arg("sned").output().unwrap();
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(message.contains("Usage: pcc-transport "), "{message}");
}
