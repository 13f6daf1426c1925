//! What protects the path whatever the rate control does: brake, silence, idleness, caps (SPEC 0.4, 0.6, 2.5).

mod support;

use pcc::control::ControlConfig;
use pcc::{
    AckedPacket, CongestionControl, Cut, Event, LostPacket, Pcc, Phase, Profile, Rate, Role, SentPacket, Time, profiles,
};
use std::time::Duration;
use support::{Flow, Path, Recorder, SIZE};

const SECOND: Duration = Duration::from_secs(1);

fn observed(profile: &Profile) -> (Pcc, Recorder) {
    let (mut controller, recorder) = (profile.build(1), Recorder::default());
    controller.observe(Box::new(recorder.clone()));
    (controller, recorder)
}

/// Each profile after half a minute on a path of 20 Mbit/s and 30 ms; what start-up overshot is over.
fn settled() -> impl Iterator<Item = (&'static str, Flow<Pcc>, Recorder)> {
    profiles::LIST.iter().map(|entry| {
        let (controller, recorder) = observed(&entry.profile());
        let mut flow = Flow::new(controller, Path::clean(20.0, 30));
        flow.run(30 * SECOND);
        flow.most_in_flight = 0;
        recorder.take();
        (entry.name, flow, recorder)
    })
}

/// Whether a window, not a rate, limits what is in flight with this profile.
fn has_window(name: &str) -> bool {
    matches!(profiles::named(name).unwrap().control, ControlConfig::QueueTarget(_))
}

/// The same without the profiles that have a window.
fn settled_by_rate() -> impl Iterator<Item = (&'static str, Flow<Pcc>, Recorder)> {
    settled().filter(|(name, ..)| !has_window(name))
}

/// The cuts that were recorded: when, why, and the rate before and after.
fn cuts(recorder: &Recorder) -> Vec<(Time, Cut, Rate, Rate)> {
    let cut = |event| match event {
        Event::Decision { time, from, to, cut: Some(cut), .. } => Some((time, cut, from, to)),
        _ => None,
    };
    recorder.events().into_iter().filter_map(cut).collect()
}

#[test]
fn every_profile_fills_a_clean_path() {
    for (name, mut flow, _) in settled() {
        let before = flow.arrived;
        flow.run(20 * SECOND);
        let mbps = (flow.arrived - before) as f64 * SIZE as f64 * 8e-6 / 20.0;
        assert!((15.0..=20.01).contains(&mbps), "{name}: {mbps} Mbit/s");
    }
}

#[test]
fn the_observer_sees_each_change_of_phase() {
    for entry in profiles::LIST {
        let (controller, recorder) = observed(&entry.profile());
        let mut flow = Flow::new(controller, Path::clean(20.0, 30));
        flow.run(30 * SECOND);
        let phase = |event| match event {
            Event::Phase { phase, .. } => Some(phase),
            _ => None,
        };
        let phases: Vec<Phase> =
            [Phase::Starting].into_iter().chain(recorder.events().into_iter().filter_map(phase)).collect();
        assert!(phases.len() > 1, "{}: start-up has ended", entry.name);
        assert!(phases.windows(2).all(|pair| pair[0] != pair[1]), "{}: {phases:?}", entry.name);
        if has_window(entry.name) {
            assert_eq!(phases[1], Phase::Moving, "{}", entry.name);
        }
    }
}

#[test]
fn heavy_loss_pulls_the_brake_once_per_flight() {
    for (name, mut flow, recorder) in settled_by_rate() {
        let began = flow.now;
        flow.path.loss = 0.75;
        flow.run(Duration::from_millis(300));
        let cuts = cuts(&recorder);
        assert!(!cuts.is_empty(), "{name}");
        for (_, cut, from, to) in &cuts {
            assert_eq!((*cut, *to), (Cut::Loss, *from * 0.5), "{name}");
        }
        let (first, ..) = cuts[0];
        assert!(first.since(began) < Duration::from_millis(250), "{name}: after {:?}", first.since(began));
        // What was in flight at a cut can't pull it again: a whole round trip lies between two.
        for pair in cuts.windows(2) {
            assert!(pair[1].0.since(pair[0].0) >= Duration::from_millis(30), "{name}: {cuts:?}");
        }
        let heavy = recorder.intervals().iter().filter(|(_, result, _)| result.loss > 0.5).count();
        assert!(heavy > cuts.len(), "{name}: {heavy} intervals lost more than half, {} cuts", cuts.len());
    }
}

