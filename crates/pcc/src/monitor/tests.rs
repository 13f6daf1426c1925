//! Which packet counts in which interval, and when an interval closes (SPEC 0.1 to 0.5).

use super::*;
use crate::units::Rate;

const SIZE: u64 = 1250; // 1 ms at 10 Mbit/s
const RTT: Duration = Duration::from_millis(40);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// An interval of `packets` packets at 10 Mbit/s.
fn plan(packets: u64) -> IntervalPlan {
    let rate = Rate::from_mbps(10.0);
    IntervalPlan { rate, role: Role::Move, length: Duration::ZERO, min_packets: packets, max_packets: u64::MAX }
}

fn send(monitor: &mut Monitor, number: u64, millis: u64) {
    monitor.on_sent(&SentPacket { time: at(millis), number, bytes: SIZE });
}

fn ack_after(monitor: &mut Monitor, number: u64, rtt: Duration) -> bool {
    // What the transport says of the send time isn't needed.
    monitor.on_acked(&AckedPacket { time: Time::ZERO, number, sent: Time::ZERO, bytes: SIZE, rtt })
}

fn ack(monitor: &mut Monitor, number: u64) -> bool {
    ack_after(monitor, number, RTT)
}

fn lose(monitor: &mut Monitor, number: u64) -> bool {
    monitor.on_lost(&LostPacket { time: Time::ZERO, number, sent: Time::ZERO, bytes: SIZE })
}

/// A monitor that sent one packet each millisecond, in intervals of `packets` packets.
fn sending(intervals: u64, packets: u64) -> Monitor {
    let mut monitor = Monitor::default();
    for number in 0..intervals * packets {
        if monitor.needs_plan() {
            monitor.begin(plan(packets));
        }
        send(&mut monitor, number, number);
    }
    monitor
}

#[test]
fn an_interval_starts_with_its_first_packet() {
    let mut monitor = Monitor::default();
    monitor.begin(plan(4));
    for number in 0..4 {
        send(&mut monitor, number, 500 + number);
    }
    assert!(monitor.needs_plan());
    (0..4).for_each(|number| assert!(ack(&mut monitor, number)));
    let (role, result) = monitor.close_next().unwrap();
    assert_eq!((role, result.start, result.packets_sent), (Role::Move, at(500), 4));
    assert!((result.rate.mbps() - 10.0).abs() < 1e-9, "the last packet's own time counts: {}", result.rate);
}

#[test]
fn a_batch_with_one_timestamp_measures_the_exact_rate() {
    for batch in [2, 5, 10] {
        let mut monitor = Monitor::default();
        monitor.begin(plan(20));
        for number in 0..20 {
            send(&mut monitor, number, number / batch * batch);
        }
        (0..20).for_each(|number| assert!(ack(&mut monitor, number)));
        let (_, result) = monitor.close_next().unwrap();
        assert!((result.rate.mbps() - 10.0).abs() < 1e-9, "{batch} at once: {}", result.rate);
    }
}

#[test]
fn an_interval_lasts_its_length_and_at_least_its_packets() {
    let ended_after = |plan: IntervalPlan| {
        let mut monitor = Monitor::default();
        monitor.begin(plan);
        (0..).find(|&number| {
            send(&mut monitor, number, number);
            monitor.needs_plan()
        })
    };
    let length = Duration::from_millis(30);
    assert_eq!(ended_after(IntervalPlan { length, ..plan(10) }), Some(29), "30 packets of 1 ms");
    assert_eq!(ended_after(IntervalPlan { length, ..plan(50) }), Some(49));
    assert_eq!(ended_after(IntervalPlan { length, max_packets: 12, ..plan(10) }), Some(11));
}

#[test]
fn outcomes_count_once() {
    let mut monitor = sending(1, 10);
    assert_eq!(monitor.in_flight(), 10 * SIZE);
    assert!(ack(&mut monitor, 0) && lose(&mut monitor, 1));
    assert!(!ack(&mut monitor, 0) && !lose(&mut monitor, 0), "acknowledged before");
    assert!(!ack(&mut monitor, 1) && !lose(&mut monitor, 1), "lost before");
    assert!(!ack(&mut monitor, 99) && !lose(&mut monitor, 99), "never sent");
    assert_eq!(monitor.in_flight(), 8 * SIZE);
    assert_eq!(monitor.close_next(), None, "8 have no outcome yet");
    (2..10).for_each(|number| assert!(ack(&mut monitor, number)));
    let (_, result) = monitor.close_next().unwrap();
    assert_eq!((result.packets_sent, result.packets_lost, result.loss), (10, 1, 0.1));
    assert!((result.throughput().mbps() - 9.0).abs() < 1e-9);
    assert_eq!((monitor.close_next(), monitor.in_flight()), (None, 0));
}

