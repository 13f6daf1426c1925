//! `pcc lab gauntlet`, as people run it.

mod browser;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The first cases of a seed in which these are slow paths, and so cheap.
const CASES: [&str; 6] = ["--seed", "16", "--cases", "3", "--controllers", "cubic,newreno"];

fn gauntlet(arguments: &[&str]) -> Output {
    let mut pcc = Command::new(env!("CARGO_BIN_EXE_pcc"));
    pcc.args(["lab", "gauntlet"]).args(arguments).output().expect("pcc runs")
}

/// Runs some cases into a folder.
fn into(folder: &Path, arguments: &[&str]) -> Output {
    gauntlet(&[&CASES[..], &["--out", folder.to_str().expect("UTF-8")], arguments].concat())
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A mistake of the user, and what is said about it.
fn mistake(output: &Output, said: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains(said), "{error}");
}

/// The files in a folder, but for those of shards.
fn files(folder: &Path) -> Vec<(String, String)> {
    let read = |name: &str| (name.to_owned(), fs::read_to_string(folder.join(name)).expect(name));
    ["results.jsonl", "scores.jsonl", "table.txt", "index.html"].map(read).to_vec()
}

#[test]
fn one_run_shards_and_a_run_that_was_killed_give_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [once, sharded, killed] = ["once", "sharded", "killed"].map(|name| folder.path().join(name));
    let table = succeeds(&into(&once, &["--jobs", "1"]));
    assert_eq!(table, fs::read_to_string(once.join("table.txt")).expect("a table"));

    succeeds(&into(&sharded, &["--shard", "1/2"]));
    succeeds(&into(&sharded, &["--shard", "2/2", "--jobs", "2"]));
    let read = |name: &str| fs::read_to_string(sharded.join(name)).expect(name);
    assert_eq!(read("results-1-of-2.jsonl").lines().count(), 4);
    assert_eq!(read("results-2-of-2.jsonl").lines().count(), 2);
    succeeds(&into(&sharded, &["--resume"]));
    assert_eq!(files(&once), files(&sharded));

    // Killed while it wrote the third line.
    let whole = fs::read_to_string(once.join("results.jsonl")).expect("results");
    let torn: usize = whole.lines().take(2).map(|line| line.len() + 1).sum();
    fs::create_dir(&killed).expect("a folder");
    fs::write(killed.join("results.jsonl"), &whole[..torn + 20]).expect("a file");
    mistake(&into(&killed, &[]), "--resume goes on with them");
    succeeds(&into(&killed, &["--resume"]));
    assert_eq!(files(&once), files(&killed));

    mistake(
        &into(&killed, &["--resume", "--final"]),
        "results.jsonl:1: this is cubic in the development case 0 of seed 16",
    );
    let lines = succeeds(&into(&killed, &["--resume", "--json"]));
    let scores: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!([&scores[0]["controller"], &scores[1]["controller"]], ["cubic", "newreno"]);
    assert!(scores[0]["objectives"][2]["worst_cases"].as_array().is_some_and(|cases| cases.len() == 3), "{lines}");
}

#[test]
fn a_case_can_be_printed_and_run_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("case.toml");
    let text = succeeds(&gauntlet(&["--seed", "16", "--case", "1", "--controllers", "cubic,newreno"]));
    fs::write(&file, text).expect("a file");
    let mut pcc = Command::new(env!("CARGO_BIN_EXE_pcc"));
    let alone = pcc.args(["lab", "run", "--seed", "1", "--json"]).arg(&file).output().expect("pcc runs");
    let lines = succeeds(&alone);
    let alone: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();

    // Both in one command.
    let plots = folder.path().join("plots");
    let at_once = ["--seed", "16", "--case", "1", "--controllers", "cubic,newreno", "--out"];
    let table = succeeds(&gauntlet(&[&at_once[..], &[plots.to_str().expect("UTF-8")]].concat()));
    let read = |name: &str| fs::read_to_string(plots.join(name)).expect(name);
    assert_eq!(read("scenario.toml"), fs::read_to_string(&file).expect("a scenario"));
    assert_eq!((read("table.txt"), read("runs.jsonl")), (table, lines));
    for controller in ["cubic", "newreno"] {
        assert!(read(&format!("{controller}-seed-1.svg")).contains("<svg"));
    }

    let out = folder.path().join("out");
    succeeds(&into(&out, &[]));
    let results = fs::read_to_string(out.join("results.jsonl")).expect("results");
    let results: Vec<serde_json::Value> = results
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|r: &serde_json::Value| r["case"] == 1)
        .collect();
    for (alone, result) in alone.iter().zip(&results) {
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        for (alone, among) in [("goodput", "throughput"), ("queueing_p95", "delay")]
            .map(|(flow, metric)| (number(&alone["flows"][0][flow]), number(&result["metrics"][metric])))
        {
            assert!((alone - among).abs() <= 1e-5 * alone, "{alone} {among}");
        }
    }
}

#[test]
fn mistakes_are_said() {
    mistake(&gauntlet(&["--controllers", "cubik"]), "cubic");
    mistake(&gauntlet(&["--controllers", "cubic,bbr1,cubic"]), "cubic is in --controllers twice");
    mistake(&gauntlet(&["--shard", "3/2", "--out", "x"]), "such as 1/4");
    mistake(&gauntlet(&["--resume"]), "--out");
}

/// A real browser shows the table, the map, and the case that the address names.
#[test]
fn a_browser_shows_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    succeeds(&into(folder.path(), &[]));
    let Some(shown) = browser::shown(&folder.path().join("index.html"), "case-2") else { return };
    assert_eq!(shown.matches("fill=\"hsl(").count(), 3 + 4, "three cases in the map, and four points in its legend");
    for part in [
        "3 development cases of seed 16, 2 controllers",
        "<tr tabindex=\"0\" data-go=\"controller-1\"",
        "<tr tabindex=\"0\" data-go=\"case-2\" class=\"selected\">",
        "<h3>2-",
        "<polyline points=\"5",
        "<td class=\"name\">situation</td>",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}
