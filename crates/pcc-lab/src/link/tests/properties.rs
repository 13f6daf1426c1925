use super::*;
use crate::stall::{Lengths, Stalls};
use proptest::prelude::*;

/// A packet: the gap to the one before in ns, its flow, its bytes.
type Entry = (u64, u32, u64);

fn nanos(most: u64) -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), 0..most].prop_map(Duration::from_nanos)
}

fn any_rate() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(0.0), 0.0..1e10f64, 1e5..1e8f64].prop_map(Rate::from_bits_per_sec)
}

fn any_trace() -> impl Strategy<Value = Capacity> {
    prop::collection::vec(0..20u32, 1..20).prop_map(|mut times| {
        times.sort_unstable();
        times.push(times.last().map_or(1, |last| *last.max(&1)));
        let text: Vec<_> = times.iter().map(u32::to_string).collect();
        Capacity::Trace(Trace::parse(&text.join("\n")).expect("sorted, and not of length 0").into())
    })
}

fn any_queue() -> impl Strategy<Value = QueueConfig> {
    let limit = || prop_oneof![(0..20_000u64).prop_map(Limit::Bytes), (0..20u64).prop_map(Limit::Packets)];
    let kind = prop::sample::select(QueueKind::ALL);
    (kind, limit(), any::<[bool; 2]>(), prop::option::of(limit())).prop_map(
        |(kind, limit, [endless, ecn], mark_above)| {
            let endless = endless && matches!(kind, QueueKind::CoDel | QueueKind::FqCoDel);
            let limit = if endless { Limit::Bytes(u64::MAX) } else { limit };
            QueueConfig { kind, limit, ecn, mark_above }
        },
    )
}

fn any_loss() -> impl Strategy<Value = Loss> {
    let p = || prop_oneof![Just(0.0), 0.0..1.0f64];
    prop_oneof![
        p().prop_map(Loss::Bernoulli),
        (p(), p(), p(), p()).prop_map(|(to_bad, to_good, loss_good, loss_bad)| Loss::GilbertElliott {
            to_bad,
            to_good,
            loss_good,
            loss_bad
        }),
    ]
}

fn any_schedule() -> impl Strategy<Value = Vec<Change>> {
    let rate = prop::option::of(any_rate());
    let change = (0..500_000_000u64, rate, prop::option::of(nanos(50_000_000)), prop::option::of(0.0..1.0f64));
    let change = change.prop_map(|(ns, rate, delay, loss)| Change { at: at(ns), rate, delay, loss });
    prop::collection::vec(change, 0..6).prop_map(|mut schedule| {
        schedule.sort_by_key(|change| change.at);
        schedule
    })
}

fn any_stalls() -> impl Strategy<Value = Stalls> {
    (1_000_000..100_000_000u64, 0..50_000_000u64).prop_map(|(every, length)| Stalls {
        every: Duration::from_nanos(every),
        length: Lengths::Exponential(Duration::from_nanos(length)),
    })
}

/// One of four flows, of which two share a queue of FQ-CoDel.
fn any_flow() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0, 1, 2, 1024])
}

/// A path with anything on it, and packets.
fn any_path() -> impl Strategy<Value = (PathConfig, Vec<Entry>)> {
    let capacity = prop_oneof![Just(Capacity::Unlimited), any_rate().prop_map(Capacity::from), any_trace()];
    let policer = (any_rate(), 0..20_000u64).prop_map(|(rate, burst)| Policer { rate, burst });
    let reordering = (0.0..1.0f64, nanos(20_000_000));
    let reordering = reordering.prop_map(|(probability, delay)| Reordering { probability, delay });
    let aggregation = nanos(50_000_000).prop_map(|period| Aggregation { period });
    let config = (
        (capacity, nanos(1_000_000_000), any_queue(), any_loss(), nanos(10_000_000)),
        (
            prop::option::of(policer),
            prop::option::of(reordering),
            prop::option::of(aggregation),
            prop::option::of(any_stalls()),
            any_schedule(),
        ),
    );
    let config = config.prop_map(
        |((capacity, delay, queue, loss, jitter), (policer, reordering, aggregation, stalls, schedule))| {
            let schedule = schedule.into();
            PathConfig { capacity, delay, queue, policer, loss, jitter, reordering, aggregation, stalls, schedule }
        },
    );
    (config, prop::collection::vec((prop_oneof![Just(0), 0..5_000_000u64], any_flow(), 0..2000u64), 0..300))
}

