//! What is wrong in a scenario is named with its place and with what would be right.

use super::{Plan, QueueLimit};
use crate::link::{Limit, QueueConfig, QueueKind};
use std::path::Path;
use toml::Value;

const SCENARIO: &str = r#"
duration = "2s"

[[link]]
name = "bottleneck"
rate = "10mbit"
delay = "10ms"
queue = "30kB"

[[flow]]
controller = "cubic"

[[sweep]]
name = "buffer"
key = "link.queue"
values = ["30kB", "60kB"]

[[sweep]]
name = "sender"
key = "flow.controller"
values = ["cubic", "vivace-latency"]
"#;

fn plan(text: &str, overrides: &[(&str, &str)]) -> Result<Plan, String> {
    let overrides: Vec<(String, Value)> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), Value::String((*value).to_owned()))).collect();
    Plan::parse("x.toml", text, &overrides).map_err(|error| error.to_string())
}

/// The error after a piece of the scenario was replaced.
fn error_with(piece: &str, other: &str) -> String {
    assert!(SCENARIO.contains(piece), "{piece}");
    plan(&SCENARIO.replacen(piece, other, 1), &[]).unwrap_err()
}

fn assert_parts(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "\"{part}\" is missing in: {error}");
    }
}

#[test]
fn sweeps_are_combined_and_the_last_runs_fastest() {
    let plan = plan(SCENARIO, &[("duration", "3s")]).unwrap();
    let cases: Vec<String> = plan.cases.iter().map(|case| super::plan::shown(&case.labels)).collect();
    assert_eq!(cases[..2], ["buffer = 30kB, sender = cubic", "buffer = 30kB, sender = vivace-latency"]);
    assert_eq!(cases.len(), 4);
    assert!(plan.cases.iter().all(|case| case.scenario.duration.as_secs() == 3));
    assert_eq!(plan.cases[3].scenario.flow[0].controller, "vivace-latency");
}

#[test]
fn a_queue_is_a_limit_or_a_kind_and_a_limit() {
    let queue = |queue: &str| plan(&SCENARIO.replacen("\"30kB\"", queue, 1), &[]).unwrap().scenario.link[0].queue;
    let kinds = ["drop-tail", "codel", "drr", "fq-codel"];
    for (name, kind) in kinds.into_iter().zip(QueueKind::ALL).chain([("fair-queue", &QueueKind::Drr)]) {
        let config = QueueConfig::new(*kind, QueueLimit::Fixed(Limit::Packets(50)));
        assert_eq!(queue(&format!("{{ kind = \"{name}\", limit = \"50 packets\" }}")), Some(config));
    }
    let drop_tail = |limit| Some(QueueConfig::new(QueueKind::DropTail, limit));
    assert_eq!(queue("\"30kB\""), drop_tail(QueueLimit::Fixed(Limit::Bytes(30_000))));
    assert_eq!(queue("\"0.5 BDP\""), drop_tail(QueueLimit::Bdp(0.5)));
    let error = |queue| error_with("queue = \"30kB\"", queue);
    assert_parts(
        &error("queue = { kind = \"red\", limit = \"30kB\" }"),
        &["line 8", "unknown variant `red`", "`codel`"],
    );
    assert_parts(&error("queue = { kind = \"codel\" }"), &["line 8", "missing field `limit`; add limit = \"75kB\""]);
    assert_parts(&error("queue = \"30\""), &["line 8", "\"30\": the unit is missing; write for example 375kB"]);
    assert_parts(
        &error("queue = []"),
        &["line 8", "expected a queue limit such as \"75kB\", \"50 packets\" or \"0.5 BDP\""],
    );
}

