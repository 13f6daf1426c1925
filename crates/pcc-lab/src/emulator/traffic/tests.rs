use super::*;
use crate::controller::ControllerConfig;
use pcc_quic::Algorithm;

const SECOND: Duration = Duration::from_secs(1);

/// A bulk flow over the loopback interface of one namespace.
fn bulk() -> Flow {
    Flow {
        app: App::Bulk,
        start: Duration::ZERO,
        stop: None,
        sender: Ipv4Addr::new(127, 0, 0, 2),
        receiver: Ipv4Addr::new(127, 0, 0, 3),
        seed: 1,
    }
}

fn tcp(controller: &str, flows: Vec<Flow>) -> Group {
    Group { stack: Stack::Tcp { controller: controller.to_owned() }, flows }
}

fn quic(control: QuicControl, flows: Vec<Flow>) -> Group {
    Group { stack: Stack::Quic { control }, flows }
}

fn vivace() -> QuicControl {
    QuicControl::Lab(ControllerConfig::named("vivace-latency"))
}

/// A namespace in which both ends are, where this may make one.
fn namespace() -> Option<Namespace> {
    Namespace::new().map_err(|error| println!("skipped: {error}")).ok()
}

/// What came of the groups after `seconds`.
fn run(host: &Namespace, groups: Vec<Group>, seconds: f64) -> Vec<GroupReport> {
    let traffic = start(host, host, groups, Duration::from_secs_f64(seconds), true).unwrap();
    traffic.go(Instant::now());
    std::thread::sleep(Duration::from_secs_f64(seconds));
    traffic.finish()
}

fn refusal(host: &Namespace, group: Group) -> String {
    start(host, host, vec![tcp("cubic", vec![bulk()]), group], SECOND, false).err().expect("refused").to_string()
}

#[test]
fn data_moves_and_processor_time_is_counted() {
    let Some(host) = namespace() else { return };
    let groups = vec![
        tcp("cubic", vec![bulk()]),
        tcp("reno", vec![bulk(), Flow { start: SECOND / 4, ..bulk() }]),
        quic(vivace(), vec![bulk()]),
        quic(QuicControl::Noq(Algorithm::Cubic), vec![bulk()]),
    ];
    for report in run(&host, groups, 1.0) {
        for flow in &report.flows {
            assert_eq!(flow.error, None);
            let bytes = flow.payload_bytes.expect("it is counted");
            assert!(bytes > 50_000, "{bytes}");
            assert_eq!(flow.payload_bins.iter().sum::<u64>(), bytes);
            assert_eq!(flow.completed, None);
        }
        assert!(report.sender_cpu > Some(Duration::ZERO) && report.receiver_cpu > Some(Duration::ZERO));
    }
}

#[test]
fn pcc_tells_its_decisions_and_how_its_rate_is_kept() {
    let Some(host) = namespace() else { return };
    let late = Flow { start: SECOND / 2, ..bulk() };
    let report = run(&host, vec![quic(vivace(), vec![late])], 1.0).remove(0);
    let times = report.flows[0].events.iter().map(|event| match event {
        pcc::Event::Interval { time, .. } | pcc::Event::Decision { time, .. } | pcc::Event::Phase { time, .. } => *time,
    });
    assert!(times.clone().count() > 0);
    assert!(times.min() >= Some(pcc::Time::ZERO + SECOND / 2));
    assert!(report.pacing_error.is_some());
}

#[test]
fn a_transfer_is_complete_when_the_receiver_has_it() {
    let Some(host) = namespace() else { return };
    let transfer = || vec![Flow { app: App::Transfer { bytes: 1_000_000 }, start: SECOND / 10, ..bulk() }];
    let groups = vec![tcp("cubic", transfer()), quic(vivace(), transfer())];
    for report in run(&host, groups, 3.0) {
        let flow = &report.flows[0];
        assert_eq!((flow.payload_bytes, &flow.error), (Some(1_000_000), &None));
        assert!(flow.completed.is_some_and(|time| time < 3 * SECOND), "{:?}", flow.completed);
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
    let video = crate::sim::Video { bitrate: pcc::Rate::from_mbps(1.0), chunk: SECOND, buffer: SECOND };
    let error = refusal(&host, tcp("cubic", vec![Flow { app: App::Video(video), ..bulk() }]));
    assert_eq!(error, "flow.1.app: a video runs on the simulator only");
}
