use super::*;
use crate::plot::colour;
use crate::report::aligned;

const FIGURE: &str = r#"
title = "Small queues"
duration = "3s"
seeds = 2
quick = { duration = "1s", "sweep.0.values" = ["15kB"] }

[[link]]
rate = "10mbit"
delay = "10ms"
queue = "15kB"

[[flow]]
controller = "vivace-latency"

[[flow]]
name = "late"
controller = "cubic"
start = "500ms"

[[sweep]]
name = "queue"
key = "link.queue"
values = ["15kB", "0.1MB"]

[[sweep]]
name = "rate"
values = [{ label = "slow", "link.rate" = "5mbit" }, { label = "fast", "link.rate" = "10mbit" }]

[figure]
id = "A2"
source = "A paper, Fig. 2"
published = "All of the link | always."
note = "Only a test."

[[figure.plot]]
kind = "lines"
x = "queue"
series = "rate"
log-x = true

[[figure.plot]]
kind = "cdf"
y = "rtt-mean"

[[figure.plot]]
kind = "scatter"
x = "run-goodput"
y = "loss"
series = "rate"

[[figure.plot]]
kind = "time"
where = { queue = "15kB", rate = "fast" }

[[figure.claim]]
text = "both flows fill the link"
published = "10 Mbit/s"
metric = "run-goodput"
where = { rate = "fast", queue = "15kB" }
min = 5
max = 10.1

[[figure.claim]]
text = "twice the rate, twice the goodput"
published = "2x"
metric = "run-goodput"
where = { rate = "fast" }
over = { rate = "slow" }
min = 1.5
max = 2.5

[[figure.claim]]
text = "a flow is a fraction of itself"
published = "1"
metric = "goodput"
over-flow = "vivace-latency"
reduce = "max"
min = 1
max = 1

[[figure.claim]]
text = "it converges at once"
published = "0 s"
metric = "convergence"
max = 0
reason = "the run is too short"

[[figure.claim]]
text = "they share well"
published = "1"
metric = "run-jain-500ms"
min = 2

[[figure.claim]]
text = "a large queue"
published = "?"
metric = "goodput"
where = { queue = "0.1MB" }
min = 0
"#;

fn study(quick: bool) -> Study {
    Study::parse("a2.toml", FIGURE, quick).unwrap()
}

/// The error after a piece of the figure was replaced.
fn error_with(piece: &str, other: &str) -> String {
    assert!(FIGURE.contains(piece), "{piece}");
    Study::parse("a2.toml", &FIGURE.replacen(piece, other, 1), false).unwrap_err().to_string()
}

#[test]
fn claims_are_judged_by_the_runs_they_are_about() {
    let studies = [study(false)];
    assert_eq!((studies[0].runs(), studies[0].simulated_seconds()), (8, 24.0));
    let finished = run(&studies, 2, &|_| {}).unwrap();
    let rows: Vec<Vec<String>> = finished[0].findings.iter().map(|finding| finding.row().to_vec()).collect();
    insta::assert_snapshot!(aligned(&rows, 5));
    let runs: Vec<usize> = finished[0].findings.iter().map(|finding| finding.runs).collect();
    assert_eq!(runs, [2, 4, 8, 8, 8, 4]);
    assert!(finished[0].plots().unwrap().iter().all(Option::is_some));
}

#[test]
fn the_short_version_leaves_out_what_it_does_not_run() {
    let studies = [study(true)];
    assert_eq!(studies[0].simulated_seconds(), 4.0);
    let finished = run(&studies, 1, &|_| {}).unwrap();
    assert_eq!(finished[0].findings[5].verdict, Verdict::NotRun);
    insta::assert_snapshot!(markdown(
        &finished,
        &[vec![true, false, true, false]],
        "pcc lab figures A2 --quick",
        "0.0.0"
    ));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let studies = [study(true), study(true)];
    let show = |jobs| {
        let finished = run(&studies, jobs, &|_| {}).unwrap();
        finished.iter().map(|figure| format!("{:?} {:?}", figure.findings, figure.plots().unwrap())).collect::<String>()
    };
    assert_eq!(show(1), show(3));
}

#[test]
fn lines_are_drawn_at_the_numbers_of_their_labels() {
    let studies = [study(true)];
    let finished = run(&studies, 2, &|_| {}).unwrap();
    let plots = finished[0].plots().unwrap();
    let lines = plots[0].as_ref().unwrap();
    for text in ["Small queues", "A2, A paper, Fig. 2", "slow", "fast", "15kB", "goodput, Mbit/s"] {
        assert!(lines.contains(text), "{text}");
    }
    assert!(plots[3].as_ref().unwrap().contains("queue = 15kB, rate = fast"));
    assert!(colour(0) != colour(1));
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    for (piece, other, parts) in [
        (
            "metric = \"goodput\"",
            "metric = \"godput\"",
            ["figure.claim.2.metric: there is no metric \"godput\"", "run-jain-5s"],
        ),
        (
            "over-flow = \"viv",
            "over-flow = \"vv",
            ["figure.claim.2.over-flow: there is no flow", "there are vivace-latency, late"],
        ),
        (
            "where = { rate = \"fast\" }",
            "where = { rat = \"fast\" }",
            ["a2.toml:", "claim.1.where: there is no sweep \"rat\"; there are queue, rate"],
        ),
        (
            "over = { rate = \"slow\" }",
            "over = { rate = \"slw\" }",
            ["figure.claim.1.over.rate: there is no label", "there are slow, fast"],
        ),
        ("x = \"queue\"", "x = \"que\"", ["figure.plot.0.x: there is no sweep", "queue, rate"]),
        ("metric = \"run-jain-500ms\"", "metric = \"run-jain-1ms\"", ["figure.claim.4.metric", "at least 100ms"]),
        ("min = 2\n", "", ["figure.claim.4.text", "a claim needs min, max or both"]),
    ] {
        let error = error_with(piece, other);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn figures_are_chosen_by_id_and_come_in_order() {
    let file = |id: &str| format!("[figure]\nid = \"{id}\"");
    let texts = ["V1", "A10", "X1", "A2", "V3b", "V3a"].map(file);
    let mut files: Vec<(&str, &str)> = texts.iter().map(|text| (text.as_str(), text.as_str())).collect();
    files.push(("no figure", "duration = \"1s\""));
    let ids = |wanted: &[&str]| {
        let wanted: Vec<String> = wanted.iter().map(|id| (*id).to_owned()).collect();
        let ids = |chosen: Vec<(&str, &str)>| {
            chosen.iter().filter_map(|(_, text)| text.split('"').nth(1).map(str::to_owned)).collect()
        };
        choose(&files, &wanted).map(ids)
    };
    let all: Vec<String> = ids(&[]).unwrap();
    assert_eq!(all, ["A2", "A10", "X1", "V1", "V3a", "V3b"]);
    assert_eq!(ids(&["v3A", "a2"]).unwrap(), ["A2", "V3a"]);
    assert_eq!(
        ids(&["A2", "B1"]).unwrap_err().to_string(),
        "there is no figure \"B1\"; there are A2, A10, X1, V1, V3a, V3b"
    );
}
