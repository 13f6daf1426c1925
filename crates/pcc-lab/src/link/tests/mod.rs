mod marks;
mod properties;
mod queues;
mod schedules;
mod traces;

use super::*;
use pcc::{Rate, Time};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn at_ms(ms: u64) -> Time {
    at(ms * 1_000_000)
}

/// Everything that the path still delivers.
fn drain<P>(path: &mut Path<P>) -> Vec<Delivered<P>> {
    let mut delivered = Vec::new();
    while let Some(next) = path.next_event() {
        delivered.extend(std::iter::from_fn(|| path.poll(next)));
    }
    delivered
}

/// The same, with only the time at which each packet is due.
fn drain_timed<P>(path: &mut Path<P>) -> Vec<(Time, P)> {
    drain(path).into_iter().map(|delivered| (delivered.due, delivered.payload)).collect()
}

fn poll<P>(path: &mut Path<P>, now: Time) -> Option<P> {
    path.poll(now).map(|delivered| delivered.payload)
}

fn queue(kind: QueueKind, limit: Limit) -> QueueConfig {
    QueueConfig::new(kind, limit)
}

fn bottleneck(rate: Rate, queue: impl Into<QueueConfig>) -> PathConfig {
    PathConfig { capacity: rate.into(), queue: queue.into(), ..PathConfig::delay_only(Duration::ZERO) }
}

#[test]
fn rate_is_exact_over_a_long_busy_period() {
    // 7 Mbit/s: a packet of 1,500 bytes takes 1,714,285.71... ns, so that rounding each would be off by 0.7 us here.
    let mut path = Path::new(&bottleneck(Rate::from_mbps(7.0), u64::MAX), 1);
    (0..1_000_000u32).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    let delivered = drain_timed(&mut path);
    assert_eq!(delivered.len(), 1_000_000);
    for (i, (due, payload)) in delivered.iter().enumerate() {
        assert_eq!(*payload as usize, i);
        assert_eq!(due.as_nanos(), (i as u64 + 1) * 12_000 * 1000 / 7, "packet {i}");
    }
}

#[test]
fn an_idle_link_starts_with_the_packet() {
    let mut path = Path::new(&bottleneck(Rate::from_mbps(8.0), 10_000), 1);
    path.enqueue(at(500), 0, 'a', 1000);
    path.enqueue(at(3_000_000), 0, 'b', 1000);
    assert_eq!(drain_timed(&mut path), [(at(1_000_500), 'a'), (at(4_000_000), 'b')]);
}

#[test]
fn lateness_of_the_driver_does_not_accumulate() {
    let mut path = Path::new(&bottleneck(Rate::from_mbps(8.0), 10_000), 1);
    (0..5).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1000));
    // Nobody looked for the three milliseconds in which three packets left; the fourth still leaves on time.
    assert_eq!(poll(&mut path, at(3_100_000)), Some(0));
    assert_eq!(poll(&mut path, at(3_100_000)), Some(1));
    assert_eq!(poll(&mut path, at(3_100_000)), Some(2));
    assert_eq!(poll(&mut path, at(3_100_000)), None);
    assert_eq!(path.next_event(), Some(at(4_000_000)));
}

#[test]
fn delay_is_exact_with_and_without_a_rate() {
    let mut path = Path::new(&PathConfig::delay_only(15 * MS), 1);
    path.enqueue(at(7), 0, (), 1500);
    assert_eq!(path.next_event(), Some(at(15_000_007)));
    assert_eq!(poll(&mut path, at(15_000_006)), None);
    assert_eq!(poll(&mut path, at(15_000_007)), Some(()));
    assert_eq!(path.next_event(), None);

    let mut path = Path::new(&PathConfig { delay: 15 * MS, ..bottleneck(Rate::from_mbps(12.0), 1500) }, 1);
    path.enqueue(at(7), 0, (), 1500);
    assert_eq!(path.next_event(), Some(at(16_000_007)));
    assert_eq!(drain_timed(&mut path), [(at(16_000_007), ())]);
}

