use super::*;

/// 12 Mbit/s: a full packet takes a millisecond.
const RATE: Rate = Rate::from_mbps(12.0);

const UNLIMITED: Limit = Limit::Bytes(u64::MAX);

/// Bytes that each flow got until `end`.
fn shares<P>(delivered: &[(u32, Delivered<P>)], end: Time, flows: u32) -> Vec<u64> {
    let of = |flow| delivered.iter().filter(move |(f, d)| *f == flow && d.due <= end);
    (0..flows).map(|flow| of(flow).map(|(_, d)| d.bytes).sum()).collect()
}

/// Puts packets on a path as (time in us, flow, bytes); what comes out, with the flow of each.
fn run(config: &PathConfig, mut packets: Vec<(u64, u32, u64)>) -> (Vec<(u32, Delivered<usize>)>, Counters) {
    packets.sort_by_key(|packet| packet.0);
    let mut path = Path::new(config, 1);
    for (i, (us, flow, bytes)) in packets.iter().enumerate() {
        path.enqueue(at(us * 1000), *flow, i, *bytes);
    }
    let delivered = drain(&mut path).into_iter().map(|delivered| (packets[delivered.payload].1, delivered)).collect();
    (delivered, path.counters())
}

/// A flow of packets of `bytes` bytes, one each `every` us, until `end` us.
fn flow(number: u32, bytes: u64, every: u64, end: u64) -> impl Iterator<Item = (u64, u32, u64)> {
    (0..end / every).map(move |i| (i * every, number, bytes))
}

#[test]
fn a_limit_in_bytes_is_exact_and_counts_the_packet_in_service() {
    let mut path = Path::new(&bottleneck(Rate::from_mbps(8.0), 2500), 1);
    path.enqueue(Time::ZERO, 0, 'a', 1000);
    path.enqueue(Time::ZERO, 0, 'b', 1000);
    path.enqueue(Time::ZERO, 0, 'c', 501);
    assert_eq!((path.counters().dropped, path.queued_bytes()), (1, 2000));
    path.enqueue(Time::ZERO, 0, 'd', 500);
    assert_eq!((path.counters().dropped, path.queued_bytes()), (1, 2500));
    path.enqueue(at(999_999), 0, 'e', 1);
    assert_eq!(path.counters().dropped, 2);
    // 'a' has left at this very time.
    path.enqueue(at(1_000_000), 0, 'f', 1000);
    assert_eq!((path.counters().dropped, path.queued_bytes()), (2, 2500));
    let payloads: String = drain_timed(&mut path).into_iter().map(|(_, payload)| payload).collect();
    assert_eq!(payloads, "abdf");
}

#[test]
fn a_limit_in_packets_counts_the_packet_in_service() {
    for kind in QueueKind::ALL {
        let mut path = Path::new(&bottleneck(RATE, queue(*kind, Limit::Packets(2))), 1);
        (0..5).for_each(|i| path.enqueue(Time::ZERO, 0, i, 40));
        assert_eq!((path.counters().dropped, path.queued_packets()), (3, 2), "{kind:?}");
        path.enqueue(at_ms(1), 0, 5, 1500);
        assert_eq!(path.counters().dropped, 3);
    }
}

/// When CoDel dropped, in ms: each drop shows as a gap in the numbers of the packets that begin service.
fn codel_drops(config: &PathConfig, packets: Vec<(u64, u32, u64)>) -> Vec<f64> {
    let (delivered, counters) = run(config, packets);
    let gaps = delivered.windows(2).flat_map(|pair| {
        let (before, after) = (pair[0].1, pair[1].1);
        std::iter::repeat_n(before.due.as_nanos() as f64 / 1e6, after.payload - before.payload - 1)
    });
    let drops: Vec<_> = gaps.collect();
    assert_eq!(drops.len() as u64, counters.dropped);
    drops
}

#[test]
fn codel_drops_after_an_interval_above_target_and_faster_with_the_root_of_the_count() {
    let queue = queue(QueueKind::CoDel, UNLIMITED);
    // 20 % too many: the wait grows by 0.2 ms each ms and passes 5 ms after 30 ms; an interval later it is still above.
    let drops = codel_drops(&bottleneck(RATE, queue), flow(0, 1500, 833, 2_000_000).collect());
    let first = drops[0];
    assert!((128.0..133.0).contains(&first), "{first}");
    // One can only be dropped when one begins service, which is each millisecond; the next time counts from the planned one.
    let mut planned = first;
    for (count, drop) in (1..).zip(&drops) {
        assert!((0.0..=1.0).contains(&(drop - planned)), "drop {count} at {drop}, planned for {planned}");
        planned += 100.0 / f64::from(count).sqrt();
    }
    assert!(drops.len() > 100, "{}", drops.len());
}

