//! Explicit Congestion Notification: queues that mark, and senders that take marks.

use pcc::Rate;
use pcc_lab::controller::ControllerConfig;
use pcc_lab::link::{Limit, PathConfig, QueueConfig, QueueKind};
use pcc_lab::sim::{FlowConfig, FlowOutcome, Outcome, PACKET_BYTES, Simulation};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// How long runs last, and what share of that isn't measured.
const DURATION: Duration = Duration::from_secs(30);
const BEFORE: u32 = 5;

fn path(mbps: f64, rtt: Duration, queue: QueueConfig) -> PathConfig {
    PathConfig { capacity: Rate::from_mbps(mbps).into(), queue, ..PathConfig::delay_only(rtt / 2) }
}

/// 50 Mbit/s and 40 ms.
fn access(kind: QueueKind, ecn: bool) -> PathConfig {
    path(50.0, 40 * MS, QueueConfig { ecn, ..QueueConfig::new(kind, Limit::Packets(1000)) })
}

/// A queue that marks above so many packets, as switches of data centers do.
fn marks_above(packets: u64) -> QueueConfig {
    let queue = QueueConfig::new(QueueKind::DropTail, Limit::Packets(1000));
    QueueConfig { mark_above: Some(Limit::Packets(packets)), ..queue }
}

/// Flows by the names of their controllers, whose hosts have ECN on or off.
fn run(path: &PathConfig, flows: &[(&str, bool)], duration: Duration) -> Outcome {
    let flow = |(name, ecn): &(&str, bool)| {
        let control = ControllerConfig::named(name).build(1).expect("a known name");
        FlowConfig { ecn: *ecn, ..FlowConfig::bulk(control, path.delay) }
    };
    let flows = flows.iter().map(flow).collect();
    let simulation = Simulation::dumbbell(path.clone(), flows, duration, 1);
    Simulation { measure_from: duration / BEFORE, ..simulation }.run()
}

fn single(path: &PathConfig, name: &str, ecn: bool) -> FlowOutcome {
    run(path, &[(name, ecn)], DURATION).flows.remove(0)
}

fn rate(flow: &FlowOutcome, duration: Duration) -> f64 {
    flow.goodput_between(duration / BEFORE, duration).mbps()
}

/// What must be equal for two runs to be the same.
fn essence(flow: &FlowOutcome) -> (u64, u64, u64, Duration, &[u64]) {
    (flow.sent, flow.lost, flow.delivered_bytes, flow.queueing.mean(), &flow.bins)
}

#[test]
fn marks_take_the_place_of_losses_and_the_queue_is_as_short() {
    for kind in [QueueKind::CoDel, QueueKind::FqCoDel] {
        for name in ["bic", "cubic", "hybla", "illinois", "newreno", "westwood"] {
            let path = access(kind, true);
            let [dropped, marked] = [false, true].map(|ecn| single(&path, name, ecn));
            assert!(dropped.lost > 0 && dropped.marked.is_none(), "{kind:?}, {name}: {}", dropped.lost);
            assert!(marked.lost == 0 && marked.marked > Some(0), "{kind:?}, {name}: {:?}", marked.marked);
            let rates = [&dropped, &marked].map(|flow| rate(flow, DURATION));
            assert!((rates[1] / rates[0] - 1.0).abs() < 0.02, "{kind:?}, {name}: {rates:?} Mbit/s");
            let delays = [&dropped, &marked].map(|flow| flow.queueing.quantile(0.95).as_secs_f64() * 1e3);
            assert!(
                (delays[1] - delays[0]).abs() < 2.0,
                "{kind:?}, {name}: {delays:?} ms in the queue, which could hold 240"
            );
        }
    }
}

#[test]
fn what_cannot_be_marked_is_dropped() {
    for kind in [QueueKind::CoDel, QueueKind::FqCoDel] {
        let flow = |marks, ecn, name| single(&access(kind, marks), name, ecn);
        let [without, with] = [false, true].map(|marks| flow(marks, false, "cubic"));
        assert_eq!(essence(&with), essence(&without), "{kind:?}: the queue treats it as if it never marked");
        // These know nothing of marks, whatever their hosts have turned on.
        for name in ["vivace-latency", "bbr3"] {
            let [off, on] = [false, true].map(|ecn| flow(true, ecn, name));
            assert_eq!((essence(&on), on.marked), (essence(&off), None), "{kind:?}, {name}");
        }
    }
    // To what can't be marked a threshold is the end of the queue: one packet finds all places taken.
    let tail = QueueConfig::from(Limit::Packets(66));
    let [short, marking] = [tail, marks_above(65)].map(|queue| single(&path(50.0, 40 * MS, queue), "cubic", false));
    assert!(short.lost > 0);
    assert_eq!(essence(&marking), essence(&short));
}