#[test]
fn silence_halves_and_a_long_one_starts_anew() {
    for (name, mut flow, recorder) in settled() {
        let (began, before) = (flow.now, flow.controller.rate());
        flow.path.dead = true;
        // What was sent before still arrives for up to two round trips; then four of silence are borne.
        let srtt = flow.controller.monitor().srtt().unwrap();
        flow.run(3 * SECOND);
        let cuts = cuts(&recorder);
        let (first, kind, from, to) = cuts[0];
        assert_eq!((kind, to), (Cut::Silence, from * 0.5), "{name}");
        assert!((4 * srtt..10 * srtt).contains(&first.since(began)), "{name}: {:?}, srtt {srtt:?}", first.since(began));
        assert!(cuts[1].0.since(first) >= 3 * srtt, "{name}: one cut per silence");
        let anew = cuts.iter().position(|cut| cut.1 == Cut::Restart).expect("a restart");
        let least = if has_window(name) { SECOND / 2 } else { Duration::ZERO };
        assert!(cuts[anew].0.since(began) >= least.max(10 * srtt), "{name}: {cuts:?}");
        assert!((1..6).contains(&anew) && cuts[anew..].iter().all(|cut| cut.1 == Cut::Restart), "{name}: {cuts:?}");
        assert!(flow.controller.rate() < before * 0.2, "{name}");
        // When the path is back, so is the flow. What was in flight is known to be lost by then.
        flow.path.dead = false;
        for number in flow.sent.saturating_sub(flow.in_flight / SIZE)..flow.sent {
            let (time, sent) = (flow.now, flow.now);
            flow.controller.on_packet_lost(&LostPacket { time, number, sent, bytes: SIZE });
        }
        flow.in_flight = 0;
        flow.controller.on_batch_end(flow.now);
        let arrived = flow.arrived;
        flow.run(30 * SECOND);
        assert!(flow.arrived - arrived > 20_000, "{name}: {} packets in 30 s", flow.arrived - arrived);
    }
}

#[test]
fn in_flight_is_capped() {
    for (name, mut flow, _) in settled_by_rate() {
        for millis in [0, 100, 500] {
            // Without acknowledgements no more than 2.5 round trips are sent, and ten packets.
            let rate = flow.controller.pacing_rate().unwrap();
            let monitor = flow.controller.monitor();
            let rtt = monitor.min_rtt().unwrap().max(monitor.srtt().unwrap() / 2);
            let expected = rate.bytes_in(rtt.mul_f64(2.5)) + 10 * 1200;
            assert_eq!(flow.controller.in_flight_cap(), expected, "{name}");
            flow.run(Duration::from_millis(millis));
        }
        flow.controller.on_mtu_change(9000);
        assert!(flow.controller.in_flight_cap() >= 90_000);
        assert!(flow.most_in_flight < 4 * 20_000_000 / 8 / 33 + 100_000, "{name}: {}", flow.most_in_flight);
    }
}

#[test]
fn the_first_window_has_ten_packets_of_whatever_size() {
    let mut controller = profiles::queue_target().build(1);
    let (cap, rate) = (controller.in_flight_cap(), controller.pacing_rate().unwrap());
    assert_eq!(cap, 10 * 1200);
    controller.on_mtu_change(3000);
    assert_eq!(controller.in_flight_cap(), 10 * 3000);
    assert!((controller.pacing_rate().unwrap().mbps() / rate.mbps() - 2.5).abs() < 1e-6);
}

#[test]
fn the_rate_does_not_grow_beyond_twice_what_a_limited_application_sends() {
    for (name, mut flow, _) in settled() {
        flow.path.supply = Some(Rate::from_mbps(3.0));
        flow.run(20 * SECOND);
        let rate = flow.controller.rate().mbps();
        assert!((2.0..6.5).contains(&rate), "{name}: {rate} Mbit/s while 3 are sent");
        flow.path.supply = None;
        let arrived = flow.arrived;
        flow.run(20 * SECOND);
        let mbps = (flow.arrived - arrived) as f64 * SIZE as f64 * 8e-6 / 20.0;
        assert!(mbps > 10.0, "{name}: {mbps} Mbit/s once there is data again");
    }
}

#[test]
fn idleness_makes_the_rate_stale() {
    for (name, mut flow, recorder) in settled() {
        // A short pause keeps the rate.
        flow.pause(Duration::from_millis(500));
        let before = flow.controller.rate();
        flow.run(Duration::from_millis(1));
        assert_eq!((flow.controller.rate(), cuts(&recorder).len()), (before, 0), "{name}");
        // A pause of a few seconds is many round trips: it starts anew at half of the rate.
        flow.run(SECOND);
        recorder.take();
        flow.pause(5 * SECOND);
        assert!(cuts(&recorder).is_empty(), "{name}: nothing in flight, nothing to wait for");
        flow.run(Duration::from_millis(1));
        let cuts = cuts(&recorder);
        assert_eq!(cuts.len(), 1, "{name}: {cuts:?}");
        assert_eq!((cuts[0].1, cuts[0].3), (Cut::Idle, cuts[0].2 * 0.5), "{name}");
        assert!(recorder.events().iter().any(|event| matches!(event, Event::Phase { phase: Phase::Starting, .. })));
    }
}