#[test]
fn the_time_in_the_queue_ends_where_service_begins() {
    let mut path = Path::new(&PathConfig { delay: 15 * MS, ..bottleneck(Rate::from_mbps(12.0), 10_000) }, 1);
    (0..3).for_each(|i| path.enqueue(at(0), 0, i, 1500));
    let queued: Vec<_> = drain(&mut path).into_iter().map(|delivered| (delivered.queued, delivered.bytes)).collect();
    assert_eq!(queued, [(Duration::ZERO, 1500), (MS, 1500), (2 * MS, 1500)]);
}

#[test]
fn loss_is_on_entry_and_within_its_binomial_bounds() {
    let packets = 100_000;
    for (seed, probability) in [(1, 0.0074), (2, 0.01), (3, 0.3)] {
        let config = PathConfig { loss: probability.into(), ..bottleneck(Rate::from_mbps(1.0), u64::MAX) };
        let mut path = Path::new(&config, seed);
        (0..packets).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
        let lost = path.counters().lost as f64;
        let mean = f64::from(packets) * probability;
        let deviation = (mean * (1.0 - probability)).sqrt();
        assert!((lost - mean).abs() < 4.0 * deviation, "{lost} lost at {probability}");
        // The lost ones took no time of the bottleneck.
        let survivors = drain_timed(&mut path);
        assert_eq!(survivors.len() as f64 + lost, f64::from(packets));
        assert_eq!(survivors.last().map(|(due, _)| due.as_nanos()), Some(survivors.len() as u64 * 12_000_000));
    }
}

#[test]
fn loss_of_nothing_and_of_everything() {
    for (probability, lost) in [(0.0, 0), (1.0, 1000), (f64::NAN, 0)] {
        let mut path = Path::new(&PathConfig { loss: probability.into(), ..PathConfig::delay_only(MS) }, 1);
        (0..1000).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
        assert_eq!(path.counters().lost, lost);
    }
}

#[test]
fn gilbert_elliott_has_its_stationary_loss_and_its_bursts() {
    // Bad for 0.01 / (0.01 + 0.2) of the packets.
    let loss = Loss::GilbertElliott { to_bad: 0.01, to_good: 0.2, loss_good: 0.0, loss_bad: 1.0 };
    let mut path = Path::new(&PathConfig { loss, ..PathConfig::delay_only(MS) }, 1);
    let packets = 1_000_000u32;
    (0..packets).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    let share = path.counters().lost as f64 / f64::from(packets);
    assert!((share / (0.01 / 0.21) - 1.0).abs() < 0.03, "{share}");
    // Whatever is all lost in the bad state and not in the good is lost in bursts as long as the bad state lasts.
    let bursts = drain(&mut path).windows(2).filter(|pair| pair[1].payload > pair[0].payload + 1).count();
    let length = path.counters().lost as f64 / bursts as f64;
    assert!((length / 5.0 - 1.0).abs() < 0.03, "{length}");
}

#[test]
fn gilbert_elliott_loses_in_both_states() {
    let loss = Loss::GilbertElliott { to_bad: 0.1, to_good: 0.3, loss_good: 0.02, loss_bad: 0.5 };
    let mut path = Path::new(&PathConfig { loss, ..PathConfig::delay_only(MS) }, 1);
    (0..1_000_000).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    let share = path.counters().lost as f64 / 1e6;
    assert!((share / (0.75 * 0.02 + 0.25 * 0.5) - 1.0).abs() < 0.02, "{share}");
}

#[test]
fn a_policer_passes_its_burst_and_then_its_rate() {
    // 12 Mbit/s is a packet each millisecond.
    let policer = Some(Policer { rate: Rate::from_mbps(12.0), burst: 15_000 });
    let mut path = Path::new(&PathConfig { policer, ..PathConfig::delay_only(Duration::ZERO) }, 1);
    (0..100).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    assert_eq!(path.counters().policed, 90);
    assert_eq!(drain(&mut path).last().map(|last| (last.due, last.payload)), Some((Time::ZERO, 9)));
    // Ten times the rate for ten seconds, while the bucket is empty.
    (0..100_000).for_each(|i| path.enqueue(at(i64::from(i) as u64 * 100_000), 0, i, 1500));
    let times: Vec<_> = drain(&mut path).into_iter().map(|delivered| delivered.due).collect();
    assert!(times.into_iter().eq((1..10_000).map(at_ms)), "one in each millisecond");
    // It fills up to the burst and no further.
    (0..100).for_each(|i| path.enqueue(at_ms(1_000_000), 0, i, 1500));
    assert_eq!(path.counters().delivered + path.in_flight() as u64, 10 + 9_999 + 10);
}