#[test]
fn pcc_gets_the_same_beside_a_flow_with_marks() {
    for kind in [QueueKind::CoDel, QueueKind::FqCoDel] {
        let beside = |ecn| {
            let flows = run(&access(kind, true), &[("cubic", ecn), ("vivace-latency", ecn)], DURATION).flows;
            assert_eq!((flows[0].marked.is_some(), flows[1].marked), (ecn, None));
            rate(&flows[1], DURATION)
        };
        let rates = [false, true].map(beside);
        assert!((rates[1] / rates[0] - 1.0).abs() < 0.1, "{kind:?}: {rates:?} Mbit/s");
    }
}

/// As in Linux, where the connection negotiates ECN and the controller doesn't look at it: so it is with the kernel's PCC.
#[test]
fn bbr1_ignores_marks() {
    let kernel = single(&access(QueueKind::CoDel, true), "pcc_vivace", true);
    assert!(kernel.lost == 0 && kernel.marked.is_some());
    let flows = run(&access(QueueKind::CoDel, true), &[("bbr1", true); 4], DURATION).flows;
    let sum = |part: fn(&FlowOutcome) -> u64| flows.iter().map(part).sum::<u64>();
    let (marked, sent) = (sum(|flow| flow.marked.unwrap_or(0)), sum(|flow| flow.sent));
    let waited = flows[0].queueing.mean();
    assert!(marked > sent / 100 && waited > 15 * MS, "{marked} of {sent} marked, {waited:?} in the queue");
}

/// The steady state of N flows whose windows rise and fall together, as Alizadeh et al., *Data center TCP (DCTCP)*, SIGCOMM
/// 2010, section 3.3 and figure 12 have it: a queue of at most K + N packets that swings by sqrt(2 N (C RTT + K)) / 2, and
/// the share of marked packets that makes the windows do so, sqrt(2 / W) at W = (C RTT + K) / N packets each. The path is
/// that of the figure; with 40 flows they no longer are in step.
#[test]
fn dctcp_holds_the_queue_at_the_threshold() {
    const THRESHOLD: u64 = 40;
    let (mbps, rtt, duration) = (10_000.0, MS / 10, 1000 * MS);
    let path = path(mbps, rtt, marks_above(THRESHOLD));
    let packet_time = f64::from(PACKET_BYTES) * 8.0 / (mbps * 1e6);
    for (flows, tolerance) in [(2_usize, 2.0), (10, 6.0)] {
        let outcome = run(&path, &vec![("dctcp", false); flows], duration);
        let rates: Vec<f64> = outcome.flows.iter().map(|flow| rate(flow, duration)).collect();
        let total: f64 = rates.iter().sum();
        assert!(total > 0.999 * mbps, "{flows} flows: {total} Mbit/s");
        assert!(rates.iter().all(|rate| (rate * flows as f64 / mbps - 1.0).abs() < 0.1), "{flows} flows: {rates:?}");
        assert!(outcome.flows.iter().all(|flow| flow.lost == 0));

        let (n, held) = (flows as f64, rtt.as_secs_f64() / packet_time + THRESHOLD as f64);
        let (most, swing) = (THRESHOLD as f64 + n, (2.0 * n * held).sqrt() / 2.0);
        let packets = |quantile| outcome.flows[0].queueing.quantile(quantile).as_secs_f64() / packet_time;
        let (low, high) = (packets(0.01), packets(0.99));
        assert!((high - most).abs() < tolerance, "{flows} flows: at most {high} packets instead of {most}");
        assert!((low - (most - swing)).abs() < tolerance, "{flows} flows: at least {low} instead of {}", most - swing);

        let marked = outcome.flows.iter().filter_map(|flow| flow.marked).sum::<u64>() as f64;
        let share = marked / outcome.flows.iter().map(|flow| flow.sent).sum::<u64>() as f64;
        let alpha = (2.0 * n / held).sqrt();
        assert!((share / alpha - 1.0).abs() < 0.25, "{flows} flows: {share} marked, not {alpha}");
    }
}
