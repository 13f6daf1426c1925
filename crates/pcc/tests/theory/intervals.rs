//! What intervals measure on paths whose behaviour is known exactly.

use super::assert_close;
use super::support::{Flow, Path, Recorder};
use pcc::control::ControlConfig;
use pcc::{AckedPacket, Event, IntervalPlan, Measurement, Monitor, Rate, Regression, Role, SentPacket, Time, profiles};
use std::time::Duration;

const SIZE: u64 = 1500;

fn plan(mbps: f64, length: Duration) -> IntervalPlan {
    IntervalPlan { rate: Rate::from_mbps(mbps), role: Role::Start, length, min_packets: 10, max_packets: u64::MAX }
}

/// Sends through a FIFO of `capacity` that `cross` Mbit/s of other packets share; the interval's result, and the
/// fit of the same samples against arrival times.
fn through_fifo(mbps: f64, cross: f64, capacity: f64) -> (Measurement, Regression) {
    let (base, second) = (Duration::from_millis(30), Time::from_nanos(1_000_000_000));
    let (own, other, service) =
        (Rate::from_mbps(mbps).time_for(SIZE), Rate::from_mbps(cross).time_for(SIZE), Rate::from_mbps(capacity));
    let mut monitor = Monitor::default();
    monitor.begin(plan(mbps, Duration::from_millis(200)));
    let (mut busy_until, mut next_other, mut sent) = (second, second, second);
    let (mut arrivals, mut number) = (Vec::new(), 0);
    while !(monitor.needs_plan() && number > 0) {
        while cross > 0.0 && next_other <= sent {
            busy_until = busy_until.max(next_other) + service.time_for(SIZE);
            next_other += other;
        }
        busy_until = busy_until.max(sent) + service.time_for(SIZE);
        monitor.on_sent(&SentPacket { time: sent, number, bytes: SIZE });
        arrivals.push((number, sent, busy_until + base));
        (sent, number) = (sent + own, number + 1);
    }
    let mut by_arrival = Regression::default();
    for (number, sent, time) in arrivals {
        let rtt = time.since(sent);
        assert!(monitor.on_acked(&AckedPacket { time, number, sent, bytes: SIZE, rtt }));
        by_arrival.add(time.since(second).as_secs_f64(), rtt.as_secs_f64());
    }
    let (_, result) = monitor.close_next().expect("all packets have an outcome");
    (result, by_arrival)
}

/// T-12: the trend of the round-trip time is the excess rate, (sum of rates) / capacity - 1 (SPEC 0.2), because it is
/// taken over send times; over arrival times it would be g / (1 + g).
#[test]
fn t12_gradient_of_a_filling_queue_is_the_excess_rate() {
    for (mbps, cross, capacity, tolerance) in
        [(105.0, 0.0, 100.0, 1e-5), (120.0, 0.0, 100.0, 1e-5), (60.0, 50.0, 100.0, 1e-3)]
    {
        let (result, by_arrival) = through_fifo(mbps, cross, capacity);
        let excess = (mbps + cross) / capacity - 1.0;
        assert_close(result.rtt_gradient, excess, tolerance, (mbps, cross));
        assert_close(by_arrival.gradient(), excess / (1.0 + excess), tolerance, "over arrival times");
        assert_close(result.rate.mbps(), mbps, 1e-3, "the rate");
        assert_eq!((result.packets_lost, result.loss), (0, 0.0));
    }
    assert_close(through_fifo(90.0, 0.0, 100.0).0.rtt_gradient, 0.0, 1e-9, "no queue, no trend");
}

