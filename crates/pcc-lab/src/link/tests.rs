use super::*;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Everything that the path still delivers, with the time at which each packet is due.
fn drain<P>(path: &mut Path<P>) -> Vec<(Time, P)> {
    let mut delivered = Vec::new();
    while let Some(next) = path.next_event() {
        delivered.extend(std::iter::from_fn(|| path.poll_timed(next)));
    }
    delivered
}

fn bottleneck(rate: Rate, queue: u64) -> PathConfig {
    PathConfig { rate: Some(rate), queue, ..PathConfig::delay_only(Duration::ZERO) }
}

#[test]
fn rate_is_exact_over_a_long_busy_period() {
    // 7 Mbit/s: a packet of 1,500 bytes takes 1,714,285.71... ns, so that rounding each would be off by 0.7 us here.
    let mut path = Path::new(&bottleneck(Rate::from_mbps(7.0), u64::MAX), 1);
    (0..1_000_000u32).for_each(|i| path.enqueue(Time::ZERO, i, 1500));
    let delivered = drain(&mut path);
    assert_eq!(delivered.len(), 1_000_000);
    for (i, (due, payload)) in delivered.iter().enumerate() {
        assert_eq!(*payload as usize, i);
        assert_eq!(due.as_nanos(), (i as u64 + 1) * 12_000 * 1000 / 7, "packet {i}");
    }
}

#[test]
fn an_idle_link_starts_with_the_packet() {
    let mut path = Path::new(&bottleneck(Rate::from_mbps(8.0), 10_000), 1);
    path.enqueue(at(500), 'a', 1000);
    path.enqueue(at(3_000_000), 'b', 1000);
    assert_eq!(drain(&mut path), [(at(1_000_500), 'a'), (at(4_000_000), 'b')]);
}

#[test]
fn lateness_of_the_driver_does_not_accumulate() {
    let mut path = Path::new(&bottleneck(Rate::from_mbps(8.0), 10_000), 1);
    (0..5).for_each(|i| path.enqueue(Time::ZERO, i, 1000));
    // Nobody looked for the three milliseconds in which three packets left; the fourth still leaves on time.
    assert_eq!(path.poll(at(3_100_000)), Some(0));
    assert_eq!(path.poll(at(3_100_000)), Some(1));
    assert_eq!(path.poll(at(3_100_000)), Some(2));
    assert_eq!(path.poll(at(3_100_000)), None);
    assert_eq!(path.next_event(), Some(at(4_000_000)));
}

#[test]
fn delay_is_exact_with_and_without_a_rate() {
    let mut path = Path::new(&PathConfig::delay_only(15 * MS), 1);
    path.enqueue(at(7), (), 1500);
    assert_eq!(path.next_event(), Some(at(15_000_007)));
    assert_eq!(path.poll(at(15_000_006)), None);
    assert_eq!(path.poll(at(15_000_007)), Some(()));
    assert_eq!(path.next_event(), None);

    let mut path = Path::new(&PathConfig { delay: 15 * MS, ..bottleneck(Rate::from_mbps(12.0), 1500) }, 1);
    path.enqueue(at(7), (), 1500);
    assert_eq!(path.next_event(), Some(at(16_000_007)));
    assert_eq!(drain(&mut path), [(at(16_000_007), ())]);
}

#[test]
fn queue_limit_is_exact_in_bytes_and_counts_the_packet_in_service() {
    let mut path = Path::new(&bottleneck(Rate::from_mbps(8.0), 2500), 1);
    path.enqueue(Time::ZERO, 'a', 1000);
    path.enqueue(Time::ZERO, 'b', 1000);
    path.enqueue(Time::ZERO, 'c', 501);
    assert_eq!((path.counters().dropped, path.queued_bytes()), (1, 2000));
    path.enqueue(Time::ZERO, 'd', 500);
    assert_eq!((path.counters().dropped, path.queued_bytes()), (1, 2500));
    path.enqueue(at(999_999), 'e', 1);
    assert_eq!(path.counters().dropped, 2);
    // 'a' has left at this very time.
    path.enqueue(at(1_000_000), 'f', 1000);
    assert_eq!((path.counters().dropped, path.queued_bytes()), (2, 2500));
    let payloads: String = drain(&mut path).into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, "abdf");
}

#[test]
fn loss_is_on_entry_and_within_its_binomial_bounds() {
    let packets = 100_000;
    for (seed, probability) in [(1, 0.0074), (2, 0.01), (3, 0.3)] {
        let mut path = Path::new(&PathConfig { loss: probability, ..bottleneck(Rate::from_mbps(1.0), u64::MAX) }, seed);
        (0..packets).for_each(|i| path.enqueue(Time::ZERO, i, 1500));
        let lost = path.counters().lost as f64;
        let mean = f64::from(packets) * probability;
        let deviation = (mean * (1.0 - probability)).sqrt();
        assert!((lost - mean).abs() < 4.0 * deviation, "{lost} lost at {probability}");
        // The lost ones took no time of the bottleneck.
        let survivors = drain(&mut path);
        assert_eq!(survivors.len() as f64 + lost, f64::from(packets));
        assert_eq!(survivors.last().map(|(due, _)| due.as_nanos()), Some(survivors.len() as u64 * 12_000_000));
    }
}

