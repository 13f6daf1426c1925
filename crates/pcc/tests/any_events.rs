//! No sequence of events, however odd, breaks a controller or its monitor.

#[path = "support/mod.rs"]
mod support;

use pcc::control::RateBounds;
use pcc::{
    AckedPacket, CongestionControl, Event, LostPacket, Measurement, Monitor, Plan, Rate, Role, SentPacket, Time,
};
use pcc::{Pcc, profiles};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;
use support::Recorder;

/// What may happen. An outstanding packet is named by a number that picks one of them.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// So many packets after the highest number so far, each with a gap before it.
    Send {
        packets: u8,
        gap: u64,
        bytes: u64,
    },
    /// A number that was used before.
    SendAgain {
        number: u64,
        bytes: u64,
    },
    Ack {
        pick: usize,
        rtt: Duration,
    },
    /// The oldest outstanding packets in order, as a well-behaved path has it.
    AckOldest {
        packets: u8,
    },
    Lose {
        pick: usize,
    },
    Discard {
        pick: usize,
    },
    /// Fates of a number that may never have been sent, or had its fate already.
    Stray {
        number: u64,
        kind: u8,
    },
    BatchEnd,
    Deadline,
    AppLimited,
    Mtu(u64),
    /// Time stands still, goes on, or steps back.
    Wait(Duration),
    StepBack(Duration),
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0..100u64).prop_map(Duration::from_millis),
        2 => (0..5_000u64).prop_map(Duration::from_micros),
        1 => Just(Duration::ZERO),
        1 => (1..100u64).prop_map(|hours| Duration::from_secs(3600 * hours)),
        1 => Just(Duration::MAX),
    ]
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![8 => Just(1200u64), 2 => 1..1500u64, 1 => Just(0u64), 1 => Just(65_535u64)]
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..200u64, 1 => any::<u64>()]
}

fn ops() -> impl Strategy<Value = Op> {
    // Waiting `Duration::MAX` ends time, so it is rare.
    let waits =
        prop_oneof![30 => durations().prop_filter("not for ever", |d| *d < Duration::MAX), 1 => Just(Duration::MAX)];
    let gaps = prop_oneof![20 => Just(0u64), 3 => 0..100u64, 1 => 0..u64::MAX / 64];
    prop_oneof![
        8 => (1..30u8, gaps, sizes()).prop_map(|(packets, gap, bytes)| Op::Send { packets, gap, bytes }),
        1 => (numbers(), sizes()).prop_map(|(number, bytes)| Op::SendAgain { number, bytes }),
        4 => (any::<usize>(), durations()).prop_map(|(pick, rtt)| Op::Ack { pick, rtt }),
        6 => (1..40u8).prop_map(|packets| Op::AckOldest { packets }),
        3 => any::<usize>().prop_map(|pick| Op::Lose { pick }),
        1 => any::<usize>().prop_map(|pick| Op::Discard { pick }),
        1 => (numbers(), 0..3u8).prop_map(|(number, kind)| Op::Stray { number, kind }),
        8 => Just(Op::BatchEnd),
        3 => Just(Op::Deadline),
        1 => Just(Op::AppLimited),
        1 => prop_oneof![Just(0u64), Just(1200), Just(1452), Just(9000), any::<u64>()].prop_map(Op::Mtu),
        6 => waits.prop_map(Op::Wait),
        1 => durations().prop_map(Op::StepBack),
    ]
}

/// Some low enough to be met.
fn max_rates() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(1e5), 0.1..3.0f64].prop_map(Rate::from_mbps)
}

/// A packet without a fate, as the model sees it.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    number: u64,
    sent: Time,
    bytes: u64,
}

/// Time, numbers and outstanding packets: turns operations into calls.
#[derive(Debug, Default)]
struct Driver {
    now: Time,
    next: Option<u64>,
    outstanding: VecDeque<Outstanding>,
    accepted: u64,
}

impl Driver {
    fn new() -> Driver {
        Driver { now: Time::from_nanos(1_000_000_000), ..Driver::default() }
    }