#[test]
fn a_queue_can_be_a_multiple_of_what_the_link_carries_in_a_round_trip() {
    let with = |flows: &str| SCENARIO.replace("\"60kB\"", "\"2 BDP\"").replace("[[flow]]", flows);
    let limit = |text: &str| plan(text, &[]).map(|plan| plan.cases[2].lay_out(1).unwrap().links[0].queue.limit);
    assert_eq!(limit(&with("[[flow]]")), Ok(Limit::Bytes(50_000)), "10 Mbit/s and 20 ms");
    let codel = "{ label = \"x\", \"link.queue\" = { kind = \"codel\", limit = \"2bdp\" } }";
    assert_eq!(limit(&with("[[flow]]\nrtt = \"30ms\"").replace("\"2 BDP\"", codel)), Ok(Limit::Bytes(75_000)));
    let back = "[[link]]\nname = \"back\"\ndelay = \"50ms\"\n[[flow]]\nreverse = \"back\"";
    assert_eq!(limit(&with(back).replace("link.queue", "link.bottleneck.queue")), Ok(Limit::Bytes(150_000)));
    let other = "[[flow]]\ncontroller = \"cubic\"\nrtt = \"50ms\"\n[[flow]]";
    let error = limit(&with(other)).unwrap_err();
    assert_parts(&error, &["link.0.queue: the round trips", "from 20 ms to 50 ms", "write a size instead"]);
    let changes = with("[[flow]]").replace("delay =", "schedule = [{ at = \"1s\", rate = \"5mbit\" }]\ndelay =");
    assert_parts(&limit(&changes).unwrap_err(), &["link.0.queue: a multiple of the BDP needs a rate, and one"]);
    assert_parts(
        &limit(&with("[[flow]]").replace("2 BDP", "x BDP")).unwrap_err(),
        &["\"x BDP\": this does not start with a number; write for example 0.5 BDP"],
    );
    assert_parts(
        &limit(&with("[[flow]]").replace("2 BDP", "0.01 BDP")).unwrap_err(),
        &["link.0.queue: at most 250 bytes fit; a packet of 1500 bytes must"],
    );
}

#[test]
fn a_queue_marks_as_its_kind_can() {
    let with = |keys: &str| SCENARIO.replacen("\"30kB\"", &format!("{{ {keys} }}"), 1);
    let queue = |keys: &str| plan(&with(keys), &[]).unwrap().scenario.link[0].queue.unwrap();
    assert!(queue("kind = \"codel\", limit = \"1MB\", ecn = true").ecn);
    let threshold = queue("kind = \"drop-tail\", limit = \"1MB\", mark-above = \"65 packets\"").mark_above;
    assert_eq!(threshold, Some(Limit::Packets(65)));
    // In the file itself, as a sweep would replace it before it is checked.
    let error = |keys: &str| {
        let text = with(keys).replace("key = \"link.queue\"", "key = \"link.rate\"");
        plan(&text.replace("[\"30kB\", \"60kB\"]", "[\"10mbit\"]"), &[]).unwrap_err()
    };
    assert_parts(
        &error("kind = \"drop-tail\", limit = \"1MB\", ecn = true"),
        &["x.toml:8: link.0.queue.ecn: a drop-tail queue marks from a length on; write mark-above = \"65 packets\""],
    );
    assert_parts(
        &error("kind = \"fq-codel\", limit = \"1MB\", mark-above = \"65 packets\""),
        &["x.toml:8: link.0.queue.mark-above: this queue marks by time", "write ecn = true"],
    );
    assert_parts(
        &error("kind = \"drr\", limit = \"1MB\", ecn = true"),
        &["x.toml:8: link.0.queue.kind: this queue can't mark; codel and fq-codel can"],
    );
    assert_parts(
        &error("kind = \"drop-tail\", limit = \"1MB\", mark-above = 65"),
        &["line 8", "65 doesn't do", "50 packets"],
    );
    assert_parts(&error("kind = \"codel\", limit = \"1MB\", ecn = \"yes\""), &["line 8", "expected a boolean"]);
}

