use super::*;
use pcc_lab::controller::ControllerConfig;
use pcc_quic::Algorithm;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

const SECOND: Duration = Duration::from_secs(1);

/// A bulk flow over the loopback interface of one namespace.
fn bulk() -> TrafficFlow {
    TrafficFlow {
        app: App::Bulk,
        start: Duration::ZERO,
        stop: None,
        sender: Ipv4Addr::new(127, 0, 0, 2),
        receiver: Ipv4Addr::new(127, 0, 0, 3),
        seed: 1,
    }
}

fn tcp(controller: &str, flows: Vec<TrafficFlow>) -> Group {
    Group { stack: TrafficStack::Tcp { controller: controller.to_owned() }, flows }
}

fn quic(control: QuicControl, flows: Vec<TrafficFlow>) -> Group {
    Group { stack: TrafficStack::Quic { control }, flows }
}

fn vivace() -> QuicControl {
    QuicControl::Lab(ControllerConfig::named("vivace-latency"))
}

/// A namespace in which both ends are, where this may make one.
fn namespace() -> Option<Namespace> {
    Namespace::new().map_err(|error| println!("skipped: {error}")).ok()
}

/// What came of the groups in a run that is long enough for `done`, however busy this machine is.
fn run(host: &Namespace, groups: &[Group], done: impl Fn(&TrafficReport) -> bool) -> Vec<GroupReport> {
    // Bulk traffic over loopback takes all processors: beside that of another test a sender that heeds delay hardly gets anything.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for duration in [SECOND, 5 * SECOND, 25 * SECOND] {
        let traffic = start(host, host, groups.to_vec(), duration, true).unwrap();
        traffic.go(Instant::now());
        std::thread::sleep(duration);
        let reports = traffic.finish();
        if reports.iter().flat_map(|report| &report.flows).all(&done) {
            return reports;
        }
    }
    panic!("not done after 25 s");
}

fn refusal(host: &Namespace, group: Group) -> String {
    start(host, host, vec![tcp("cubic", vec![bulk()]), group], SECOND, false).err().expect("refused").to_string()
}

#[test]
fn data_moves_and_processor_time_is_counted() {
    let Some(host) = namespace() else { return };
    let groups = [
        tcp("cubic", vec![bulk()]),
        tcp("reno", vec![bulk(), TrafficFlow { start: SECOND / 4, ..bulk() }]),
        quic(vivace(), vec![bulk()]),
        quic(QuicControl::Noq(Algorithm::Cubic), vec![bulk()]),
    ];
    for report in run(&host, &groups, |flow| flow.payload_bytes > Some(100_000)) {
        for flow in &report.flows {
            assert_eq!(flow.error, None);
            assert_eq!(Some(flow.payload_bins.iter().sum()), flow.payload_bytes);
            assert_eq!(flow.completed, None);
        }
        assert!(report.sender_cpu > Some(Duration::ZERO) && report.receiver_cpu > Some(Duration::ZERO));
    }
}

#[test]
fn pcc_tells_its_decisions_and_how_its_rate_is_kept() {
    let Some(host) = namespace() else { return };
    let late = TrafficFlow { start: SECOND / 2, ..bulk() };
    let report = run(&host, &[quic(vivace(), vec![late])], |flow| flow.events.len() > 5).remove(0);
    let times = report.flows[0].events.iter().map(pcc::Event::time);
    assert!(times.min() >= Some(pcc::Time::ZERO + SECOND / 2));
    assert!(report.pacing_error.is_some());
}

#[test]
fn a_transfer_is_complete_when_the_receiver_has_it() {
    let Some(host) = namespace() else { return };
    let transfer = || vec![TrafficFlow { app: App::Transfer { bytes: 1_000_000 }, start: SECOND / 10, ..bulk() }];
    let groups = [tcp("cubic", transfer()), quic(vivace(), transfer())];
    for report in run(&host, &groups, |flow| flow.completed.is_some()) {
        assert_eq!((report.flows[0].payload_bytes, &report.flows[0].error), (Some(1_000_000), &None));
    }
}

#[test]
fn a_flow_sends_from_its_start_to_its_stop() {
    let Some(host) = namespace() else { return };
    let flow = |app| vec![TrafficFlow { app, start: SECOND / 5, stop: Some(SECOND / 2), ..bulk() }];
    let slow = || App::ConstantRate { rate: pcc::Rate::from_mbps(8.0) };
    let groups = [tcp("cubic", flow(slow())), quic(vivace(), flow(slow()))];
    for report in run(&host, &groups, |flow| flow.payload_bytes > Some(0)) {
        let flow = &report.flows[0];
        assert_eq!(flow.error, None);
        assert_eq!(flow.payload_bins[..2], [0, 0]);
        // 300 ms of 1 MB/s, and some more on a machine that stops it late; with no stop it would be 800 kB.
        assert!(flow.payload_bytes <= Some(600_000), "{flow:?}");
    }
}

#[test]
fn what_stacks_can_not_do_is_refused() {
    let Some(host) = namespace() else { return };
    let error = refusal(&host, tcp("renno", vec![bulk()]));
    assert!(error.starts_with("flow.1.controller: the kernel has no TCP \"renno\""), "{error}");
    assert!(error.contains("it has") && error.contains("reno"), "{error}");
    let error = refusal(&host, quic(QuicControl::Lab(ControllerConfig::named("vivacious")), vec![bulk()]));
    assert!(error.starts_with("flow.1.controller: there is no controller \"vivacious\""), "{error}");
    let video = pcc_lab::sim::Video { bitrate: pcc::Rate::from_mbps(1.0), chunk: SECOND, buffer: SECOND };
    let error = refusal(&host, tcp("cubic", vec![TrafficFlow { app: App::Video(video), ..bulk() }]));
    assert_eq!(error, "flow.1.video: a video runs on the simulator only");
}