/// What packets say, one after the other.
const CODEPOINTS: [Codepoint; 3] = [Codepoint::NotEct, Codepoint::Ect, Codepoint::Ce];

/// Whether the queue is within its limit.
fn within(queue: QueueConfig, path: &Path<usize>) -> bool {
    // With DRR the limit is that of each of four flows.
    let flows = if queue.kind == QueueKind::Drr { 4 } else { 1 };
    match queue.limit {
        Limit::Bytes(limit) => path.queued_bytes() <= limit.saturating_mul(flows),
        Limit::Packets(limit) => path.queued_packets() as u64 <= limit * flows,
    }
}

proptest! {
    #[test]
    fn every_packet_is_delivered_on_the_path_or_dropped_exactly_once((config, packets) in any_path(), seed: u64) {
        let mut path = Path::new(&config, seed);
        let mut now = Time::ZERO;
        let mut delivered = Vec::new();
        for (i, (gap, flow, bytes)) in packets.iter().enumerate() {
            now += Duration::from_nanos(*gap);
            path.enqueue_ecn(now, *flow, i, *bytes, CODEPOINTS[i % 3]);
            prop_assert!(within(config.queue, &path), "{:?}: {} bytes", config.queue, path.queued_bytes());
            if i % 3 == 0 {
                delivered.extend(std::iter::from_fn(|| path.poll(now)));
            }
            let c = path.counters();
            prop_assert_eq!(c.enqueued, i as u64 + 1);
            prop_assert_eq!(c.enqueued, c.lost + c.policed + c.dropped + c.delivered + path.in_flight() as u64);
            prop_assert_eq!(c.delivered, delivered.len() as u64);
        }
        delivered.extend(drain(&mut path));
        prop_assert_eq!((path.in_flight(), path.queued_bytes(), path.next_event()), (0, 0, None));
        prop_assert!(delivered.is_sorted_by_key(|d| d.due));
        prop_assert!(delivered.iter().all(|d| d.bytes == packets[d.payload].2));
        prop_assert_eq!(path.counters().delivered_bytes, delivered.iter().map(|d| d.bytes).sum::<u64>());
        for Delivered { payload, ecn, .. } in &delivered {
            let entered = CODEPOINTS[payload % 3];
            prop_assert!(*ecn == entered || (entered, *ecn) == (Codepoint::Ect, Codepoint::Ce));
        }
        for flow in 0..4 {
            let mut of_flow: Vec<_> = delivered.iter().map(|d| d.payload).filter(|i| packets[*i].1 == flow).collect();
            if config.reordering.is_some() {
                of_flow.sort_unstable();
            }
            prop_assert!(of_flow.is_sorted_by(|a, b| a < b), "each once, in order");
        }
    }

    #[test]
    fn the_outcome_depends_on_the_seed_and_not_on_the_polling((config, packets) in any_path(), seed: u64) {
        let run = |poll_every: usize, again: bool| {
            let mut path = Path::new(&config, seed);
            let mut now = Time::ZERO;
            let mut delivered = Vec::new();
            for (i, (gap, flow, bytes)) in packets.iter().enumerate() {
                // Also when it says it should be.
                while let Some(next) = path.next_event().filter(|next| again && *next <= now + Duration::from_nanos(*gap)) {
                    delivered.extend(std::iter::from_fn(|| path.poll(next)));
                }
                now += Duration::from_nanos(*gap);
                if i % poll_every == 0 {
                    delivered.extend(std::iter::from_fn(|| path.poll(now)));
                }
                path.enqueue(now, *flow, i, *bytes);
            }
            delivered.extend(drain(&mut path));
            (delivered, path.counters())
        };
        let once = run(usize::MAX, false);
        prop_assert_eq!(&once, &run(1, false));
        prop_assert_eq!(&once, &run(7, false));
        prop_assert_eq!(&once, &run(7, true));
    }

    #[test]
    fn no_driver_that_polls_when_told_is_ever_late((config, packets) in any_path(), seed: u64) {
        let mut path = Path::new(&config, seed);
        let mut now = Time::ZERO;
        for (i, (gap, flow, bytes)) in packets.iter().enumerate() {
            now += Duration::from_nanos(*gap);
            while let Some(next) = path.next_event().filter(|next| *next <= now) {
                while let Some(delivered) = path.poll(next) {
                    prop_assert_eq!(delivered.due, next);
                }
            }
            path.enqueue(now, *flow, i, *bytes);
        }
    }
}
