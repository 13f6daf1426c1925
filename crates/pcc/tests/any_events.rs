//! No sequence of events, however odd, breaks a controller or its monitor.

#[path = "support/events.rs"]
mod events;
#[path = "support/mod.rs"]
mod support;

use events::{Driver, Op, ops};
use pcc::control::queue_target::{self, DrainConfig, GrowthConfig, LossConfig, NoiseConfig};
use pcc::control::vivace::{GradientFilter, LossSignificance};
use pcc::control::{ControlConfig, MinStep, RateBounds, RateStartConfig, StartExit};
use pcc::utility::{SmallLoss, UtilityConfig};
use pcc::{
    AckedPacket, CongestionControl, Event, IntervalPlan, LostPacket, Measurement, Monitor, Pcc, Profile, Rate, Role,
    SentPacket, Time, profiles,
};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;
use support::Recorder;

/// Some low enough to be met.
fn max_rates() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(1e5), 0.1..3.0f64].prop_map(Rate::from_mbps)
}

/// What holds for every controller after every event.
fn check_contract(name: &str, controller: &dyn CongestionControl, bounds: RateBounds) {
    if let Some(rate) = controller.pacing_rate() {
        let rate = rate.bits_per_sec();
        // Probes reach below the least base rate, by half of it at most.
        let (min, max) = (bounds.min.bits_per_sec() * 0.5, bounds.max.bits_per_sec());
        assert!(rate.is_finite() && (min..=max).contains(&rate), "{name}: {rate} bit/s");
    }
    // What the largest rate sends in the longest round-trip time that is believed, 600 s, with a margin; and as much again that was given up in a
    // silence, and doesn't count.
    let most = 2.0 * 3.0 * 600.0 * bounds.max.bytes_per_sec();
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
    profiles::LIST.iter().map(move |entry| {
        let profile = entry.profile().with_max_rate(max);
        let controller: Box<dyn CongestionControl> = Box::new(profile.build(1));
        (entry.name, controller, profile.bounds())
    })
}

/// What a packet counts as: none is larger than this.
fn counted(bytes: u64) -> u64 {
    bytes.min(u32::MAX.into())
}

/// What holds besides for a `Pcc`: bytes in flight are what the model counts, less packets that were forgotten.
fn check_in_flight(name: &str, controller: &Pcc, driver: &mut Driver, may_forget: bool) {
    let in_flight = controller.monitor().in_flight();
    let mut own: u64 = driver.outstanding.iter().map(|packet| counted(packet.bytes)).sum();
    while may_forget && own > in_flight {
        own -= counted(driver.outstanding.pop_front().expect("own > 0").bytes);
    }
    assert_eq!(own, in_flight, "{name}");
    assert_eq!(
        controller.deadline().is_some(),
        in_flight > 0,
        "{name}: silence is watched while packets are in flight"
    );
}

/// Runs a profile through the operations, checking what it shows inside after each.
fn check(profile: &Profile, ops: &[Op]) {
    let (name, recorder) = (&*profile.name, Recorder::default());
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
                _ => {}
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

    /// Each packet counts in exactly one interval, with exactly one outcome.
    #[test]
    fn the_monitor_counts_each_packet_once(ops in prop::collection::vec(ops(), 1..150), fill in 1..12u64) {
        let mut monitor = Monitor::default();
        let plan = IntervalPlan {
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
                    let (interval, bytes) = (intervals.back_mut().expect("begun"), counted(bytes));
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
        // With all outcomes known and the last interval ended, nothing stays open.
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// In Rust a constant can be anything. What comes from text is within its range: see `any_constants.rs`.
    #[test]
    fn odd_constants_break_nothing(
        odd in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(0.0), Just(1e300), -1e3..1e3f64],
        ops in prop::collection::vec(ops(), 1..150),
    ) {
        for mut profile in profiles::all() {
            make_odd(&mut profile, odd);
            let (mut driver, mut controller) = (Driver::new(), profile.build(1));
            for &op in &ops {
                driver.run(&mut controller, op);
                prop_assert!(controller.in_flight_cap() > 0, "{}", profile.name);
                prop_assert!(controller.pacing_rate().is_some_and(|rate| !rate.is_zero()), "{}", profile.name);
            }
        }
    }
}

/// Gives all constants the same value, but the bounds of the rate.
fn make_odd(profile: &mut Profile, odd: f64) {
    let (count, rate) = (odd as u64, Rate::from_bits_per_sec(odd));
    let make_start_odd = |start: &mut RateStartConfig| {
        (start.rate, start.packets_per_rtt) = (rate, count);
        (start.ignored_losses, start.ignored_gradient, start.exit) = (count, odd, StartExit::Arrived(odd));
    };
    let guards = &mut profile.guards;
    (guards.silence_rtts, guards.restart_rtts, guards.in_flight) = (odd, odd, odd);
    (guards.brake_loss, guards.limited_rate) = (odd, odd);
    match &mut profile.control {
        ControlConfig::Allegro(config) => {
            make_start_odd(&mut config.start);
            (config.min_step, config.max_step, config.interval_rtts) = (odd, odd, odd..odd);
            (config.pairs, config.min_packets) = (odd as usize, count);
        }
        ControlConfig::Vivace(config) => {
            make_start_odd(&mut config.start);
            let min_step = MinStep { rate, most: odd };
            (config.probe_step, config.min_probe_step, config.step.min_change) = (odd, min_step, min_step);
            (config.step.theta, config.step.boundary, config.step.boundary_growth) = (odd, odd, odd);
            config.gradient_filter = match config.gradient_filter {
                GradientFilter::Threshold(_) => GradientFilter::Threshold(odd),
                _ => GradientFilter::Quantise(odd),
            };
            (config.moves_above, config.min_fit, config.pool_loss_below) = (Some(odd), odd, Some(odd));
            config.loss_significance = Some(LossSignificance { z: odd, standing_queue: odd, max_loss: odd });
            (config.min_packets, config.max_packets) = (count, Some(count));
        }
        ControlConfig::QueueTarget(config) => {
            (config.first_window, config.first_rate, config.pacing) = (count, rate, odd);
            config.drain = DrainConfig { every: odd, part: odd, others: odd };
            config.loss = LossConfig { excess: odd, response: odd, highest: odd };
            config.growth = GrowthConfig { rtt: odd, loss: odd, decrease: odd };
            config.start = queue_target::StartConfig { long_queue: odd, grows: odd };
            config.noise = NoiseConfig { together: odd, reach: odd, free: odd, free_part: odd };
        }
        other => panic!("constants of {other:?} aren't tried"),
    }
    match &mut profile.utility {
        UtilityConfig::Safe(utility) => utility.alpha = odd,
        UtilityConfig::Vivace(utility) => {
            (utility.exponent, utility.latency, utility.loss) = (odd, odd, odd);
            utility.small_loss = Some(SmallLoss { up_to: odd, weight: odd });
        }
        UtilityConfig::Logarithmic(utility) => (utility.packets, utility.loss, utility.free) = (odd, odd, odd),
        other => panic!("constants of {other:?} aren't tried"),
    }
}