#[test]
fn loss_of_nothing_and_of_everything() {
    for (probability, lost) in [(0.0, 0), (1.0, 1000), (f64::NAN, 0)] {
        let mut path = Path::new(&PathConfig { loss: probability, ..PathConfig::delay_only(MS) }, 1);
        (0..1000).for_each(|i| path.enqueue(Time::ZERO, i, 1500));
        assert_eq!(path.counters().lost, lost);
    }
}

#[test]
fn jitter_spreads_delays_and_keeps_the_order() {
    let mut path = Path::new(&PathConfig { jitter: 2 * MS, ..PathConfig::delay_only(15 * MS) }, 1);
    // Far apart, so that none has to wait for its predecessor: the delays are uniform.
    (0..10_000u64).for_each(|i| path.enqueue(at(i * 10_000_000), i, 1500));
    let delays: Vec<f64> =
        drain(&mut path).iter().map(|(due, i)| due.since(at(i * 10_000_000)).as_secs_f64() * 1e3).collect();
    assert!(delays.iter().all(|delay| (15.0..=17.0).contains(delay)));
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean - 16.0).abs() < 0.03, "mean delay {mean} ms");

    (0..1000).for_each(|i| path.enqueue(at(200_000_000_000 + i * 1000), i, 1500));
    assert!(drain(&mut path).is_sorted_by_key(|(due, i)| (*due, *i)));
}

#[test]
fn a_rate_of_zero_and_a_clock_that_steps_back_do_no_harm() {
    let mut path = Path::new(&bottleneck(Rate::ZERO, u64::MAX), 1);
    path.enqueue(at(5), (), u64::MAX);
    path.enqueue(at(4), (), 1);
    assert_eq!(path.poll(at(1 << 40)), None);
    assert_eq!((path.in_flight(), path.counters().dropped), (1, 1));
}

/// A path, and packets as (gap to the one before in ns, bytes).
fn any_path() -> impl Strategy<Value = (PathConfig, Vec<(u64, u64)>)> {
    let config = (
        prop::option::of(0.0..1e10f64),
        0..1_000_000_000u64,
        0..20_000u64,
        prop_oneof![Just(0.0), 0.0..1.0f64],
        prop_oneof![Just(0), 0..10_000_000u64],
    );
    let config = config.prop_map(|(rate, delay, queue, loss, jitter)| PathConfig {
        rate: rate.map(Rate::from_bits_per_sec),
        delay: Duration::from_nanos(delay),
        queue,
        loss,
        jitter: Duration::from_nanos(jitter),
    });
    (config, prop::collection::vec((prop_oneof![Just(0), 0..5_000_000u64], 0..2000u64), 0..300))
}

proptest! {
    #[test]
    fn every_packet_is_delivered_on_the_path_or_dropped_exactly_once((config, packets) in any_path(), seed: u64) {
        let mut path = Path::new(&config, seed);
        let mut now = Time::ZERO;
        let mut delivered = Vec::new();
        for (i, (gap, bytes)) in packets.iter().enumerate() {
            now += Duration::from_nanos(*gap);
            path.enqueue(now, i, *bytes);
            prop_assert!(path.queued_bytes() <= config.queue);
            if i % 3 == 0 {
                delivered.extend(std::iter::from_fn(|| path.poll(now)));
            }
            let c = path.counters();
            prop_assert_eq!(c.enqueued, i as u64 + 1);
            prop_assert_eq!(c.enqueued, c.lost + c.dropped + c.delivered + path.in_flight() as u64);
            prop_assert_eq!(c.delivered, delivered.len() as u64);
        }
        delivered.extend(drain(&mut path).into_iter().map(|(_, i)| i));
        prop_assert_eq!((path.in_flight(), path.queued_bytes(), path.next_event()), (0, 0, None));
        prop_assert!(delivered.is_sorted_by(|a, b| a < b), "each once, in order");
        prop_assert_eq!(path.counters().delivered_bytes, delivered.iter().map(|i| packets[*i].1).sum::<u64>());
    }

    #[test]
    fn the_outcome_depends_on_the_seed_and_not_on_the_polling((config, packets) in any_path(), seed: u64) {
        let run = |poll_every: usize| {
            let mut path = Path::new(&config, seed);
            let mut now = Time::ZERO;
            let mut delivered = Vec::new();
            for (i, (gap, bytes)) in packets.iter().enumerate() {
                now += Duration::from_nanos(*gap);
                if i % poll_every == 0 {
                    delivered.extend(std::iter::from_fn(|| path.poll_timed(now)));
                }
                path.enqueue(now, i, *bytes);
            }
            delivered.extend(drain(&mut path));
            (delivered, path.counters())
        };
        let once = run(usize::MAX);
        prop_assert_eq!(&once, &run(1));
        prop_assert_eq!(&once, &run(7));
    }
}
