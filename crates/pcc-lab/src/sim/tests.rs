//! The simulator against what must be so, and against closed forms.

use super::*;
use crate::link::{Aggregation, Change, Limit, Loss, PathConfig, QueueConfig, QueueKind, Reordering};
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time, profiles};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Sends at a constant mean rate whatever happens; with `poisson` at exponential gaps. Counts what it is told.
#[derive(Debug)]
struct Unresponsive {
    rate: Rate,
    poisson: bool,
    next: Rate,
    rng: fastrand::Rng,
    told: Arc<Mutex<Told>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    sent: u64,
    acked: u64,
    lost: u64,
    /// How many were acknowledged when the first was declared lost.
    acked_before_loss: Option<u64>,
}

impl Unresponsive {
    fn new(mbps: f64, poisson: bool) -> Unresponsive {
        let rate = Rate::from_mbps(mbps);
        Unresponsive { rate, poisson, next: rate, rng: fastrand::Rng::with_seed(7), told: Arc::default() }
    }
}

impl CongestionControl for Unresponsive {
    fn on_packet_sent(&mut self, _: &SentPacket) {
        self.told.lock().unwrap().sent += 1;
        if self.poisson {
            self.next = self.rate * (1.0 / -libm::log(1.0 - self.rng.f64()));
        }
    }

    fn on_packet_acked(&mut self, _: &AckedPacket) {
        self.told.lock().unwrap().acked += 1;
    }

    fn on_packet_lost(&mut self, _: &LostPacket) {
        let mut told = self.told.lock().unwrap();
        told.lost += 1;
        told.acked_before_loss = told.acked_before_loss.or(Some(told.acked));
    }

    fn on_batch_end(&mut self, _: Time) {}

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.next)
    }

    fn in_flight_cap(&self) -> u64 {
        u64::MAX
    }
}

const MS: Duration = Duration::from_millis(1);

fn bottleneck(mbps: f64, queue: u64) -> PathConfig {
    PathConfig { capacity: Rate::from_mbps(mbps).into(), queue: queue.into(), ..PathConfig::delay_only(15 * MS) }
}

fn bulk(control: impl CongestionControl + 'static) -> FlowConfig {
    FlowConfig::bulk(Box::new(control), 15 * MS)
}

/// The mean wait in an M/D/1 queue is load / (2 (1 - load)) service times (Pollaczek and Khinchine).
#[test]
fn poisson_arrivals_wait_as_in_an_md1_queue() {
    for load in [0.3, 0.5, 0.8] {
        let flows = vec![bulk(Unresponsive::new(100.0 * load, true))];
        let simulation = Simulation::dumbbell(bottleneck(100.0, u64::MAX), flows, Duration::from_secs(200), 1);
        let outcome = simulation.run();
        let wait = outcome.flows[0].queueing.mean().as_secs_f64() / 0.12e-3;
        let expected = load / (2.0 * (1.0 - load));
        assert!((wait / expected - 1.0).abs() < 0.03, "load {load}: {wait} instead of {expected} service times");
    }
}

/// What exceeds the capacity is dropped, and the rest waits for a full queue.
#[test]
fn an_overloaded_link_drops_the_excess() {
    let flows = vec![bulk(Unresponsive::new(125.0, false))];
    let outcome = Simulation::dumbbell(bottleneck(100.0, 150_000), flows, Duration::from_secs(20), 1).run();
    let flow = &outcome.flows[0];
    assert!((flow.loss() - 0.2).abs() < 0.005, "{}", flow.loss());
    let delay = flow.queueing.quantile(0.5).as_secs_f64() * 1e3;
    assert!((delay - 12.0).abs() < 0.2, "150 kB at 100 Mbit/s take 12 ms, not {delay}");
}

/// A sender that hears nothing declares nothing lost, but the link knows; and what was on its way when the measurement began counts.
#[test]
fn what_links_lose_is_counted_whatever_the_sender_believes() {
    let lossy = |loss: f64| PathConfig { loss: loss.into(), ..bottleneck(10.0, 15_000) };
    let flows = || vec![bulk(Unresponsive::new(5.0, false))];
    let outcome = Simulation::dumbbell(lossy(1.0), flows(), Duration::from_secs(1), 1).run();
    let (flow, fates) = (&outcome.flows[0], outcome.flows[0].fates.unwrap());
    assert_eq!((flow.lost, fates.lost, fates.arrived), (0, flow.sent, 0));
    let simulation = Simulation::dumbbell(lossy(0.1), flows(), Duration::from_secs(2), 1);
    let outcome = Simulation { measure_from: Duration::from_secs(1), ..simulation }.run();
    let (flow, fates) = (&outcome.flows[0], outcome.flows[0].fates.unwrap());
    assert!(fates.on_the_way_at_start > 0 && fates.lost > 0);
    assert_eq!(fates.on_the_way_at_start + flow.sent, fates.arrived + fates.lost + fates.on_the_way_at_end);
}