    fn send(&mut self, target: &mut dyn CongestionControl, number: u64, bytes: u64) {
        target.on_packet_sent(&SentPacket { time: self.now, number, bytes });
        if self.next.is_none_or(|next| number >= next) {
            self.outstanding.push_back(Outstanding { number, sent: self.now, bytes });
            self.next = number.checked_add(1);
            self.accepted += 1;
        }
    }

    fn ack(&self, target: &mut dyn CongestionControl, packet: Outstanding, rtt: Duration) {
        let Outstanding { number, sent, bytes } = packet;
        target.on_packet_acked(&AckedPacket { time: self.now, number, sent, bytes, rtt });
    }

    fn lose(&self, target: &mut dyn CongestionControl, packet: Outstanding) {
        let Outstanding { number, sent, bytes } = packet;
        target.on_packet_lost(&LostPacket { time: self.now, number, sent, bytes });
    }

    fn pick(&mut self, pick: usize) -> Option<Outstanding> {
        let index = pick.checked_rem(self.outstanding.len())?;
        self.outstanding.remove(index)
    }

    fn run(&mut self, target: &mut dyn CongestionControl, op: Op) {
        match op {
            Op::Send { packets, gap, bytes } => {
                for _ in 0..packets {
                    let Some(number) = self.next.unwrap_or(0).checked_add(gap).filter(|n| *n < u64::MAX) else {
                        return;
                    };
                    self.send(target, number, bytes);
                    // Packets of one call are spaced as asked for.
                    let rate = target.pacing_rate().expect("a rate");
                    self.now += rate.time_for(bytes);
                }
            }
            Op::SendAgain { number, bytes } => {
                if self.next.is_some_and(|next| number < next) {
                    self.send(target, number, bytes);
                }
            }
            Op::Ack { pick, rtt } => {
                if let Some(packet) = self.pick(pick) {
                    self.ack(target, packet, rtt);
                }
            }
            Op::AckOldest { packets } => {
                for _ in 0..packets {
                    let Some(packet) = self.outstanding.pop_front() else { return };
                    self.ack(target, packet, self.now.since(packet.sent));
                }
            }
            Op::Lose { pick } => {
                if let Some(packet) = self.pick(pick) {
                    self.lose(target, packet);
                }
            }
            Op::Discard { pick } => {
                if let Some(packet) = self.pick(pick) {
                    target.on_packet_discarded(packet.number);
                }
            }
            Op::Stray { number, kind } => {
                let packet = Outstanding { number, sent: self.now, bytes: 1200 };
                if self.outstanding.iter().any(|packet| packet.number == number) {
                    return;
                }
                match kind {
                    0 => self.ack(target, packet, Duration::from_millis(1)),
                    1 => self.lose(target, packet),
                    _ => target.on_packet_discarded(number),
                }
            }
            Op::BatchEnd => target.on_batch_end(self.now),
            Op::Deadline => target.on_deadline(target.deadline().unwrap_or(self.now).max(self.now)),
            Op::AppLimited => target.on_app_limited(self.now),
            Op::Mtu(mtu) => target.on_mtu_change(mtu),
            Op::Wait(time) => self.now += time,
            Op::StepBack(time) => self.now = self.now - time,
        }
    }
}

/// What holds for every controller after every event.
fn check_contract(name: &str, controller: &dyn CongestionControl, bounds: RateBounds) {
    if let Some(rate) = controller.pacing_rate() {
        let rate = rate.bits_per_sec();
        // Probes reach below the least base rate, by half of it at most.
        let (min, max) = (bounds.min.bits_per_sec() * 0.5, bounds.max.bits_per_sec());
        assert!(rate.is_finite() && (min..=max).contains(&rate), "{name}: {rate} bit/s");
    }
    // What the largest rate sends in the longest round-trip time that is believed, 600 s, with a margin.
    let most = 3.0 * 600.0 * bounds.max.bytes_per_sec();
    let cap = controller.in_flight_cap();
    assert!(cap > 0 && (cap as f64) < most, "{name}: a cap of {cap} bytes");
}

