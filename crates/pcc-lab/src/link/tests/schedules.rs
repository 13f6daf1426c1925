use super::*;

fn change(ms: u64) -> Change {
    Change { at: at_ms(ms), ..Change::default() }
}

fn rate(ms: u64, mbps: f64) -> Change {
    Change { rate: Some(Rate::from_mbps(mbps)), ..change(ms) }
}

fn scheduled(schedule: &[Change], config: PathConfig) -> PathConfig {
    PathConfig { schedule: schedule.into(), ..config }
}

#[test]
fn the_packet_in_service_goes_on_at_the_new_rate() {
    // 1000 bytes take 1 ms at 8 Mbit/s.
    let config = scheduled(&[rate(1, 8.0), rate(4, 2.0)], bottleneck(Rate::from_mbps(4.0), 10_000));
    let mut path = Path::new(&config, 1);
    (0..5).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1000));
    // Half of the first packet in 1 ms, the rest in 0.5; three more until 4.5 ms, of which the last has half left at 4 ms.
    let expected = [1_500_000, 2_500_000, 3_500_000, 6_000_000, 10_000_000];
    let delivered: Vec<_> = drain_timed(&mut path).into_iter().map(|(due, _)| due.as_nanos()).collect();
    assert_eq!(delivered, expected);
}

#[test]
fn many_changes_lose_no_bit() {
    // Rates whose packet times are no whole nanoseconds, changed each 0.7 ms.
    let changes: Vec<_> = (1..10_000)
        .map(|i| {
            let rate = [Rate::from_mbps(7.0), Rate::from_mbps(13.0)][i % 2];
            Change { at: at(i as u64 * 700_000), rate: Some(rate), ..Change::default() }
        })
        .collect();
    let config = scheduled(&changes, bottleneck(Rate::from_mbps(7.0), u64::MAX));
    let mut path = Path::new(&config, 1);
    (0..5000).for_each(|i| path.enqueue(Time::ZERO, 0, i, 1500));
    for (i, delivered) in (1..).zip(drain(&mut path)) {
        // What has passed by then is what the integral of the rates says, to the nanosecond.
        let passed = |time| config.capacity(Time::ZERO, time).expect("it is limited");
        assert!(passed(delivered.due + Duration::from_nanos(2)) >= i * 1500, "packet {i}");
        assert!(passed(delivered.due) <= i * 1500, "packet {i}");
    }
}

#[test]
fn a_link_stops_and_goes_on() {
    let config = scheduled(&[rate(1, 0.0), rate(100, 8.0)], bottleneck(Rate::from_mbps(4.0), 10_000));
    let mut path = Path::new(&config, 1);
    path.enqueue(Time::ZERO, 0, 'a', 1000);
    path.enqueue(at_ms(50), 0, 'b', 1000);
    assert_eq!(drain_timed(&mut path), [(at(100_500_000), 'a'), (at(101_500_000), 'b')]);
    path.enqueue(at_ms(200), 0, 'c', 1000);
    assert_eq!(drain_timed(&mut path), [(at_ms(201), 'c')]);
}

#[test]
fn a_change_wakes_the_driver() {
    let config = scheduled(&[rate(5, 8000.0)], bottleneck(Rate::ZERO, 10_000));
    let mut path = Path::new(&config, 1);
    assert_eq!(path.next_event(), None);
    path.enqueue(Time::ZERO, 0, (), 1000);
    assert_eq!(path.next_event(), Some(at_ms(5)));
    assert_eq!(path.poll(at_ms(5)), None);
    assert_eq!(path.next_event(), Some(at(5_001_000)));
}

#[test]
fn a_bottleneck_can_appear_and_take_over_from_a_trace() {
    let config = scheduled(&[rate(10, 8.0)], PathConfig { queue: 10_000.into(), ..PathConfig::delay_only(MS) });
    let mut path = Path::new(&config, 1);
    [9, 10, 10].into_iter().for_each(|ms| path.enqueue(at_ms(ms), 0, ms, 1000));
    assert_eq!(drain_timed(&mut path), [(at_ms(10), 9), (at_ms(12), 10), (at_ms(13), 10)]);

    // An opportunity each 10 ms: of 4000 bytes, 3000 have left at 25 ms.
    let trace = Capacity::Trace(Trace::parse("10").expect("a trace").into());
    let config = scheduled(&[rate(25, 8.0)], PathConfig { capacity: trace, ..bottleneck(Rate::ZERO, 10_000) });
    let mut path = Path::new(&config, 1);
    path.enqueue(Time::ZERO, 0, 'a', 4000);
    path.enqueue(Time::ZERO, 0, 'b', 1000);
    assert_eq!(drain_timed(&mut path), [(at_ms(26), 'a'), (at_ms(27), 'b')]);
}

#[test]
fn a_new_delay_holds_for_what_enters_the_line_and_nothing_overtakes() {
    let longer = Change { delay: Some(30 * MS), ..change(10) };
    let shorter = Change { delay: Some(5 * MS), ..change(20) };
    let mut path = Path::new(&scheduled(&[longer, shorter], PathConfig::delay_only(15 * MS)), 1);
    [9, 10, 20, 50].into_iter().for_each(|ms| path.enqueue(at_ms(ms), 0, ms, 1500));
    assert_eq!(drain_timed(&mut path), [(24, 9), (40, 10), (40, 20), (55, 50)].map(|(due, ms)| (at_ms(due), ms)));
}

#[test]
fn loss_changes_and_a_change_out_of_order_comes_with_its_predecessor() {
    let loss = |ms, loss| Change { loss: Some(loss), ..change(ms) };
    let config = scheduled(&[loss(10, 1.0), loss(20, 1.0), loss(15, 0.0)], PathConfig::delay_only(MS));
    let mut path = Path::new(&config, 1);
    (0..30).for_each(|ms| path.enqueue(at_ms(ms), 0, ms, 1500));
    let delivered: Vec<_> = drain_timed(&mut path).into_iter().map(|(_, ms)| ms).collect();
    assert_eq!(delivered, (0..10).chain(20..30).collect::<Vec<_>>());
}

#[test]
fn capacity_is_the_integral_of_the_schedule() {
    let config = scheduled(&[rate(10, 8.0), change(15), rate(20, 0.0), rate(30, 16.0)], bottleneck(RATE, 0));
    const RATE: Rate = Rate::from_mbps(4.0);
    let capacity = |from, to| config.capacity(at_ms(from), at_ms(to));
    assert_eq!(capacity(0, 10), Some(5_000));
    assert_eq!(capacity(5, 15), Some(2_500 + 5_000));
    assert_eq!(capacity(0, 40), Some(5_000 + 10_000 + 20_000));
    assert_eq!(capacity(20, 30), Some(0));
    assert_eq!(capacity(35, 36), Some(2_000));

    let late = scheduled(&[rate(10, 8.0)], PathConfig::delay_only(MS));
    assert_eq!(late.capacity(at_ms(0), at_ms(20)), None);
    assert_eq!(late.capacity(at_ms(10), at_ms(20)), Some(10_000));

    let trace = Capacity::Trace(Trace::parse("2\n2\n5").expect("a trace").into());
    let config = scheduled(&[rate(12, 8.0)], PathConfig { capacity: trace, ..late });
    assert_eq!(config.capacity(at_ms(0), at_ms(14)), Some(6 * 1500 + 2_000));
}