#[test]
fn a_packet_larger_than_the_burst_never_passes() {
    let policer = Some(Policer { rate: Rate::from_mbps(1000.0), burst: 1000 });
    let mut path = Path::new(&PathConfig { policer, ..PathConfig::delay_only(Duration::ZERO) }, 1);
    path.enqueue(at_ms(1000), 0, (), 1001);
    path.enqueue(at_ms(1000), 0, (), 1000);
    assert_eq!((path.counters().policed, path.in_flight()), (1, 1));
}

#[test]
fn jitter_spreads_delays_and_keeps_the_order() {
    let mut path = Path::new(&PathConfig { jitter: 2 * MS, ..PathConfig::delay_only(15 * MS) }, 1);
    // Far apart, so that none has to wait for its predecessor: the delays are uniform.
    (0..10_000u64).for_each(|i| path.enqueue(at(i * 10_000_000), 0, i, 1500));
    let delays: Vec<f64> =
        drain_timed(&mut path).iter().map(|(due, i)| due.since(at(i * 10_000_000)).as_secs_f64() * 1e3).collect();
    assert!(delays.iter().all(|delay| (15.0..=17.0).contains(delay)));
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean - 16.0).abs() < 0.03, "mean delay {mean} ms");

    (0..1000).for_each(|i| path.enqueue(at(200_000_000_000 + i * 1000), 0, i, 1500));
    assert!(drain_timed(&mut path).is_sorted_by_key(|(due, i)| (*due, *i)));
}

#[test]
fn reordering_delays_some_and_leaves_the_others_alone() {
    let reordering = Some(Reordering { probability: 0.1, delay: 5 * MS });
    let mut path = Path::new(&PathConfig { reordering, ..PathConfig::delay_only(15 * MS) }, 1);
    (0..100_000).for_each(|i| path.enqueue(at_ms(i), 0, i, 1500));
    let delivered = drain_timed(&mut path);
    assert!(delivered.is_sorted_by_key(|(due, _)| *due));
    let late = delivered.iter().filter(|(due, i)| due.since(at_ms(*i)) == 20 * MS).count();
    let on_time = delivered.iter().filter(|(due, i)| due.since(at_ms(*i)) == 15 * MS).count();
    assert_eq!(late + on_time, 100_000);
    assert!((9_600..10_400).contains(&late), "{late}");
    assert!(!delivered.is_sorted_by_key(|(_, i)| *i));
}

#[test]
fn aggregated_packets_leave_together_and_in_order() {
    let aggregation = Some(Aggregation { period: 10 * MS });
    let mut path = Path::new(&PathConfig { aggregation, ..PathConfig::delay_only(15 * MS) }, 1);
    // 25 ms is rounded up, and 30 ms is not.
    for (i, ms) in [5, 10, 14, 15, 16].into_iter().enumerate() {
        path.enqueue(at_ms(ms), 0, i, 1500);
    }
    assert_eq!(path.next_event(), Some(at_ms(20)));
    let expected = [(20, 0), (30, 1), (30, 2), (30, 3), (40, 4)];
    assert_eq!(drain_timed(&mut path), expected.map(|(ms, i)| (at_ms(ms), i)));
}

#[test]
fn a_rate_of_zero_and_a_clock_that_steps_back_do_no_harm() {
    let mut path = Path::new(&bottleneck(Rate::ZERO, u64::MAX), 1);
    path.enqueue(at(5), 0, (), u64::MAX);
    path.enqueue(at(4), 0, (), 1);
    assert_eq!(poll(&mut path, at(1 << 40)), None);
    assert_eq!((path.in_flight(), path.counters().dropped), (1, 1));
}