/// An idle path: the round trip is the propagation and the transmission.
#[test]
fn a_lone_packet_takes_the_base_round_trip() {
    let flows = vec![FlowConfig { app: App::Transfer { bytes: 1460 }, ..bulk(Unresponsive::new(1.0, false)) }];
    let outcome = Simulation::dumbbell(bottleneck(100.0, 15_000), flows, Duration::from_secs(1), 1).run();
    let flow = &outcome.flows[0];
    assert_eq!((flow.complete, flow.sent, flow.delivered_bytes), (Some(true), 1, 1500));
    assert_eq!(flow.end.since(flow.start), 15 * MS + Duration::from_micros(120));
}

/// In the first round trip, which ends before a loss delay has passed since time began, too.
#[test]
fn a_packet_is_lost_when_three_overtook_it() {
    let control = Unresponsive::new(100.0, false);
    let told = control.told.clone();
    // The first packet goes at once, the second after 0.1 ms at least.
    let lossless = Change { at: Time::ZERO + MS / 20, rate: None, delay: None, loss: Some(0.0) };
    let path = PathConfig { loss: 1.0.into(), schedule: vec![lossless].into(), ..bottleneck(100.0, 150_000) };
    Simulation::dumbbell(path, vec![bulk(control)], Duration::from_secs(1), 1).run();
    let told = *told.lock().unwrap();
    assert_eq!((told.lost, told.acked_before_loss), (1, Some(3)));
}

#[test]
fn transfers_complete_over_the_worst_path() {
    let path = PathConfig {
        loss: Loss::GilbertElliott { to_bad: 0.02, to_good: 0.2, loss_good: 0.01, loss_bad: 0.7 },
        reordering: Some(Reordering { probability: 0.05, delay: 30 * MS }),
        jitter: 5 * MS,
        ..bottleneck(10.0, 20_000)
    };
    let acks = PathConfig {
        loss: Loss::Bernoulli(0.3),
        aggregation: Some(Aggregation { period: 20 * MS }),
        ..PathConfig::delay_only(15 * MS)
    };
    let flow = |seed| FlowConfig {
        app: App::Transfer { bytes: 300_000 },
        reverse: Some(1),
        acks: AckPolicy { every: 2, ..AckPolicy::default() },
        ..bulk(profiles::vivace_latency().build(seed))
    };
    let simulation = Simulation::dumbbell(path, (0..5).map(flow).collect(), Duration::from_secs(120), 1);
    let outcome = Simulation { links: simulation.links.iter().cloned().chain([acks]).collect(), ..simulation }.run();
    for flow in &outcome.flows {
        assert_eq!(flow.complete, Some(true));
        // 205 full packets and one of 740 bytes, each counted once however often it was sent.
        assert_eq!(flow.delivered_bytes, 205 * 1500 + 740, "{flow:?}");
    }
}

#[test]
fn every_application_keeps_its_pattern() {
    let app = |app| FlowConfig { app, ..bulk(Unresponsive::new(40.0, false)) };
    let second = Duration::from_secs(1);
    let flows = vec![
        app(App::ConstantRate { rate: Rate::from_mbps(5.0) }),
        app(App::OnOff { on: second, off: 3 * second }),
        app(App::Video(Video { bitrate: Rate::from_mbps(8.0), chunk: second, buffer: 4 * second })),
    ];
    let outcome = Simulation::dumbbell(bottleneck(100.0, 1_000_000), flows, 40 * second, 1).run();
    let rates: Vec<f64> =
        outcome.flows.iter().map(|flow| flow.goodput_between(4 * second, 40 * second).mbps()).collect();
    // Headers come on top of the constant rate; the video is read as it is played.
    assert!((rates[0] - 5.0 * 1500.0 / 1460.0).abs() < 0.02, "{rates:?}");
    assert!((rates[1] - 10.0).abs() < 0.1, "{rates:?}");
    assert!((rates[2] - 8.0 * 1500.0 / 1460.0).abs() < 0.5, "{rates:?}");
    assert_eq!(outcome.flows[2].stall_ratio, Some(0.0));
}