#[test]
fn codel_stops_when_the_wait_is_short_and_resumes_near_where_it_was() {
    let config = bottleneck(RATE, queue(QueueKind::CoDel, UNLIMITED));
    // Too much for a second, then too little for 300 ms, in which the queue empties, and so on again.
    let packets = flow(0, 1500, 833, 1_000_000).chain((1_000..1_500).step_by(2).map(|ms| (ms * 1000, 0, 1500)));
    let again = flow(0, 1500, 833, 1_000_000).map(|(us, flow, bytes)| (us + 1_500_000, flow, bytes));
    let drops = codel_drops(&config, packets.chain(again).collect());
    assert!(drops.iter().all(|at| !(1_350.0..1_600.0).contains(at)), "{drops:?}");
    let gap = |from: f64| {
        let mut later = drops.iter().skip_while(|at| **at < from);
        let first = later.next().expect("a drop");
        later.next().expect("a second drop") - first
    };
    assert!((99.0..=101.0).contains(&gap(0.0)), "it begins with an interval");
    assert!(gap(1_600.0) < 50.0, "it begins again faster: {}", gap(1_600.0));
}

#[test]
fn codel_leaves_short_waits_and_single_packets_alone() {
    // 4 ms of burst each 10 ms.
    let bursts = (0..1000).flat_map(|i| [(i * 10_000, 0, 1500); 5]).collect();
    assert_eq!(codel_drops(&bottleneck(RATE, queue(QueueKind::CoDel, UNLIMITED)), bursts), [0.0; 0]);
    // At 120 kbit/s a packet takes 100 ms, far more than the target; one waits while one is in service.
    let slow = bottleneck(Rate::from_mbps(0.12), queue(QueueKind::CoDel, UNLIMITED));
    let pairs = [(0, 0, 1500)].into_iter().chain(flow(0, 1500, 100_000, 20_000_000)).collect();
    assert_eq!(codel_drops(&slow, pairs), [0.0; 0]);
}

#[test]
fn deficit_round_robin_shares_bytes_whatever_the_sizes_of_packets() {
    let config = bottleneck(RATE, queue(QueueKind::Drr, Limit::Bytes(30_000)));
    // Each alone offers more than its third: 12, 9 and 20 Mbit/s, in packets of 1500, 90 and 1000 bytes.
    let end = 10_000_000;
    let packets = flow(0, 1500, 1000, end).chain(flow(1, 90, 80, end)).chain(flow(2, 1000, 400, end)).collect();
    let (delivered, _) = run(&config, packets);
    let shares = shares(&delivered, at_ms(10_000), 3);
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    // Fair to a few packets, out of 5,000,000 bytes.
    assert!(most - least <= 3 * 1500, "{shares:?}");
    // And work-conserving: the link was never idle.
    assert!(shares.iter().sum::<u64>() > 15_000_000 - 1500, "{shares:?}");
}

#[test]
fn deficit_round_robin_gives_what_one_leaves_to_the_others() {
    let config = bottleneck(RATE, queue(QueueKind::Drr, Limit::Bytes(30_000)));
    // 2.4 Mbit/s of 12 leave 4.8 for each of the others.
    let end = 10_000_000;
    let packets = flow(0, 300, 1000, end).chain(flow(1, 1500, 1000, end)).chain(flow(7, 1500, 500, end)).collect();
    let (delivered, _) = run(&config, packets);
    let shares = shares(&delivered, at_ms(10_000), 8);
    assert!(shares[0] >= 3_000_000 - 600, "{shares:?}");
    assert!(shares[1].abs_diff(shares[7]) <= 3000 && shares[1] > 5_900_000, "{shares:?}");
    // It never waits for more than the others' turns.
    let waits = delivered.iter().filter(|(flow, _)| *flow == 0).map(|(_, delivered)| delivered.queued);
    assert!(waits.max() <= Some(4 * MS));
}