/// T-13: an interval that begins in mid-air, at an acknowledgement between two packets, measures its own rate: it
/// starts with its first packet, not with the decision (SPEC 0.2, "trap").
#[test]
fn t13_a_realigned_interval_measures_its_own_rate() {
    for (before, after) in [(10.0, 10.5), (10.0, 20.0), (20.0, 10.0), (10.0, 9.5)] {
        let mut monitor = Monitor::default();
        let mut now = Time::from_nanos(0);
        let mut number = 0;
        let mut send = |monitor: &mut Monitor, mbps: f64, packets: u64| {
            for _ in 0..packets {
                monitor.on_sent(&SentPacket { time: now, number, bytes: SIZE });
                now += Rate::from_mbps(mbps).time_for(SIZE);
                number += 1;
            }
        };
        monitor.begin(plan(before, Duration::from_secs(1)));
        send(&mut monitor, before, 7);
        monitor.end(true);
        monitor.begin(plan(after, Rate::from_mbps(after).time_for(12 * SIZE - SIZE / 2)));
        send(&mut monitor, after, 12);
        assert!(monitor.needs_plan(), "12 packets fill the interval");
        for number in 0..19 {
            let (sent, rtt) = (Time::from_nanos(0), Duration::from_millis(50));
            monitor.on_acked(&AckedPacket { time: sent + rtt, number, sent, bytes: SIZE, rtt });
        }
        let (role, cut_off) = monitor.close_next().expect("resolved");
        assert_eq!(role, Role::Hold, "the interval that was cut off is useless");
        assert_close(cut_off.rate.mbps() / before, 1.0, 0.01, "but true");
        let (role, result) = monitor.close_next().expect("resolved");
        assert_eq!((role, result.packets_sent), (Role::Start, 12));
        assert_close(result.rate.mbps() / after, 1.0, 0.01, (before, after));
    }
}

/// T-13, for whole controllers on a path: each interval that they judge has the rate that they asked for.
#[test]
fn t13_judged_intervals_have_the_rate_asked_for() {
    // A window and acknowledgements pace those that are left out.
    let by_window = |profile: &pcc::Profile| matches!(profile.control, ControlConfig::QueueTarget(_));
    for profile in profiles::all().filter(|profile| !by_window(profile)) {
        let recorder = Recorder::default();
        let mut controller = profile.build(3);
        controller.observe(Box::new(recorder.clone()));
        let mut flow = Flow::new(controller, Path::clean(20.0, 30));
        flow.run(Duration::from_secs(20));
        let judged: Vec<_> = recorder.intervals().into_iter().filter(|(role, ..)| *role != Role::Hold).collect();
        assert!(judged.len() > 50, "{}: {}", profile.name, judged.len());
        for (role, result, _) in judged {
            assert_close(result.rate / result.target, 1.0, 0.01, (&profile.name, role, result));
        }
    }
}

/// Runs a profile on a lossy path with aggregated acknowledgements; `shuffle` permutes each batch.
fn decisions(profile: &pcc::Profile, shuffle: Option<fastrand::Rng>) -> Vec<Event> {
    let recorder = Recorder::default();
    let mut controller = profile.build(5);
    controller.observe(Box::new(recorder.clone()));
    let path = Path { loss: 0.01, aggregation: Duration::from_millis(8), ..Path::clean(20.0, 30) };
    let mut flow = Flow::new(controller, path);
    flow.shuffle = shuffle;
    flow.run(Duration::from_secs(20));
    recorder.events()
}

/// T-14: the order of acknowledgements and losses inside a batch changes nothing (SPEC 0.3).
#[test]
fn t14_order_inside_a_batch_does_not_matter() {
    for profile in profiles::all() {
        let in_order = decisions(&profile, None);
        assert!(in_order.iter().filter(|event| matches!(event, Event::Decision { .. })).count() > 20);
        for seed in 0..3 {
            let shuffled = decisions(&profile, Some(fastrand::Rng::with_seed(seed)));
            for (a, b) in in_order.iter().zip(&shuffled) {
                match (a, b) {
                    (Event::Interval { role, result, .. }, Event::Interval { role: b_role, result: b_result, .. }) => {
                        assert_eq!(role, b_role, "{}", profile.name);
                        assert_eq!(result.packets_lost, b_result.packets_lost, "{}", profile.name);
                        assert_close(result.rate / b_result.rate, 1.0, 1e-6, &profile.name);
                        assert_close(result.rtt_gradient, b_result.rtt_gradient, 1e-6, &profile.name);
                    }
                    (Event::Decision { time, to, .. }, Event::Decision { time: b_time, to: b_to, .. }) => {
                        assert_eq!(time, b_time, "{}", profile.name);
                        assert_close(*to / *b_to, 1.0, 1e-6, &profile.name);
                    }
                    (a, b) => assert_eq!(a, b, "{}", profile.name),
                }
            }
            assert_eq!(in_order.len(), shuffled.len(), "{}", profile.name);
        }
    }
}
