//! `pcc lab tune`, as people run it.

use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn tune(arguments: &[&str]) -> Output {
    let mut pcc = Command::new(env!("CARGO_BIN_EXE_pcc"));
    // A seed in which the first cases are slow paths, and so cheap.
    pcc.args(["lab", "tune"]).args(arguments).args(["--seed", "16", "--cases", "3"]).output().expect("pcc runs")
}

#[test]
fn trials_are_written_and_repeat() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let wanted = ["queue-target", "--vary", "utility.packets=1..9", "--peers", "cubic", "--trials", "2", "--json"];
    let output = tune(&[&wanted[..], &["--out", out.to_str().expect("UTF-8")]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(lines, fs::read_to_string(out.join("trials.jsonl")).expect("trials"));
    let trials: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(trials.len(), 3, "{lines}");
    assert!(trials[0]["constant"].is_null() && trials[0]["values"][0] == 3.0, "{lines}");
    assert!(trials[1]["constant"] == "utility.packets" && trials[1]["values"][0] == 5.2, "{lines}");
    assert!(fs::read_to_string(out.join("table.txt")).expect("a table").contains("set.utility.packets = "));
    assert_eq!(lines.as_bytes(), tune(&wanted).stdout);
}

#[test]
fn mistakes_are_named() {
    let every = "--vary=control.drain.every=1..4";
    for (arguments, said) in [
        (&["queue-target", "--vary=control.drain.evry=1..4"][..], "did you mean \"every\"?"),
        (&["queue-target", "--vary=control.drain.every=3..4"], "it is 2, which must be within"),
        (&["queue-target", "--vary=control.drain.every=4"], "such as control.drain.every=1..4"),
        (&["queue-target", "--vary=control.competes=1..4"], "isn't a number"),
        (&["vivace-latency", "--vary=control.probe-step=0.01..2"], "isn't between 0 and 0.9"),
        (&["queue-target", every, every], "control.drain.every is in --vary twice"),
        (&["queue-target", every, "--objective=fast"], "bulk, interactive, mixed"),
        (&["queue-target", every, "--peers=cubik"], "did you mean \"cubic\"?"),
        (&["cubic", every], "not a profile"),
    ] {
        let output = tune(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(said), "{arguments:?}: {error}");
    }
}