fn check_measurement(name: &str, result: &Measurement) {
    let Measurement { rate, target, packets_sent, packets_lost, loss, .. } = *result;
    assert!(packets_sent > 0 && packets_lost <= packets_sent, "{name}: {result:?}");
    assert!((0.0..=1.0).contains(&loss), "{name}: {result:?}");
    let rates = [rate, target, result.throughput()].map(Rate::bits_per_sec);
    assert!(rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0), "{name}: {result:?}");
    let Measurement { rtt, previous_rtt, min_rtt, rtt_deviation, rtt_gradient, rtt_gradient_error, .. } = *result;
    assert!(
        [rtt, previous_rtt, min_rtt, rtt_deviation].iter().all(|x| x.is_finite() && *x >= 0.0),
        "{name}: {result:?}"
    );
    assert!(rtt_gradient.is_finite() && rtt_gradient_error >= 0.0, "{name}: {result:?}");
}

/// All controllers there are, as a driver sees them, with the bounds of their rates.
fn controllers(max: Rate) -> impl Iterator<Item = (&'static str, Box<dyn CongestionControl>, RateBounds)> {
    profiles::all().into_iter().map(move |profile| {
        let profile = profile.with_max_rate(max);
        let controller: Box<dyn CongestionControl> = Box::new(profile.build(1));
        (profile.name, controller, profile.bounds())
    })
}

/// What holds besides for a `Pcc`: bytes in flight are what the model counts, less packets that were forgotten.
fn check_in_flight(name: &str, controller: &Pcc, driver: &mut Driver, may_forget: bool) {
    let in_flight = controller.monitor().in_flight();
    let mut own: u64 = driver.outstanding.iter().map(|packet| packet.bytes).sum();
    while may_forget && own > in_flight {
        own -= driver.outstanding.pop_front().expect("own > 0").bytes;
    }
    assert_eq!(own, in_flight, "{name}");
    assert_eq!(
        controller.deadline().is_some(),
        in_flight > 0,
        "{name}: silence is watched while packets are in flight"
    );
}

/// Runs a profile through the operations, checking what it shows inside after each.
fn check(profile: &profiles::Profile, ops: &[Op]) {
    let (name, recorder) = (profile.name, Recorder::default());
    let mut controller = profile.build(1);
    controller.observe(Box::new(recorder.clone()));
    let mut driver = Driver::new();
    let mut counted = 0;
    for &op in ops {
        driver.run(&mut controller, op);
        check_in_flight(name, &controller, &mut driver, matches!(op, Op::BatchEnd | Op::Deadline));
        for event in recorder.take() {
            match event {
                Event::Interval { result, utility, .. } => {
                    check_measurement(name, &result);
                    assert!(utility.is_finite(), "{name}: {utility} for {result:?}");
                    counted += result.packets_sent;
                }
                Event::Decision { from, to, .. } => assert_ne!(from, to, "{name}"),
                Event::Phase { .. } => {}
            }
        }
        assert!(counted <= driver.accepted, "{name}: {counted} packets in intervals, {} sent", driver.accepted);
    }
}

/// An interval as the model of the monitor sees it.
#[derive(Debug, Default)]
struct ModelInterval {
    packets: u64,
    bytes: u64,
    acked: u64,
    acked_bytes: u64,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_events_break_a_controller(ops in prop::collection::vec(ops(), 1..150), max in max_rates()) {
        for (name, mut controller, bounds) in controllers(max) {
            let mut driver = Driver::new();
            for &op in &ops {
                driver.run(&mut *controller, op);
                check_contract(name, &*controller, bounds);
            }
        }
    }

    #[test]
    fn no_events_confuse_a_profile(ops in prop::collection::vec(ops(), 1..150)) {
        for profile in profiles::all() {
            check(&profile, &ops);
        }
    }