#[test]
fn hosts_with_ecn_need_a_queue_that_marks_and_a_controller_that_takes_marks() {
    let with = |queues: &str, flows: &str| {
        let text = SCENARIO.replace("\"30kB\", \"60kB\"", queues).replace("[[flow]]", "[[flow]]\necn = true");
        plan(&text.replace("[\"cubic\", \"vivace-latency\"]", flows), &[])
    };
    let codel = "{ kind = \"codel\", limit = \"60kB\", ecn = true }";
    let some = format!("\"30kB\", {{ label = \"marks\", \"link.queue\" = {codel} }}");
    assert!(with(&some, "[\"cubic\", \"bbr3\"]").is_ok(), "in one of the cases it has an effect");
    let error = with("\"30kB\"", "[\"cubic\"]").unwrap_err();
    assert_parts(
        &error,
        &["x.toml:11: flow.0.ecn: this has no effect where no queue of the route marks", "mark-above"],
    );
    let set = Plan::parse("x.toml", SCENARIO, &[("flow.ecn".to_owned(), Value::Boolean(true))]).unwrap_err();
    assert_parts(&set.to_string(), &["x.toml with flow.ecn = true: flow.0.ecn: this has no effect"]);
    let error = with(&some, "[\"bbr3\", \"vivace-latency\"]").unwrap_err();
    assert_parts(&error, &["x.toml:11: flow.0.ecn: this has no effect where no controller takes marks; cubic and"]);
}

#[test]
fn quantities_are_checked_where_they_stand() {
    let error = |line: &str| error_with("delay = \"10ms\"", line);
    assert_parts(&error("delay = 10"), &["line 7", "10 doesn't do; expected a duration such as \"30ms\""]);
    assert_parts(&error("delay = true"), &["line 7", "expected a duration such as \"30ms\""]);
    assert_parts(&error("delay = \"9999999s\""), &["line 7", "the longest is 1000000s"]);
    assert_parts(&error("loss = 1"), &["line 7", "1 doesn't do; expected a share such as \"1%\" or 0.01"]);
    assert_parts(&error("loss = \"120%\""), &["line 7", "this must be between 0 and 100%; write"]);
    assert_parts(
        &error("loss = { to-bad = 2, to-good = 1.0, loss-bad = 1.0 }"),
        &["line 7", "2 doesn't do", "or 0.01"],
    );
    assert_parts(&error("aggregation = \"5\""), &["line 7", "the unit is missing; write for example 30ms"]);
    assert_parts(&error("policer = { rate = \"1mbit\" }"), &["line 7", "missing field `burst`; add burst = \"30kB\""]);
    assert_parts(&error("schedule = [{ at = \"x\" }]"), &["line 7", "this does not start with a number"]);
    assert_parts(&error("vary = { every = \"1s\", delay = [\"1ms\"] }"), &["line 7", "invalid length 1"]);
}

#[test]
fn times_after_the_end_never_come() {
    let flow = |lines: &str| error_with("controller = \"cubic\"", &format!("controller = \"cubic\"\n{lines}"));
    let before = "this must be before the end";
    assert_parts(&flow("start = \"2s\""), &["x.toml:12: flow.0.start: ", before]);
    assert_parts(&flow("count = 5\nstagger = \"500ms\""), &["x.toml:13: flow.0.stagger: with this the last of them"]);
    let late = "schedule = [{ at = \"1s\", loss = \"1%\" },\n{ at = \"3s\", loss = \"2%\" }]";
    assert_parts(
        &error_with("delay = \"10ms\"", &format!("delay = \"10ms\"\n{late}")),
        &["x.toml:9: link.0.schedule.1: ", before],
    );
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let link = |line: &str| error_with("delay = \"10ms\"", &format!("delay = \"10ms\"\n{line}"));
    assert_parts(&link("vary = { every = \"1s\" }"), &["x.toml:8: link.0.vary: this needs a rate, a delay or a loss"]);
    let twin = "[[link]]\nname = \"bottleneck\"\n\n[[flow]]";
    assert_parts(&error_with("[[flow]]", twin), &["x.toml:11: link.1.name: another link is called bottleneck, too"]);
    let quick = |line: &str| error_with("[[flow]]", &format!("[quick]\n{line}\n\n[[flow]]"));
    assert_parts(&quick("durtion = \"1s\""), &["x.toml:10: quick: durtion = ", "(did you mean \"duration\"?)"]);
    let mut plan = plan(&SCENARIO.replace(", \"vivace-latency\"", ""), &[]).unwrap();
    assert_parts(&plan.use_utility("x").unwrap_err().to_string(), &["no flow has a PCC profile"]);
}