#[test]
fn loss_is_a_fraction_of_bytes() {
    let mut monitor = Monitor::default();
    monitor.begin(plan(2));
    monitor.on_sent(&SentPacket { time: at(0), number: 0, bytes: 300 });
    monitor.on_sent(&SentPacket { time: at(1), number: 1, bytes: 1200 });
    ack(&mut monitor, 0);
    lose(&mut monitor, 1);
    let (_, result) = monitor.close_next().unwrap();
    assert_eq!((result.packets_lost, result.loss), (1, 0.8));
}

#[test]
fn overtaking_closes_an_interval_between_batches() {
    let mut monitor = sending(3, 10);
    // Packet 5 of the first interval is missing; the patience is an eighth of 40 ms.
    (0..14).filter(|&number| number != 5).for_each(|number| assert!(ack(&mut monitor, number)));
    assert_eq!(monitor.close_next(), None, "packet 13 left 4 ms after the interval's last");
    ack(&mut monitor, 14);
    let (_, result) = monitor.close_next().expect("packet 14 left 5 ms after");
    assert_eq!((result.packets_sent, result.packets_lost), (10, 1));
    assert_eq!(monitor.close_next(), None, "the second interval is still in flight");
    assert_eq!(monitor.in_flight(), 16 * SIZE, "15 and the missing one");
}

#[test]
fn a_late_ack_is_counted_and_widens_the_window() {
    let mut monitor = sending(6, 10);
    (0..15).filter(|&number| number != 5).for_each(|number| assert!(ack(&mut monitor, number)));
    assert!(monitor.close_next().is_some());
    assert_eq!(monitor.late_acks(), 0);
    assert!(ack(&mut monitor, 5));
    assert_eq!((monitor.late_acks(), monitor.in_flight()), (1, 45 * SIZE));
    // It was overtaken by 9 ms: a quarter more is borne from now on, instead of 5 ms.
    (16..20).for_each(|number| assert!(ack(&mut monitor, number)));
    (20..30).for_each(|number| assert!(ack(&mut monitor, number)));
    assert_eq!(monitor.close_next(), None, "packet 15 is missing, the newest left 10 ms after the interval");
    ack(&mut monitor, 30);
    ack(&mut monitor, 31);
    let (_, result) = monitor.close_next().expect("12 ms after");
    assert_eq!(result.packets_lost, 1);
}

#[test]
fn the_window_never_exceeds_a_round_trip() {
    let mut monitor = sending(20, 10);
    (0..100).filter(|&number| number != 5).for_each(|number| assert!(ack(&mut monitor, number)));
    while monitor.close_next().is_some() {}
    ack(&mut monitor, 5); // 94 ms late
    assert_eq!(monitor.late_acks(), 1);
    // Packet 105 is missing. 40 ms after its interval patience ends, not 117 ms.
    (100..150).filter(|&number| number != 105).for_each(|number| assert!(ack(&mut monitor, number)));
    let closed = monitor.close_next().map(|(_, result)| result.packets_lost);
    assert_eq!(closed, Some(1));
}

#[test]
fn discarded_packets_were_never_sent() {
    let mut monitor = sending(2, 10);
    for number in 0..5 {
        monitor.on_discarded(number);
    }
    monitor.on_discarded(3);
    (5..20).for_each(|number| assert!(ack(&mut monitor, number)));
    let (_, result) = monitor.close_next().unwrap();
    assert_eq!((result.packets_sent, result.packets_lost, result.loss), (5, 0, 0.0));
    assert_eq!(monitor.close_next().unwrap().1.packets_sent, 10);
    assert_eq!(monitor.in_flight(), 0);
}

#[test]
fn abandoned_intervals_report_to_nobody() {
    let mut monitor = sending(2, 10);
    monitor.begin(plan(10));
    send(&mut monitor, 20, 20);
    monitor.end(true);
    assert!(monitor.needs_plan());
    monitor.begin(plan(1));
    monitor.end(true); // it has no packet: as if it had never begun
    monitor.begin(plan(1));
    send(&mut monitor, 21, 21);
    (0..22).for_each(|number| assert!(ack(&mut monitor, number)));
    let closed: Vec<(Role, u64)> =
        std::iter::from_fn(|| monitor.close_next()).map(|(role, result)| (role, result.packets_sent)).collect();
    assert_eq!(closed, [(Role::Hold, 10), (Role::Hold, 10), (Role::Hold, 1), (Role::Move, 1)]);
}