    /// Each packet counts in exactly one interval, with exactly one fate.
    #[test]
    fn the_monitor_counts_each_packet_once(ops in prop::collection::vec(ops(), 1..150), fill in 1..12u64) {
        let mut monitor = Monitor::default();
        let plan = Plan {
            rate: Rate::from_mbps(10.0),
            role: Role::Hold,
            length: Duration::ZERO,
            min_packets: fill,
            max_packets: u64::MAX,
        };
        let mut intervals: VecDeque<ModelInterval> = VecDeque::new();
        // Of each interval still known: packets by number.
        let mut packets: Vec<(u64, usize, u64)> = Vec::new();
        let (mut closed, mut begun, mut next) = (0usize, 0usize, 0u64);
        let mut now = Time::ZERO;
        for op in ops {
            match op {
                Op::Send { packets: count, gap, bytes } => for _ in 0..count {
                    if monitor.needs_plan() {
                        monitor.begin(plan);
                        intervals.push_back(ModelInterval::default());
                        begun += 1;
                    }
                    let number = next.saturating_add(gap.min(1000));
                    monitor.on_sent(&SentPacket { time: now, number, bytes });
                    let interval = intervals.back_mut().expect("begun");
                    (interval.packets, interval.bytes) = (interval.packets + 1, interval.bytes + bytes);
                    packets.push((number, begun - 1, bytes));
                    next = number + 1;
                    now += Duration::from_millis(1);
                },
                Op::Ack { pick, .. } | Op::Lose { pick } | Op::Discard { pick } if !packets.is_empty() => {
                    let (number, interval, bytes) = packets.remove(pick % packets.len());
                    let (sent, time) = (Time::ZERO, now);
                    let known = interval.checked_sub(closed).and_then(|index| intervals.get_mut(index));
                    match (op, known) {
                        (Op::Ack { rtt, .. }, known) => {
                            monitor.on_acked(&AckedPacket { time, number, sent, bytes, rtt });
                            if let Some(known) = known {
                                (known.acked, known.acked_bytes) = (known.acked + 1, known.acked_bytes + bytes);
                            }
                        }
                        (Op::Lose { .. }, _) => { monitor.on_lost(&LostPacket { time, number, sent, bytes }); }
                        (_, known) => {
                            monitor.on_discarded(number);
                            if let Some(known) = known {
                                (known.packets, known.bytes) = (known.packets - 1, known.bytes - bytes);
                            }
                        }
                    }
                }
                Op::BatchEnd => while let Some((_, result)) = monitor.close_next() {
                    check_measurement("monitor", &result);
                    // Intervals of nothing are skipped.
                    let model = loop {
                        let model = intervals.pop_front().expect("an interval that was begun");
                        closed += 1;
                        if model.bytes > 0 { break model }
                    };
                    prop_assert_eq!(result.packets_sent, model.packets);
                    prop_assert_eq!(result.packets_lost, model.packets - model.acked);
                    let loss = (model.bytes - model.acked_bytes) as f64 / model.bytes as f64;
                    prop_assert_eq!(result.loss, loss);
                },
                _ => {}
            }
        }
        // With all fates known and the last interval ended, nothing stays open.
        for (number, interval, bytes) in packets {
            let known = interval.checked_sub(closed).and_then(|index| intervals.get_mut(index));
            let rtt = Duration::from_millis(1);
            monitor.on_acked(&AckedPacket { time: now, number, sent: Time::ZERO, bytes, rtt });
            if let Some(known) = known {
                (known.acked, known.acked_bytes) = (known.acked + 1, known.acked_bytes + bytes);
            }
        }
        monitor.end(false);
        prop_assert_eq!(monitor.in_flight(), 0);
        let left: u64 = intervals.iter().filter(|interval| interval.bytes > 0).map(|interval| interval.packets).sum();
        let mut counted = 0;
        while let Some((_, result)) = monitor.close_next() {
            counted += result.packets_sent;
        }
        prop_assert_eq!(counted, left, "packets in the intervals that were open at the end");
    }
}