#[test]
fn a_placeholder_that_is_not_there_is_no_word_of_a_command() {
    let command = |line: &str| SCENARIO.replace("controller = \"cubic\"", &format!("controller = \"cubic\"\n{line}"));
    let error = |line| plan(&command(line), &[]).unwrap_err();
    assert_parts(&error("command = 'echo {foo}'"), &["x.toml:12: flow.0.command: there is no {foo}, only {server}, "]);
    assert_parts(&error("command = 'x'\nserver = 'y {serve}'"), &["x.toml:13: flow.0.server: there is no {serve}"]);
    for fine in ["x {server} -t {seconds}", "bash -c 'f() { echo ${HOME}; }; f {a,b} {1..2} {}'"] {
        assert!(plan(&command(&format!("command = \"{fine}\"")), &[]).is_ok(), "{fine}");
    }
}

#[test]
fn what_cannot_be_shown_is_no_name() {
    let shown = "the character \\u{1b} can't be shown";
    assert_parts(&error_with("\"bottleneck\"", "\"a\\u001bb\""), &["x.toml:5: link.0.name: ", shown]);
    assert_parts(&error_with("[[flow]]", "[[flow]]\nname = \"\\u001b[2J\""), &["x.toml:11: flow.0.name: ", shown]);
    assert_parts(&error_with("\"buffer\"", "\"\\u001b\""), &["sweep: name: ", shown]);
    let label = "[{ label = \"\\u001b\", duration = \"1s\" }]";
    assert_parts(&error_with("[\"30kB\", \"60kB\"]", label), &["x.toml:13: sweep.buffer: ", shown]);
    assert!(!error_with("duration", "title = \"a\\tb\"\nduration").contains('\t'));
}

#[test]
fn a_missing_file_is_named() {
    let error = Plan::read(Path::new("no/such.toml"), &[]).unwrap_err().to_string();
    assert_parts(&error, &["can't read no/such.toml"]);
}

#[test]
fn mistakes_in_the_file_show_the_line() {
    assert_parts(&error_with("\"10mbit\"", "\"10mbit"), &["x.toml: ", "line 6"]);
    assert_parts(
        &error_with("delay =", "dely ="),
        &["line 7", "unknown field `dely`", "`delay`", "(did you mean \"delay\"?)"],
    );
    assert_parts(&error_with("10mbit", "10MB"), &["line 6", "rate =", "known are kbit, mbit or gbit"]);
    assert_parts(
        &error_with("controller =", "count = \"two\"\ncontroller ="),
        &["line 11", "invalid type: string \"two\", expected a whole number, such as 2"],
    );
    assert_parts(&error_with("[[flow]]", "[[sweep]]\nvalues = [1]\n\n[[flow]]"), &["line 10", "`name`; add name = "]);
    assert_parts(&error_with("[[link]]", "[link]"), &["line 4", "two brackets, such as [[link]]"]);
    assert_parts(
        &error_with("duration = \"2s\"", ""),
        &["missing field `duration`; add duration = \"60s\" at the top"],
    );
}

#[test]
fn mistakes_in_values_show_the_line_and_the_key() {
    assert_parts(
        &error_with("controller = \"cubic\"", "controller = \"cubic\"\nroute = [\"top\"]"),
        &["x.toml:12: flow.0.route: there is no link \"top\"; known are bottleneck"],
    );
    assert_parts(
        &error_with("controller = \"cubic\"", "controller = \"cubic\"\nsize = \"100B\"\nload = \"50%\""),
        &["x.toml:13: flow.0.load: these are 12500 transfers; at most 10000 can be simulated"],
    );
    assert_parts(&error_with("\"2s\"", "\"0s\""), &["x.toml:2: duration: this must be more than 0s"]);
}