#[test]
fn packets_that_keep_a_connection_alive_are_no_end_of_a_pause() {
    let by_rate: Vec<&str> = settled_by_rate().map(|(name, ..)| name).collect();
    for (name, mut flow, recorder) in settled().filter(|(name, ..)| !by_rate.contains(name)) {
        // A packet at a time.
        flow.path.supply = Some(Rate::from_mbps(0.01));
        let mut keep_alive = |times| {
            for _ in 0..times {
                flow.pause(4 * SECOND);
                flow.run(Duration::from_millis(1));
            }
            cuts(&recorder).len()
        };
        assert_eq!(keep_alive(20), 1, "{name}: one pause");
        assert_eq!(keep_alive(60), 2, "{name}: after five minutes the rate is cut again");
    }
}

#[test]
fn idle_for_some_round_trips_of_a_long_path_starts_anew() {
    let (controller, recorder) = observed(&profiles::vivace_2018_latency());
    let mut flow = Flow::new(controller, Path::clean(20.0, 600));
    flow.run(60 * SECOND);
    recorder.take();
    flow.pause(4 * SECOND); // over 4 and under 10 round trips
    flow.run(Duration::from_millis(1));
    let cuts = cuts(&recorder);
    assert_eq!(cuts.iter().map(|cut| cut.1).collect::<Vec<_>>(), [Cut::Idle]);
}

#[test]
fn an_interval_of_discarded_packets_does_not_stop_the_search() {
    for profile in profiles::all() {
        let (mut controller, recorder) = observed(&profile);
        // Enough to complete the first interval; then the keys that it was sent under are thrown away.
        let mut now = Time::from_nanos(1_000_000_000);
        for number in 0..200 {
            controller.on_packet_sent(&SentPacket { time: now, number, bytes: SIZE });
            now += controller.pacing_rate().unwrap().time_for(SIZE);
        }
        (0..200).for_each(|number| controller.on_packet_discarded(number));
        controller.on_batch_end(now);
        for number in 200..600 {
            let sent = now;
            controller.on_packet_sent(&SentPacket { time: sent, number, bytes: SIZE });
            now += controller.pacing_rate().unwrap().time_for(SIZE).max(Duration::from_millis(1));
            let rtt = now.since(sent);
            controller.on_packet_acked(&AckedPacket { time: now, number, sent, bytes: SIZE, rtt });
            controller.on_batch_end(now);
        }
        let judged = recorder.intervals().iter().filter(|(role, ..)| *role != Role::Hold).count();
        assert!(judged > 5, "{}: {judged} useful intervals", profile.name);
    }
}

#[test]
fn a_limited_flow_heeds_loss() {
    for (name, mut flow, _) in settled() {
        flow.path.supply = Some(Rate::from_mbps(8.0));
        flow.run(10 * SECOND);
        flow.path.capacity = Rate::from_mbps(6.4);
        flow.run(30 * SECOND);
        let (sent, arrived) = (flow.sent, flow.arrived);
        flow.run(10 * SECOND);
        let loss = 1.0 - (flow.arrived - arrived) as f64 / (flow.sent - sent) as f64;
        // 20 % if it went on as before.
        assert!(loss < 0.15, "{name}: {loss} lost");
    }
}

#[test]
fn a_flow_with_little_to_say_at_first_still_starts_fast() {
    for profile in profiles::all() {
        let (controller, _) = observed(&profile);
        let first = controller.rate();
        let mut flow = Flow::new(controller, Path::clean(20.0, 30));
        flow.path.supply = Some(Rate::from_mbps(0.02));
        flow.run(5 * SECOND);
        assert!(flow.controller.rate() >= first * 0.99, "{}: {}", profile.name, flow.controller.rate());
    }
}

#[test]
fn one_lost_packet_is_no_reason_to_brake() {
    for profile in profiles::all() {
        let (controller, recorder) = observed(&profile);
        let mut flow = Flow::new(controller, Path { loss: 0.01, ..Path::clean(20.0, 30) });
        flow.run(60 * SECOND);
        let at_rate = cuts(&recorder).into_iter().filter(|cut| cut.1 == Cut::Loss).count();
        // Start-up may overshoot into the brake; later nothing here loses half of an interval.
        assert!(at_rate <= 2, "{}: {at_rate} cuts", profile.name);
    }
}

#[test]
fn a_rate_at_its_least_rises_again() {
    for (name, mut flow, _) in settled() {
        // Slower is better here, as far down as rates go.
        flow.path.capacity = Rate::from_mbps(0.05);
        flow.run(300 * SECOND);
        let least = flow.controller.rate();
        flow.path.capacity = Rate::from_mbps(4.0);
        flow.run(90 * SECOND);
        let rate = flow.controller.rate();
        assert!(rate.mbps() > 2.4, "{name}: from {least} to {rate}");
    }
}