#[test]
fn dropped_intervals_have_no_result() {
    let mut monitor = sending(3, 10);
    monitor.drop_all();
    assert!(monitor.needs_plan());
    assert_eq!(monitor.in_flight(), 30 * SIZE, "the packets may still arrive");
    monitor.begin(plan(1));
    send(&mut monitor, 30, 30);
    (0..31).for_each(|number| assert!(ack(&mut monitor, number)));
    assert_eq!(monitor.close_next().unwrap().1.packets_sent, 1);
    assert_eq!((monitor.close_next(), monitor.in_flight()), (None, 0));
}

#[test]
fn what_was_in_flight_in_a_silence_stays_known() {
    let mut monitor = sending(3, 10);
    // A probe, and cuts after which nothing is sent.
    for probe in [true].into_iter().chain([false; 40]) {
        monitor.drop_all();
        monitor.begin(plan(1));
        if probe {
            send(&mut monitor, 30, 31);
        }
    }
    assert_eq!((monitor.in_flight(), monitor.given_up()), (31 * SIZE, 31 * SIZE));
    monitor.end(true);
    monitor.begin(plan(1));
    send(&mut monitor, 31, 32);
    assert!(ack(&mut monitor, 31));
    assert!(ack(&mut monitor, 0));
    assert_eq!((monitor.in_flight(), monitor.given_up()), (30 * SIZE, 30 * SIZE));
}

#[test]
fn packets_without_a_fate_are_forgotten() {
    let mut monitor = sending(40, 10);
    (1..400).for_each(|number| assert!(ack(&mut monitor, number)));
    assert_eq!(monitor.in_flight(), SIZE);
    while monitor.close_next().is_some() {}
    assert_eq!(monitor.in_flight(), 0);
    assert!(!ack(&mut monitor, 0));
}

#[test]
fn round_trip_times() {
    let mut monitor = sending(2, 4);
    assert_eq!((monitor.srtt(), monitor.min_rtt(), monitor.last_mean_rtt()), (None, None, None));
    for (number, millis) in [40, 48, 56, 56].into_iter().enumerate() {
        ack_after(&mut monitor, number as u64, Duration::from_millis(millis));
    }
    let (_, first) = monitor.close_next().unwrap();
    assert_eq!((first.rtt, first.previous_rtt, first.min_rtt), (0.05, 0.0, 0.04));
    // 40, 48, 56, 56 ms at 0, 1, 2, 3 ms: the least-squares slope is 5.6, the deviation sqrt(44) ms.
    assert!((first.rtt_gradient - 5.6).abs() < 1e-9, "{}", first.rtt_gradient);
    assert!((first.rtt_deviation - 0.044f64.sqrt() * 1000f64.sqrt() / 1000.0).abs() < 1e-9, "{}", first.rtt_deviation);
    assert_eq!(monitor.srtt(), Some(Duration::from_millis(56)), "the newest packet's, the first of all");
    assert_eq!(monitor.last_mean_rtt(), Some(Duration::from_millis(50)));
    (4..8).for_each(|number| assert!(lose(&mut monitor, number)));
    let (_, second) = monitor.close_next().unwrap();
    assert_eq!((second.rtt, second.previous_rtt, second.loss), (0.05, 0.05, 1.0), "nothing arrived: the last known");
}

#[test]
fn sizes_and_counts_that_cannot_be_do_not_overflow() {
    let mut monitor = Monitor::default();
    monitor.begin(plan(2));
    for number in 0..2 {
        monitor.on_sent(&SentPacket { time: at(number), number, bytes: u64::MAX });
    }
    assert_eq!(monitor.in_flight(), 2 * MAX_PACKET_BYTES);
    assert!(ack(&mut monitor, 0) && lose(&mut monitor, 1));
    let (_, result) = monitor.close_next().expect("a result");
    assert_eq!((result.loss, monitor.in_flight()), (0.5, 0));
    let impossible = Measurement { packets_lost: 11, rtt_gradient: 0.1, ..Measurement::new(Rate::from_mbps(1.0), 10) };
    assert_eq!(impossible.rtt_fit(), 1.0, "without packets nothing is left to explain");
}