#[test]
fn mistakes_in_sweeps_show_the_sweep_the_key_and_the_case() {
    let sweep = "x.toml:18: sweep.sender: ";
    assert_parts(
        &error_with("flow.controller", "flow.contoller"),
        &[
            sweep,
            "flow.contoller: unknown field `contoller`",
            "(did you mean \"controller\"?)",
            "(in the case buffer = 30kB, sender =",
        ],
    );
    assert_parts(
        &error_with("flow.controller", "link.delay"),
        &[sweep, "link.delay: \"cubic\": this does not start with a number; write for example 30ms"],
    );
    assert_parts(
        &error_with("vivace-latency", "vivace-latncy"),
        &[sweep, "flow.0.controller: there is no controller", "did you mean \"vivace-latency\"?"],
    );
    let draw = "draw = { cases = 2, from = { \"link.delay\" = [\"50ms\", \"5ms\"] } }";
    assert_parts(
        &error_with("key = \"link.queue\"\nvalues = [\"30kB\", \"60kB\"]", draw),
        &["x.toml:13: sweep.buffer: draw.from.\"link.delay\" must have the smaller quantity first"],
    );
    assert_parts(
        &error_with("flow.controller", "flow.3.controller"),
        &[sweep, "flow.3.controller: there is no flow 3"],
    );
    assert_parts(&error_with("[\"30kB\", \"60kB\"]", "[]"), &["x.toml:13: sweep.buffer: a sweep needs values"]);
}

#[test]
fn a_link_that_is_not_there_is_missed_by_its_name() {
    let known = "there is no link \"bottlneck\"; known are bottleneck; nor is it a key of all of them: unknown field `bottlneck`";
    let sweep = "x.toml:13: sweep.buffer: link.bottlneck.queue: ";
    assert_parts(&error_with("link.queue", "link.bottlneck.queue"), &[sweep, known, "`queue`"]);
    let error = plan(SCENARIO, &[("link.bottlneck.rate", "1mbit")]).unwrap_err();
    assert_parts(&error, &["x.toml with link.bottlneck.rate = \"1mbit\": ", known]);
    let error = error_with("flow.controller", "flow.victim.controller");
    assert_parts(&error, &["there is no flow \"victim\"; give the flows names"]);
    assert!(!error_with("link.queue", "link.queu").contains("there is no link"), "no name was meant");
}

#[test]
fn mistakes_in_overrides_name_what_was_set() {
    let error = |key, value| plan(SCENARIO, &[("link.delay", "20ms"), (key, value)]).unwrap_err();
    assert_parts(
        &error("link.lss", "1%"),
        &["x.toml with link.lss = \"1%\": unknown field `lss` (did you mean \"loss\"?), expected one of", "`loss`"],
    );
    assert_parts(&error("lnk.loss", "1%"), &["x.toml with lnk.loss = \"1%\": unknown field `lnk`", "`link`"]);
    assert_parts(&error("link.loss", "3x"), &["x.toml with link.loss = \"3x\": \"3x\": ", "such as 1%"]);
    assert_parts(&error("link.rate.unit", "x"), &["x.toml with link.rate.unit = \"x\": there is no such key"]);
}

#[test]
fn only_settings_of_the_network_can_be_made() {
    let with = |line: &str| error_with("duration = \"2s\"", &format!("duration = \"2s\"\nkernel = {{ {line} }}"));
    assert_parts(&with("sysctl = { \"kernel.panic\" = 1 }"), &["kernel.sysctl", "kernel.panic", "net.ipv4."]);
    assert_parts(&with("sysctl = { \"net.ipv4.../../kernel/panic\" = 1 }"), &["kernel.sysctl"]);
    assert_parts(&with("gso-max-segs = 0"), &["kernel.gso-max-segs", "at least 1"]);
}

