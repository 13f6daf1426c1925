//! Scenarios on real traffic, as people run them. Most of it needs root and TUN.

mod browser;

use std::path::Path;
use std::process::{Command, Output};

const LINK: &str = r#"
duration = "2s"
[[link]]
rate = "20mbit"
delay = "5ms"
queue = "50kB"
"#;

/// Runs `pcc lab` with a scenario of one link and these flows.
fn lab(subcommand: &str, flows: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.toml");
    std::fs::write(&file, format!("{LINK}{flows}")).expect("a scenario");
    let mut pcc = Command::new(env!("CARGO_BIN_EXE_pcc"));
    pcc.args(["lab", subcommand]).arg(&file).args(arguments).output().expect("pcc runs")
}

/// What `pcc lab run --on emulator` prints, as [`real`].
fn emulated(flows: &str, arguments: &[&str]) -> Option<Output> {
    real("run", flows, &[&["--on", "emulator"], arguments].concat())
}

/// What a command prints that needs the emulator, or `None` where there can be none, or where the machine is too busy for it again and again.
fn real(subcommand: &str, flows: &str, arguments: &[&str]) -> Option<Output> {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/net/tun").exists() {
        println!("skipped: emulated paths need root and /dev/net/tun");
        return None;
    }
    for _ in 0..10 {
        let output = lab(subcommand, flows, arguments);
        if !text(&output.stderr).contains("there is no run that counts") {
            return Some(output);
        }
    }
    println!("skipped: this machine is too busy for the emulator");
    None
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Vec<serde_json::Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Runs a scenario that can't be run, and checks what is said about it.
fn refused(flows: &str, arguments: &[&str], reason: &str) {
    if let Some(output) = emulated(flows, arguments) {
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn every_stack_carries_data_over_the_same_link() {
    let flows = r#"
[[flow]]
name = "tcp"
stack = "tcp"
controller = "reno"
[[flow]]
name = "quic"
controller = "vivace-latency"
[[flow]]
name = "noq"
controller = "noq-cubic"
[[flow]]
name = "short"
stack = "tcp"
controller = "reno"
size = "20kB"
start = "100ms"
"#;
    let Some(output) = emulated(flows, &["--json"]) else { return };
    let [run] = &json(&output)[..] else { panic!("a run") };
    assert!(run["emulator"]["lateness_p50"].is_number() && run["emulator"]["interface_drops"].is_number(), "{run}");
    let flows = run["flows"].as_array().expect("flows");
    assert_eq!(flows.len(), 4);
    for flow in flows {
        assert!(flow["goodput"].as_f64() > Some(0.0), "{flow}");
        assert!(flow["rtt_mean"].as_f64() >= Some(10.0), "{flow}");
        assert!(flow["real"]["payload"].as_f64() > Some(0.0), "{flow}");
        assert!(flow["real"]["sender_cpu_per_gb"].as_f64() > Some(0.0), "{flow}");
        assert_eq!(flow["real"]["errors"].as_array().map(Vec::len), Some(0), "{flow}");
    }
    // A link can't carry more than its rate, whatever is counted as goodput.
    let sum: f64 = flows.iter().filter_map(|flow| flow["goodput"].as_f64()).sum();
    assert!(sum < 21.0 * 1.1, "{sum} Mbit/s");
    assert!(run["links"][0]["utilisation"].as_f64() <= Some(1.01), "{run}");
}

#[test]
fn programs_are_flows_too() {
    let flows = r#"
[[flow]]
command = "bash -c 'head -c 100000 /dev/zero > /dev/udp/{server}/9'"
"#;
    let Some(output) = emulated(flows, &["--json"]) else { return };
    let run = &json(&output)[0];
    assert_eq!(run["flows"][0]["name"], "bash");
    assert!(run["flows"][0]["goodput"].as_f64() > Some(0.0), "{run}");
    assert!(run["flows"][0]["real"]["payload"].is_null(), "nobody counted it: {run}");
}

#[test]
fn the_simulator_and_the_emulator_are_compared() {
    let flows = "[[flow]]\nstack = 'tcp'\ncontroller = 'cubic'\n";
    let arguments = ["--json", "--metric", "goodput", "--metric", "sender-cpu"];
    let Some(output) = real("compare", flows, &arguments) else { return };
    let rows = json(&output);
    let [row] = &rows[..] else { panic!("only one of them is in both: {rows:?}") };
    assert_eq!(row["metric"], "goodput");
    let [ours, real, difference] = ["simulator", "emulator", "difference"].map(|key| row[key].as_f64().expect("it"));
    assert!((real / ours - 1.0 - difference).abs() < 1e-9 && ours > 0.0 && real > 0.0, "{row}");
}

#[test]
fn what_only_reality_knows_is_refused_there() {
    let flow = |keys: &str| format!("[[flow]]\n{keys}\n");
    refused(&flow("stack = 'tcp'\ncontroller = 'vgas'"), &[], "the kernel has no TCP \"vgas\"");
    refused(
        &flow("command = 'no-such-program {server}'"),
        &[],
        "flow.0.command: there is no program \"no-such-program\"",
    );
    refused(&flow("controller = 'cubic'"), &["--set", "packet-size=1200"], "packet-size: on the emulator packets have");
    let video = "controller = 'cubic'\nvideo = { bitrate = '1mbit', chunk = '1s', buffer = '4s' }";
    refused(&flow(video), &[], "a video runs on the simulator only");
}

#[test]
fn what_only_reality_has_the_simulator_refuses() {
    for (keys, reason) in [
        ("stack = 'tcp'\ncontroller = 'lp'", "no counterpart of this controller of the kernel"),
        ("command = 'iperf3 -c {server}'", "no counterpart of programs"),
    ] {
        let output = lab("run", &format!("[[flow]]\n{keys}\n"), &[]);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(reason), "{error}");
    }
    let stands_for = "[[flow]]\ncommand = 'iperf3 -c {server}'\ncontroller = 'cubic'\n";
    assert!(lab("run", stands_for, &[]).status.success());
}

#[test]
fn a_case_of_which_no_run_counts_is_a_failure() {
    let flows = "[[flow]]\ncommand = 'false'\n[[sweep]]\nname = 'queue'\nkey = 'link.queue'\nvalues = ['40kB']\n";
    let Some(output) = emulated(flows, &["--json"]) else { return };
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("there is no run that counts of: queue = 40kB, seed 1: a flow failed"), "{error}");
    assert!(text(&output.stdout).contains("\"doubt\":\"a flow failed"), "the results are there");
}

