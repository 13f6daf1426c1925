use super::*;

fn trace(text: &str) -> Trace {
    Trace::parse(text).expect("a trace")
}

fn over(text: &str) -> Path<usize> {
    let capacity = Capacity::Trace(trace(text).into());
    Path::new(&PathConfig { capacity, ..bottleneck(Rate::ZERO, u64::MAX) }, 1)
}

fn dues(path: &mut Path<usize>) -> Vec<u64> {
    drain(path).into_iter().map(|delivered| delivered.due.as_nanos() / 1_000_000).collect()
}

#[test]
fn packets_leave_at_opportunities_which_repeat() {
    // The second round begins at 9 ms: 9 + 0, 9 + 3, ...
    let mut path = over("0\n3\n3\n5\n9\n");
    (0..10).for_each(|i| path.enqueue(at(1), 0, i, 1500));
    assert_eq!(dues(&mut path), [3, 3, 5, 9, 9, 12, 12, 14, 18, 18]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    let mut path = over("1");
    for bytes in [500, 1000, 700, 2300, 1, 1500] {
        path.enqueue(Time::ZERO, 0, 0, bytes);
    }
    assert_eq!(dues(&mut path), [1, 1, 2, 3, 4, 5]);
}

#[test]
fn what_is_not_used_is_lost() {
    let mut path = over("1\n1");
    path.enqueue(Time::ZERO, 0, 0, 100);
    assert_eq!(dues(&mut path), [1]);
    // One at the very instant of an opportunity comes too late for it.
    (0..3).for_each(|i| path.enqueue(at_ms(1), 0, i, 1500));
    assert_eq!(dues(&mut path), [2, 2, 3]);
    path.enqueue(at_ms(1_000_000) + MS / 2, 0, 0, 1500);
    assert_eq!(dues(&mut path), [1_000_001]);
}

#[test]
fn a_packet_waits_until_its_first_byte_leaves() {
    let mut path = over("10");
    (0..2).for_each(|i| path.enqueue(at_ms(1), 0, i, 2000));
    assert_eq!(path.next_event(), Some(at_ms(10)));
    let delivered: Vec<_> = drain(&mut path).into_iter().map(|delivered| (delivered.due, delivered.queued)).collect();
    assert_eq!(delivered, [(at_ms(20), 9 * MS), (at_ms(30), 19 * MS)]);
}

#[test]
fn a_full_queue_gets_exactly_the_capacity() {
    let text = "0\n0\n1\n4\n4\n4\n9\n13";
    let trace = trace(text);
    let mut path = over(text);
    (0..1000).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    let dues = dues(&mut path);
    for (from, to) in [(1, 2), (1, 13), (1, 14), (5, 300), (13, 26), (100, 101)] {
        let delivered = dues.iter().filter(|due| (from..to).contains(*due)).count() as u64;
        assert_eq!(trace.capacity_between(at_ms(from), at_ms(to)), delivered * 1500, "{from} to {to} ms");
    }
    // A period is 8 opportunities in 13 ms.
    assert_eq!(trace.capacity_between(at_ms(7), at_ms(7 + 13_000)), 8_000 * 1500);
    assert!((trace.mean_rate().bits_per_sec() - 8.0 * 12_000.0 / 0.013).abs() < 1e-6);
    assert_eq!(trace.capacity_between(at_ms(5), at_ms(2)), 0);
}

#[test]
fn what_is_not_a_trace_is_refused_with_the_line() {
    for (text, expected) in [
        ("", TraceError::Empty),
        ("0\n0\n", TraceError::NoLength { line: 2 }),
        ("1\n5\n3\n", TraceError::NotSorted { line: 3, time: 3, previous: 5 }),
        ("1\nx\n", TraceError::NotATime { line: 2 }),
        ("1\n\n2", TraceError::NotATime { line: 2 }),
        ("-1", TraceError::NotATime { line: 1 }),
        ("1.5", TraceError::NotATime { line: 1 }),
        ("1\n4294967296", TraceError::NotATime { line: 2 }),
        ("\u{0}\u{1}PNG", TraceError::NotATime { line: 1 }),
    ] {
        assert_eq!(Trace::parse(text), Err(expected), "{text:?}");
    }
    assert_eq!(
        TraceError::NotSorted { line: 3, time: 3, previous: 5 }.to_string(),
        "line 3: 3 ms after 5 ms; times must not decrease"
    );
    assert_eq!(Trace::parse("1\r\n 2 \r\n"), Trace::parse("1\n2"));
}

#[test]
fn the_end_of_time_is_reached() {
    let trace = trace(&"1\n".repeat(1000));
    assert!(trace.capacity_between(Time::ZERO, at(u64::MAX)) > 1 << 62);
    let mut path = over("4294967295");
    path.enqueue(at(u64::MAX - 1), 0, 0, 1500);
    assert_eq!(drain(&mut path).len(), 1);
}

/// The coefficient of variation of the capacity in bins of so many ms.
fn variation(trace: &Trace, bin: u64) -> f64 {
    let bins = trace.period().as_millis() as u64 / bin;
    let counts: Vec<f64> =
        (0..bins).map(|i| trace.capacity_between(at_ms(i * bin), at_ms((i + 1) * bin)) as f64).collect();
    let mean = counts.iter().sum::<f64>() / bins as f64;
    (counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / bins as f64).sqrt() / mean
}

/// The share of the time that lies in gaps of at least 100 ms.
fn outages(trace: &Trace) -> f64 {
    let mut path = Path::new(
        &PathConfig { capacity: Capacity::Trace(trace.clone().into()), ..bottleneck(Rate::ZERO, u64::MAX) },
        1,
    );
    let packets = trace.capacity_between(Time::ZERO, Time::ZERO + trace.period()) / 1500;
    (0..packets).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    let times: Vec<_> = drain(&mut path).into_iter().map(|delivered| delivered.due).collect();
    let gaps = times.windows(2).map(|pair| pair[1].since(pair[0]));
    gaps.filter(|gap| *gap >= 100 * MS).sum::<Duration>().as_secs_f64() / trace.period().as_secs_f64()
}

/// The averages over a few seeds of what describes a trace.
fn lte_shape(mean: Rate, duration: Duration) -> [f64; 3] {
    let mut shape = [0.0; 3];
    for seed in 0..8 {
        let trace = Trace::lte(seed, mean, duration);
        let one = [variation(&trace, 100), variation(&trace, 1000), outages(&trace)];
        shape.iter_mut().zip(one).for_each(|(sum, one)| *sum += one / 8.0);
    }
    shape
}

#[test]
fn lte_has_the_mean_and_length_asked_for_and_is_seeded() {
    for (mbps, secs) in [(0.1, 60), (5.0, 20), (40.0, 10)] {
        let (mean, duration) = (Rate::from_mbps(mbps), Duration::from_secs(secs));
        let trace = Trace::lte(3, mean, duration);
        assert_eq!(trace.period(), duration);
        // The number of opportunities has the deviation of a Poisson process.
        let packets = mbps * 1e6 * secs as f64 / 12_000.0;
        assert!((trace.mean_rate() / mean - 1.0).abs() < 4.0 / packets.sqrt(), "{}", trace.mean_rate());
        assert_eq!(trace, Trace::lte(3, mean, duration));
        assert_ne!(trace, Trace::lte(4, mean, duration));
    }
    assert_eq!(Trace::lte(1, Rate::ZERO, Duration::ZERO), Trace::parse("1").expect("a trace"));
}

#[test]
fn lte_is_like_a_recording_of_lte() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/Verizon-LTE-short.down");
    let Ok(text) = std::fs::read_to_string(file) else {
        println!("skipped: there are no recordings beside the repository");
        return;
    };
    let recorded = trace(&text);
    let shape = [variation(&recorded, 100), variation(&recorded, 1000), outages(&recorded)];
    let ours = lte_shape(recorded.mean_rate(), recorded.period());
    println!("recorded {shape:.3?}, ours {ours:.3?}");
    for (name, index, tolerance) in [("100 ms", 0, 0.2), ("1 s", 1, 0.2)] {
        assert!((ours[index] / shape[index] - 1.0).abs() < tolerance, "variation in {name}: {ours:?}, not {shape:?}");
    }
    assert!((0.5..2.0).contains(&(ours[2] / shape[2])), "outages: {ours:?}, not {shape:?}");
}