#[test]
fn hosts_are_named_and_changed() {
    let error = |host: &str| error_with("controller = \"cubic\"", &format!("controller = \"cubic\"\n{host}"));
    assert_parts(
        &error("host = \"linx\""),
        &["line 12", "\"linx\": there is no such host (did you mean \"linux\"?)", "busy-vm"],
    );
    assert_parts(&error("host = { base = \"linx\" }"), &["line 12", "did you mean \"linux\"?"]);
    assert_parts(&error("host = { slck = \"1ms\" }"), &["line 12", "unknown field `slck`", "`slack`"]);
    assert_parts(&error("host = { pacing = \"even\" }"), &["line 12", "unknown variant `even`", "`tick`"]);
    assert_parts(&error("host = 3"), &["line 12", "a host such as \"linux\", or a table"]);
    assert_parts(&error("host = { pacing = \"tick\" }"), &["x.toml:12: flow.0.host: this pacing needs a tick"]);
    assert_parts(&error("sender-host = { tick = \"0s\" }"), &["x.toml:12: flow.0.sender-host: tick must be more"]);
    let stalls = "receiver-host = { stalls = { every = \"0s\", length = \"1ms\" } }";
    assert_parts(&error(stalls), &["x.toml:12: flow.0.receiver-host: stalls.every: this must be at least 10us"]);
    let link = |line: &str| error_with("delay = \"10ms\"", &format!("delay = \"10ms\"\n{line}"));
    assert_parts(&link("stalls = { every = \"1s\", length = 5 }"), &["line 8", "a length of stalls"]);
    let table = "expected a table, such as { every = \"100ms\", length = \"5ms\" }";
    assert_parts(&link("pauses = \"5ms\""), &["line 8", table]);
    assert_parts(&link("stalls = { every = \"1us\", length = \"1ms\" }"), &["x.toml:8: link.0.stalls.every: "]);
    let both = "pauses = { every = \"1s\", length = \"1ms\" }\nschedule = [{ at = \"1s\", loss = \"1%\" }]";
    assert_parts(&link(both), &["x.toml:8: link.0.pauses: this needs a rate, and neither"]);
}

#[test]
fn sweeps_that_undo_each_other_are_refused() {
    let both = "x.toml:18: sweep.sender: this sets what the sweep buffer sets, link.queue, so that buffer would have no effect";
    assert_parts(
        &error_with("key = \"flow.controller\"", "key = \"link.bottleneck.queue\""),
        &[both, "keys of its own"],
    );
    assert_parts(&error_with("key = \"flow.controller\"", "key = \"link\""), &[both]);
    // The second is about one of the flows that the first is about.
    let two = SCENARIO.replace("[[flow]]", "[[flow]]\nname = \"other\"\ncontroller = \"cubic\"\n\n[[flow]]");
    let special = "name = \"sender\"\nkey = \"flow.other.controller\"";
    let two = two.replace("name = \"sender\"\nkey = \"flow.controller\"", special);
    assert!(plan(&two.replace("link.queue", "flow.0.controller").replace("kB", ""), &[]).is_err());
    let all = two.replace(
        "key = \"link.queue\"\nvalues = [\"30kB\", \"60kB\"]",
        "key = \"flow.controller\"\nvalues = [\"cubic\", \"newreno\"]",
    );
    assert_eq!(plan(&all, &[]).unwrap().cases[1].scenario.flow[1].controller, "cubic");
}