#[test]
fn a_plot_that_cannot_be_written_takes_no_results_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let plot = folder.path().join("seed-1.svg");
    std::fs::create_dir(&plot).expect("a folder in its place");
    let output = lab("run", "[[flow]]\ncontroller = 'cubic'\n", &["--out", folder.path().to_str().expect("UTF-8")]);
    let error = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && error.contains("can't write") && error.contains("seed-1.svg"),
        "{error}"
    );
    assert!(text(&output.stdout).contains("cubic"));
    for file in ["runs.jsonl", "table.txt"] {
        assert!(std::fs::read_to_string(folder.path().join(file)).expect("results").contains("cubic"), "{file}");
    }
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let flow = "[[flow]]\ncontroller = 'cubic'\n";
    let claim = "[figure]\nid = 'X'\nsource = ''\npublished = ''\n[[figure.claim]]\ntext = ''\npublished = ''\nmin = 1\nmetric = 'goodputt'\n";
    let figure = format!("{flow}{claim}");
    for (scenario, arguments, reason) in [
        (&figure[..], &[][..], "figure.claim.0.metric: there is no metric \"goodputt\""),
        (flow, &["--seeds", "1..100001"], "more than 100000 runs"),
        (flow, &["--utility", "x"], "no flow has a PCC profile"),
        (flow, &["--on", "emulator", "--jobs", "8"], "real traffic runs one at a time"),
        (flow, &["--json", "--spread"], "--spread is about the table"),
    ] {
        let output = lab("run", scenario, arguments);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(reason), "{error}");
    }
    assert!(lab("run", &figure, &["--set", "duration=1s"]).status.success(), "claims are about the file as it stands");
}