#[test]
fn each_flow_of_round_robin_has_its_own_buffer() {
    let mut path = Path::new(&bottleneck(RATE, queue(QueueKind::Drr, Limit::Bytes(3000))), 1);
    for flow in [1, 1, 1, 2, 2, 2, 3] {
        path.enqueue(Time::ZERO, flow, flow, 1500);
    }
    assert_eq!((path.counters().dropped, path.queued_bytes()), (2, 5 * 1500));
    let order: Vec<_> = drain_timed(&mut path).into_iter().map(|(_, flow)| flow).collect();
    assert_eq!(order, [1, 1, 2, 3, 2]);
}

#[test]
fn fq_codel_serves_new_flows_first() {
    let mut path = Path::new(&bottleneck(RATE, queue(QueueKind::FqCoDel, UNLIMITED)), 1);
    (0..10).for_each(|_| path.enqueue(Time::ZERO, 1, 1, 1500));
    // By then flow 1 is old. Flow 3 shares its queue, and 2 has one of its own.
    path.enqueue(at_ms(3), 1 + 1024, 3, 100);
    path.enqueue(at_ms(3), 2, 2, 100);
    let order: Vec<_> = drain_timed(&mut path).into_iter().map(|(_, flow)| flow).collect();
    assert_eq!(order, [1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 3]);
}

#[test]
fn fq_codel_keeps_sparse_flows_fast_beside_an_unresponsive_one() {
    let config = bottleneck(RATE, queue(QueueKind::FqCoDel, Limit::Packets(1000)));
    let end = 10_000_000;
    // 60 Mbit/s of no mercy, and 160 kbit/s of voice.
    let (delivered, _) = run(&config, flow(0, 1500, 200, end).chain(flow(1, 200, 10_000, end)).collect());
    let voice: Vec<_> = delivered.iter().filter(|(flow, _)| *flow == 1).map(|(_, d)| d.queued).collect();
    assert_eq!(voice.len(), 1000);
    // It waits for what is in service and no more.
    assert!(voice.iter().all(|wait| *wait <= MS), "{:?}", voice.iter().max());
}

#[test]
fn fq_codel_drops_from_the_flow_with_most_bytes() {
    let config = bottleneck(RATE, queue(QueueKind::FqCoDel, Limit::Bytes(150_000)));
    let end = 5_000_000;
    // 60 Mbit/s, and 4.8 Mbit/s, which is less than a half of the link.
    let (delivered, counters) = run(&config, flow(0, 1500, 200, end).chain(flow(1, 600, 1000, end)).collect());
    assert_eq!(delivered.iter().filter(|(flow, _)| *flow == 1).count(), 5000, "all of the small flow");
    assert!(counters.dropped > 15_000, "{}", counters.dropped);
    let shares = shares(&delivered, at_ms(5_000), 2);
    assert!(shares.iter().sum::<u64>() > 7_500_000 - 1500, "{shares:?}");
}

#[test]
fn fq_codel_drops_a_batch_at_its_head() {
    let mut path = Path::new(&bottleneck(RATE, queue(QueueKind::FqCoDel, Limit::Packets(101))), 1);
    (0..101).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    assert_eq!(path.counters().dropped, 0);
    // One is in service; of the 101 behind it, half are gone.
    path.enqueue(Time::ZERO, 0, 101, 1500);
    assert_eq!(path.counters().dropped, 51);
    let order: Vec<_> = drain_timed(&mut path).into_iter().map(|(_, i)| i).collect();
    assert_eq!(order, std::iter::once(0).chain(52..=101).collect::<Vec<_>>());
}

#[test]
fn fq_codel_makes_room_among_packets_without_bytes() {
    let mut path = Path::new(&bottleneck(RATE, queue(QueueKind::FqCoDel, Limit::Packets(3))), 1);
    // At 2.5 ms the last of them is in service, and all their queues are empty but take their turns.
    (1..=3).for_each(|flow| path.enqueue(Time::ZERO, flow, flow, 1500));
    // Two fit behind it.
    (0..4).for_each(|_| path.enqueue(at(2_500_000), 0, 0, 0));
    assert_eq!(path.counters().dropped, 2);
    let order: Vec<_> = drain_timed(&mut path).into_iter().map(|(_, flow)| flow).collect();
    assert_eq!(order, [1, 2, 3, 0, 0]);
}