#[test]
fn a_setting_that_a_sweep_undoes_is_refused() {
    let error = |key: &str, value: &str| plan(SCENARIO, &[(key, value)]).unwrap_err();
    let start =
        "x.toml with flow.0.controller = \"copa\": this would have no effect: the sweep sender sets it in every case";
    assert_parts(&error("flow.0.controller", "copa"), &[start, "sweep.sender.values = [\"copa\"]"]);
    let quick = SCENARIO.to_owned() + "\n[quick]\n\"link.queue\" = \"15kB\"\n";
    assert_parts(&plan(&quick, &[]).unwrap_err(), &["quick: link.queue = ", "the sweep buffer sets it in every case"]);
    // Here it is for the cases that say nothing of it.
    let some =
        SCENARIO.replace("[\"30kB\", \"60kB\"]", "[{ label = \"a\" }, { label = \"b\", \"link.loss\" = \"1%\" }]");
    assert!(plan(&some, &[("link.loss", "2%")]).is_ok());
    let values = Value::Array(vec![Value::String("copa".to_owned())]);
    let plan = Plan::parse("x.toml", SCENARIO, &[("sweep.sender.values".to_owned(), values)]).unwrap();
    assert_eq!(plan.cases[0].scenario.flow[0].controller, "copa");
}

#[test]
fn a_sweep_over_seeds_is_refused() {
    let error = error_with("key = \"link.queue\"\nvalues = [\"30kB\", \"60kB\"]", "key = \"seeds\"\nvalues = [1, 2]");
    assert_parts(&error, &["x.toml:13: sweep.buffer: seeds: all cases run with the same seeds; set seeds = 3"]);
}

#[test]
fn what_a_setting_makes_wrong_elsewhere_is_its_fault() {
    let error = |key: &str, value: &str| plan(SCENARIO, &[(key, value)]).unwrap_err();
    assert_parts(&error("flow.start", "3s"), &["x.toml with flow.start = \"3s\": flow.0.start: this must be before"]);
    let late = SCENARIO.replace("controller = \"cubic\"", "controller = \"cubic\"\nstart = \"1s\"");
    let error = plan(&late, &[("duration", "1s")]).unwrap_err();
    assert_parts(&error, &["x.toml with duration = \"1s\": flow.0.start: this must be before the end"]);
    assert!(!error.contains("x.toml:"), "no line of the file is wrong: {error}");
    let error = Plan::parse("x.toml", SCENARIO, &[("sweep.buffer.values".to_owned(), Value::Array(Vec::new()))]);
    assert_parts(
        &error.unwrap_err().to_string(),
        &["x.toml with sweep.buffer.values = []: sweep.buffer: a sweep needs"],
    );
}

#[test]
fn flows_are_counted_from_0_and_have_names_of_their_own() {
    let error = plan(SCENARIO, &[("flow.1.rtt", "50ms")]).unwrap_err();
    let only =
        "x.toml with flow.1.rtt = \"50ms\": there is no flow 1: they are counted from 0, and the only one is flow.0";
    assert_parts(&error, &[only]);
    let two = SCENARIO.replace("[[flow]]", "[[flow]]\nname = \"a\"\ncontroller = \"cubic\"\n\n[[flow]]\nname = \"a\"");
    assert_parts(&plan(&two, &[]).unwrap_err(), &["x.toml:15: flow.1.name: another flow is called a, too"]);
    let two = two.replacen("name = \"a\"", "name = \"b\"", 1);
    assert_parts(&plan(&two, &[("flow.2.rtt", "50ms")]).unwrap_err(), &["the last one is flow.1"]);
}

#[test]
fn flows_without_a_name_are_told_apart() {
    let names = |flows: &str| plan(&SCENARIO.replace("[[flow]]", flows), &[]).unwrap().cases[0].scenario.flow_names();
    let cubic = "[[flow]]\ncontroller = \"cubic\"\n";
    assert_eq!(names(&format!("{cubic}{cubic}[[flow]]")), ["cubic", "cubic-2", "cubic-3"]);
    let given = |name: &str| format!("{cubic}{cubic}[[flow]]\nname = \"{name}\"");
    assert_eq!(names(&given("cubic")), ["cubic-2", "cubic-3", "cubic"], "a name that is given stays");
    assert_eq!(names(&given("cubic-2")), ["cubic", "cubic-3", "cubic-2"]);
}