#[test]
fn the_list_of_figures_is_for_scripts_too() {
    let mut pcc = Command::new(env!("CARGO_BIN_EXE_pcc"));
    let output = pcc.args(["lab", "figures", "A5", "V2", "--list", "--json"]).output().expect("pcc runs");
    let figures = json(&output);
    assert_eq!(figures.iter().map(|figure| &figure["id"]).collect::<Vec<_>>(), ["A5", "V2"]);
    assert!(figures.iter().all(|figure| figure["runs"].as_u64() > Some(0)), "{figures:?}");
}

#[test]
fn a_page_is_no_standard_output() {
    let output = lab("run", "[[flow]]\ncontroller = 'cubic'\n", &["--html", "-"]);
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains("--html ./-"), "{error}");
    assert!(!Path::new("-").exists());
}

#[test]
fn runs_over_time_are_a_table_and_seeds_have_a_spread() {
    let folder = tempfile::tempdir().expect("a folder");
    let series = folder.path().join("new/series.csv");
    let file = series.to_str().expect("UTF-8");
    let flow = "[[flow]]\ncontroller = 'cubic'\n";
    let arguments = ["--set", "link.loss=1%", "--seeds", "1..2", "--spread", "--series", file];
    let output = lab("run", flow, &arguments);
    assert!(output.status.success() && text(&output.stdout).contains(" to "), "{}", text(&output.stdout));
    let series = std::fs::read_to_string(&series).expect("a file");
    assert!(
        series.starts_with("seed,flow,seconds,goodput_mbps,wanted_mbps,rtt_ms,queue_bytes 0\n1,cubic,0.1,"),
        "{series}"
    );
    assert_eq!(
        series.lines().filter(|line| line.starts_with("2,cubic,")).count(),
        19,
        "a line for each tenth of a second"
    );
}

/// Drags over the right half of the first plot, and points at a time in what it shows then.
const ZOOM_AND_POINT: &str = r#"<script>
for (const [type, share] of [["pointerdown", 0.5], ["pointermove", 1], ["pointerup", 1], ["pointermove", 0.5]]) {
    const plot = document.querySelector(".lines");
    const { left, top, width } = plot.getBoundingClientRect();
    plot.dispatchEvent(new PointerEvent(type, { clientX: left + share * width, clientY: top + 9, bubbles: true }));
}
</script>"#;

/// A real browser shows the table and the run that the address names, zooms, and reads what is pointed at.
#[test]
fn a_page_of_runs_can_be_zoomed_and_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("runs.html");
    let flows = "[[sweep]]\nname = 'who'\nkey = 'flow.controller'\nvalues = ['vivace-latency', 'newreno']\n[[flow]]\n";
    let output = lab("run", flows, &["--seeds", "1..2", "--html", page.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let Some(shown) = browser::shown(&page, "run-2") else { return };
    for part in [
        "<td class=\"name\">newreno</td>",
        "<tr tabindex=\"0\" data-go=\"run-2\" class=\"selected\">",
        "<option value=\"1\">vivace-latency, seed 2</option>",
        "<option value=\"3\">newreno, seed 2</option>",
        "aria-label=\"RTT, ms over time\"",
        ">0.00 s</text>",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.contains(">probe up</b>"), "newreno decides nothing that could be shown: {shown}");

    let driven =
        std::fs::read_to_string(&page).expect("a page").replace("</body>", &format!("{ZOOM_AND_POINT}</body>"));
    std::fs::write(&page, driven).expect("a page");
    let shown = browser::shown(&page, "run-0").expect("it was there before");
    assert!(
        shown.contains("aria-label=\"vivace-latency, Mbit/s over time\"") && shown.contains(">2.00 s</text>"),
        "{shown}"
    );
    assert!(!shown.contains(">0.00 s</text>"), "only the second half is left: {shown}");
    assert!(shown.contains(" s; Mbit/s: <b style") && shown.contains("; RTT, ms: <b"), "{shown}");
}