/// Two flows over one link each and one over both: a parking lot.
#[test]
fn a_route_may_pass_several_links() {
    let flow =
        |route: &[usize], seed| FlowConfig { route: route.to_vec(), ..bulk(profiles::vivace_latency().build(seed)) };
    let flows = vec![flow(&[0, 1], 1), flow(&[0], 2), flow(&[1], 3)];
    let simulation = Simulation::dumbbell(bottleneck(50.0, 75_000), flows, Duration::from_secs(30), 1);
    let outcome = Simulation { links: vec![bottleneck(50.0, 75_000), bottleneck(20.0, 75_000)], ..simulation }.run();
    let [both, first, second] = [0, 1, 2].map(|flow: usize| {
        outcome.flows[flow].goodput_between(Duration::from_secs(15), Duration::from_secs(30)).mbps()
    });
    assert!(
        (45.0..=50.0).contains(&(both + first)) && (17.0..=20.0).contains(&(both + second)),
        "{both} {first} {second}"
    );
    assert!(outcome.flows[0].rtt.quantile(0.01) >= 45 * MS, "15 ms for each link and 15 ms back");
}

/// Ten seconds and a hundred give the same beginning: a run doesn't depend on its length.
#[test]
fn a_longer_run_begins_the_same() {
    let run = |seconds| {
        let flows = vec![bulk(profiles::vivace_loss().build(3))];
        Simulation::dumbbell(bottleneck(20.0, 50_000), flows, Duration::from_secs(seconds), 5).run().flows.remove(0)
    };
    let (short, long) = (run(10), run(30));
    assert_eq!(short.bins, long.bins[..short.bins.len()]);
}

fn any_link() -> impl Strategy<Value = PathConfig> {
    let queue_of = |kind, limit| QueueConfig::new(kind, limit);
    let queue = prop_oneof![
        (2_000..200_000u64).prop_map(QueueConfig::from),
        (3..100u64).prop_map(move |packets| queue_of(QueueKind::CoDel, Limit::Packets(packets))),
        (3_000..100_000u64).prop_map(move |bytes| queue_of(QueueKind::FqCoDel, Limit::Bytes(bytes))),
    ];
    let reordering = prop::option::of((0.0..0.3f64, 0..50u32));
    (1.0..50.0f64, 0..100u32, queue, 0.0..0.3f64, 0..20u32, reordering).prop_map(
        |(mbps, delay, queue, loss, jitter, reordering)| PathConfig {
            capacity: Rate::from_mbps(mbps).into(),
            queue,
            loss: loss.into(),
            jitter: MS * jitter,
            reordering: reordering.map(|(probability, delay)| Reordering { probability, delay: MS * delay }),
            ..PathConfig::delay_only(MS * delay)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every packet is delivered, dropped or on its way exactly once; its sender hears one outcome of it; and data counts once.
    #[test]
    fn packets_are_conserved(links in prop::collection::vec(any_link(), 1..3), mbps in 0.5..60.0f64, seed: u64) {
        let control = Unresponsive::new(mbps, true);
        let told = control.told.clone();
        let hops = links.len();
        let flow = FlowConfig { route: (0..hops).collect(), ..bulk(control) };
        let simulation = Simulation::dumbbell(links[0].clone(), vec![flow], Duration::from_secs(3), seed);
        let outcome = Simulation { links, ..simulation }.run();
        let (flow, told) = (&outcome.flows[0], *told.lock().unwrap());
        prop_assert_eq!((told.sent, told.lost), (flow.sent, flow.lost));
        prop_assert!(told.acked + told.lost <= told.sent);
        for (index, link) in outcome.links.iter().enumerate() {
            let c = link.counters;
            let came = if index == 0 { flow.sent } else { outcome.links[index - 1].counters.delivered };
            prop_assert_eq!(c.enqueued, came, "link {}", index);
            prop_assert!(c.lost + c.policed + c.dropped + c.delivered <= c.enqueued);
        }
        let arrived = outcome.links[hops - 1].counters.delivered;
        prop_assert!(told.acked + flow.spurious <= arrived, "more heard of than arrived");
        prop_assert!(flow.delivered_bytes <= arrived * 1500);
        prop_assert_eq!(flow.bins.iter().sum::<u64>(), flow.delivered_bytes);
        let fates = flow.fates.unwrap();
        let dropped = outcome.links.iter().map(|link| link.counters.lost + link.counters.policed + link.counters.dropped);
        prop_assert_eq!((fates.arrived, fates.lost), (arrived, dropped.sum()));
        prop_assert_eq!(flow.sent, fates.arrived + fates.lost + fates.on_the_way_at_end);
    }
}