#[test]
fn small_numbers_are_drawn_with_digits_that_say_something() {
    let with = |range: &str| {
        let draw = format!("draw = {{ cases = 20, from = {{ \"link.loss\" = {range} }} }}");
        plan(&SCENARIO.replace("key = \"link.queue\"\nvalues = [\"30kB\", \"60kB\"]", &draw), &[]).unwrap()
    };
    let losses = |plan: &Plan| -> Vec<Value> { plan.cases.iter().map(|case| case.settings[0].1.clone()).collect() };
    let wide = losses(&with("[\"0.000001\", \"0.2\"]"));
    assert!(wide.iter().all(|loss| loss.as_str().unwrap().parse::<f64>().unwrap() >= 1e-6), "{wide:?}");
    assert!(wide.iter().all(|loss| loss.as_str().unwrap().len() <= "0.000001234".len()), "{wide:?}");
    let usual = losses(&with("[\"0.01%\", \"1%\"]"));
    assert!(usual.iter().all(|loss| loss.as_str().unwrap().len() == "0.0123%".len()), "{usual:?}");
}

#[test]
fn what_would_fill_the_memory_is_refused() {
    let unlimited = SCENARIO.replace("rate = \"10mbit\"\n", "").replace("queue = \"30kB\"\n", "");
    let unlimited = unlimited.replace("key = \"link.queue\"", "key = \"link.delay\"").replace("kB", "ms");
    let large = unlimited.replace("controller = \"cubic\"", "controller = \"cubic\"\nsize = \"1000000GB\"");
    assert_parts(&plan(&large, &[]).unwrap_err(), &["flow.0.size: no link of its route has a rate", "at most 1GB"]);
    assert!(plan(&large.replace("1000000GB", "1GB"), &[]).is_ok());
    let window = "controller = \"cubic\"\nhost = { initial-window = 1000000000 }";
    assert_parts(&error_with("controller = \"cubic\"", window), &["x.toml:12: flow.0.host: initial-window must be"]);
    let long = format!("controller = \"vivace-latency\"\nutility = \"x{}\"", " + x".repeat(50_000));
    let profiles = SCENARIO.replace("\"cubic\", \"vivace-latency\"", "\"vivace-latency\"");
    let error = plan(&profiles.replace("controller = \"cubic\"", &long), &[]).unwrap_err();
    assert_parts(&error, &["too long: a formula has at most 1000 parts"]);
    assert!(error.len() < 2000, "not all of it is shown: {error}");
}

#[test]
fn a_link_may_stop_for_a_while() {
    let with =
        |changes: &str| SCENARIO.replace("delay = \"10ms\"", &format!("delay = \"10ms\"\nschedule = [{changes}]"));
    let outage = plan(&with("{ at = \"500ms\", rate = \"0mbit\" }, { at = \"1s\", rate = \"10mbit\" }"), &[]).unwrap();
    let run = crate::run::simulate(&outage.cases[0], 1, false).unwrap();
    // The rest of a packet in service may come a moment later.
    let delivered = |bins: std::ops::Range<usize>| run.outcome.flows[0].bins[bins].iter().sum::<u64>();
    assert_eq!(delivered(6..10), 0, "{:?}", run.outcome.flows[0].bins);
    assert!(delivered(11..20) > 500_000 && delivered(0..5) > 0);
    assert_parts(
        &plan(&with("{ at = \"1s\", rate = \"1kbit\" }"), &[]).unwrap_err(),
        &["between 10kbit and 10gbit, or 0"],
    );
    let hint = "a rate must be between 10kbit and 10gbit; an outage is a change in the schedule, such as { at =";
    assert_parts(&error_with("\"10mbit\"", "\"0mbit\""), &["line 6", hint]);
    assert!(!error_with("\"10mbit\"", "\"1kbit\"").contains("outage"));
}
