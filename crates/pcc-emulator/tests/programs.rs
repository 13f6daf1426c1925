//! Outside programs as flows. A guard runs this binary once more, so that this is a program by itself without a test harness.

use pcc_emulator::host::Namespace;
use pcc_emulator::host::guard::guard;
use pcc_emulator::traffic::{self, Group, GroupReport, TrafficFlow, TrafficReport, TrafficStack};
use pcc_lab::sim::App;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // As `pcc guard PARENT FILES -- PROGRAM ...`.
    if let [subcommand, parent, files, _, program @ ..] = arguments.as_slice()
        && subcommand == "guard"
    {
        let number = |text: &OsString| text.to_str().and_then(|text| text.parse::<u64>().ok()).expect("a number");
        let parent = number(parent).try_into().expect("the number of a process");
        std::process::exit(guard(parent, number(files), program).into());
    }
    // Traffic raises it, but not for programs.
    let limit = Rlimit { current: Some(200), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("a lower limit of open files");
    let host = match Namespace::new() {
        Ok(host) => host,
        Err(error) => return println!("skipped: {error}"),
    };
    what_programs_say_is_counted(&host);
    a_program_that_fails_says_why(&host);
    a_program_ends_with_its_flow(&host);
    a_program_that_is_not_there_is_refused(&host);
}

fn group(client: &str, server: Option<&str>) -> Group {
    let flow = TrafficFlow {
        app: App::Bulk,
        start: SECOND / 10,
        stop: None,
        sender: Ipv4Addr::new(127, 0, 0, 2),
        receiver: Ipv4Addr::new(127, 0, 0, 3),
        seed: 1,
    };
    let stack = TrafficStack::Programs { client: client.to_owned(), server: server.map(str::to_owned) };
    Group { stack, flows: vec![flow] }
}

/// What comes of one group in a run that is long enough for `done`, however busy this machine is.
fn run(host: &Namespace, group: &Group, done: impl Fn(&TrafficReport) -> bool) -> GroupReport {
    for duration in [SECOND, 5 * SECOND, 25 * SECOND] {
        let traffic = traffic::start(host, host, vec![group.clone()], 60 * SECOND, false).expect("it starts");
        traffic.go(Instant::now());
        std::thread::sleep(duration);
        let report = traffic.finish().remove(0);
        if report.flows.iter().all(&done) {
            return report;
        }
    }
    panic!("not done after 25 s");
}

fn what_programs_say_is_counted(host: &Namespace) {
    let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let filled = "test {client}:{server}:{seconds} = 127.0.0.2:127.0.0.3:59.9";
    let limited = "test $(ulimit -n) = 200";
    let client = format!("sh -c '{busy}; {filled} && {limited} && sleep 60'");
    let server = "sh -c 'echo received 7 bytes; sleep 0.2; echo received 42 bytes; exec sleep 60'";
    let report = run(host, &group(&client, Some(server)), |flow| flow.payload_bytes == Some(42));
    assert_eq!(report.flows[0].error, None);
    assert!(report.sender_cpu > Some(Duration::ZERO), "{:?}", report.sender_cpu);
    assert!(report.receiver_cpu.is_some());
}

fn a_program_that_fails_says_why(host: &Namespace) {
    let group = group("sh -c 'echo no route to mars >&2; exit 3'", None);
    let report = run(host, &group, |flow| flow.error.is_some());
    assert_eq!(report.flows[0].error.as_deref(), Some("sh ended with exit code 3: no route to mars"));
    assert_eq!(report.flows[0].payload_bytes, None);
}

fn a_program_ends_with_its_flow(host: &Namespace) {
    let mut group = group("sleep 1000", Some("sh -c 'trap \"\" TERM; echo; while :; do sleep 0.1; done'"));
    group.flows[0].stop = Some(SECOND / 2);
    let began = Instant::now();
    let report = run(host, &group, |_| true);
    assert_eq!(report.flows[0].error, None);
    assert!(began.elapsed() < SECOND * 100, "neither the client nor the server ends by itself");
}

fn a_program_that_is_not_there_is_refused(host: &Namespace) {
    for (group, refusal) in [
        (group("udt-peer send {server}", None), "flow.0.command: there is no program \"udt-peer\""),
        (group("sleep 1", Some("udt-peer")), "flow.0.server: there is no program \"udt-peer\""),
    ] {
        let error = traffic::start(host, host, vec![group], SECOND, false).err().expect("refused").to_string();
        assert!(error.starts_with(refusal), "{error}");
    }
}
