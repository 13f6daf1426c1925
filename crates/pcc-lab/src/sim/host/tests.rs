//! Hosts that aren't perfect, in whole simulations.

use super::{HostThread, ReceiverHost, SenderHost};
use crate::link::PathConfig;
use crate::sim::{AckPolicy, App, FlowConfig, FlowOutcome, Pacing, Simulation};
use crate::stall::{Lengths, Stalls};
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);

/// Sends at a rate, or a window full; notes when packets leave and acknowledgements come.
#[derive(Clone, Debug)]
struct Fixed {
    rate: Option<Rate>,
    window: u64,
    sent: Arc<Mutex<Vec<SentPacket>>>,
    acked: Arc<Mutex<Vec<AckedPacket>>>,
    batches: Arc<Mutex<Vec<Time>>>,
}

impl Fixed {
    fn new(mbps: Option<f64>, packets: u64) -> Fixed {
        let rate = mbps.map(Rate::from_mbps);
        let window = packets.saturating_mul(1500);
        Fixed { rate, window, sent: Arc::default(), acked: Arc::default(), batches: Arc::default() }
    }

    /// When packets left, in µs.
    fn departures(&self) -> Vec<u64> {
        self.sent.lock().unwrap().iter().map(|packet| packet.time.as_nanos() / 1000).collect()
    }
}

impl CongestionControl for Fixed {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.sent.lock().unwrap().push(*packet);
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.acked.lock().unwrap().push(*packet);
    }

    fn on_packet_lost(&mut self, _: &LostPacket) {}

    fn on_batch_end(&mut self, now: Time) {
        self.batches.lock().unwrap().push(now);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn in_flight_cap(&self) -> u64 {
        self.window
    }
}

fn run(control: &Fixed, sender: SenderHost, receiver: ReceiverHost, acks: AckPolicy, ms: u64) -> FlowOutcome {
    let flow = FlowConfig { sender, receiver, acks, ..FlowConfig::bulk(Box::new(control.clone()), 15 * MS) };
    let path = PathConfig {
        capacity: Rate::from_mbps(1000.0).into(),
        queue: u64::MAX.into(),
        ..PathConfig::delay_only(15 * MS)
    };
    Simulation::dumbbell(path, vec![flow], Duration::from_millis(ms), 1).run().flows.remove(0)
}

fn paced(pacing: Pacing) -> SenderHost {
    SenderHost { pacing, ..SenderHost::default() }
}

fn send(control: &Fixed, sender: SenderHost, ms: u64) -> FlowOutcome {
    run(control, sender, ReceiverHost::default(), AckPolicy::default(), ms)
}

fn stalls(every: Duration, length: Duration) -> Option<Stalls> {
    Some(Stalls { every, length: Lengths::Uniform([length; 2]) })
}

/// 100 Mbit/s are 8.33 packets in a millisecond.
#[test]
fn a_tick_lets_out_what_the_rate_has_earned() {
    let control = Fixed::new(Some(100.0), u64::MAX);
    send(&control, paced(Pacing::Tick(MS)), 100);
    let departures = control.departures();
    assert!(departures.iter().all(|at| at % 1000 == 0), "{departures:?}");
    let of_tick = departures.chunk_by(|a, b| a == b).skip(1).map(<[u64]>::len);
    assert!(of_tick.clone().all(|packets| (7..=10).contains(&packets)));
    assert!((815..=842).contains(&departures.len()), "{}", departures.len());
}

/// 2^-10 s of 100 Mbit/s are 8 packets.
#[test]
fn a_burst_is_a_thousandth_of_the_rate() {
    let control = Fixed::new(Some(100.0), u64::MAX);
    send(&control, paced(Pacing::Bursts), 100);
    let departures = control.departures();
    assert!(departures.chunk_by(|a, b| a == b).all(|burst| burst.len() == 8), "{departures:?}");
    assert!((825..=842).contains(&departures.len()), "{}", departures.len());
}

/// 100 packets in 30 ms, 1.2 times, in 2^-10 s: 3 packets (but for the first window, which nothing has sized yet).
#[test]
fn without_pacing_a_window_leaves_as_acknowledgements_come() {
    let control = Fixed::new(None, 100);
    let flow = send(&control, paced(Pacing::None), 1000);
    let departures = control.departures();
    assert_eq!(departures[..100], [0; 100], "all at once");
    assert!(departures.len() > 3200, "{} packets in 33 rounds", departures.len());
    assert_eq!(flow.lost, 0);
}

/// A debt of at most 16 packets is made up with 1.5 times the rate, after two packets at once; an exact pacer makes up for half a gap.
#[test]
fn a_stall_is_made_up_for_as_quic_does() {
    let thread = HostThread { stalls: stalls(50 * MS, MS), ..HostThread::default() };
    let after = |pacing| {
        let control = Fixed::new(Some(100.0), u64::MAX);
        let flow = send(&control, SenderHost { pacing, thread: thread.clone(), initial_window: None }, 10_000);
        let departures = control.departures();
        let late = departures.windows(2).position(|pair| pair[1] - pair[0] > 900).unwrap();
        (departures[late + 1..late + 8].to_vec(), flow.sent as f64 / 83_333.0)
    };
    let (exact, rate) = after(Pacing::Exact);
    assert!(exact.windows(2).skip(1).all(|pair| pair[1] - pair[0] >= 107), "{exact:?}");
    assert!(rate < 0.99, "{rate}");
    let (catching_up, rate) = after(Pacing::CatchUp);
    assert_eq!(catching_up[0], catching_up[1]);
    assert!(catching_up.windows(2).skip(2).all(|pair| (71..=89).contains(&(pair[1] - pair[0]))), "{catching_up:?}");
    assert!((rate - 1.0).abs() < 0.003, "{rate}");
    let (at_once, rate) = after(Pacing::FullCatchUp);
    assert_eq!(at_once[0], at_once[5]);
    assert!((rate - 1.0).abs() < 0.003, "{rate}");
}

/// 20 us a packet are 50 packets a millisecond, and no two packets leave closer together.
#[test]
fn a_processor_limits_the_rate() {
    let control = Fixed::new(Some(900.0), u64::MAX);
    let thread = HostThread { packet_time: 20 * US, ..HostThread::default() };
    send(&control, SenderHost { pacing: Pacing::FullCatchUp, thread, initial_window: None }, 20);
    let departures = control.departures();
    assert!(departures.windows(2).all(|pair| pair[1] - pair[0] >= 20), "{departures:?}");
    assert!(departures.len() >= 950, "{}", departures.len());
}

/// What arrives in a millisecond gives one acknowledgement.
#[test]
fn bundles_are_acknowledged_once() {
    let control = Fixed::new(Some(100.0), u64::MAX);
    let receiver = ReceiverHost { bundle: MS, ..ReceiverHost::default() };
    run(&control, SenderHost::default(), receiver, AckPolicy::default(), 130);
    let (acked, batches) = (control.acked.lock().unwrap().len(), control.batches.lock().unwrap().len());
    // The bundle begins with its first packet: a millisecond and a gap each.
    assert!((88..=93).contains(&batches) && acked > 8 * batches, "{acked} in {batches}");
}

/// While the receiver stalls nothing is acknowledged, and then all at once.
#[test]
fn a_receiver_that_stalls_acknowledges_afterwards() {
    let control = Fixed::new(Some(100.0), u64::MAX);
    let receiver = ReceiverHost {
        thread: HostThread { stalls: stalls(50 * MS, 5 * MS), ..HostThread::default() },
        ..ReceiverHost::default()
    };
    let flow = run(&control, SenderHost::default(), receiver, AckPolicy::default(), 1000);
    let batches = control.batches.lock().unwrap();
    let longest = batches.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap();
    assert!(longest >= 5 * MS && longest < 6 * MS, "{longest:?}");
    assert_eq!((flow.lost, flow.spurious), (0, 0));
}

fn any_thread() -> impl Strategy<Value = HostThread> {
    let stalls = prop::option::of((1..100u32, 0..20_000u32)).prop_map(|of| {
        of.map(|(every, length)| Stalls { every: MS * every, length: Lengths::Exponential(US * length) })
    });
    (0..2000u32, stalls, 0..50u32).prop_map(|(slack, stalls, packet_time)| HostThread {
        slack: US * slack,
        stalls,
        packet_time: US * packet_time,
    })
}

fn any_pacing() -> impl Strategy<Value = Pacing> {
    let named = [Pacing::Exact, Pacing::CatchUp, Pacing::FullCatchUp, Pacing::Bursts, Pacing::None];
    prop_oneof![prop::sample::select(named.to_vec()), (100..5000u32).prop_map(|period| Pacing::Tick(US * period))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No host loses, repeats or reorders anything, and a transfer ends.
    #[test]
    fn hosts_lose_nothing_and_keep_the_order(
        sender in any_thread(),
        receiver in any_thread(),
        pacing in any_pacing(),
        bundle in 0..2000u32,
        sack_compression: bool,
        receive_window: bool,
        ends_of_bursts: bool,
        quick in 0..20u32,
        window in 1..200u64,
        rate in prop::option::of(1.0..50.0f64),
        seed: u64,
    ) {
        let control = Fixed::new(rate, window);
        let flow = FlowConfig {
            app: App::Transfer { bytes: 400 * 1460 },
            sender: SenderHost { pacing, thread: sender, initial_window: None },
            receiver: ReceiverHost { thread: receiver, bundle: US * bundle, sack_compression, receive_window, hides_delay: false },
            acks: AckPolicy { every: 2, max_delay: 40 * MS, ends_of_bursts, quick },
            ..FlowConfig::bulk(Box::new(control.clone()), 15 * MS)
        };
        let path = PathConfig { capacity: Rate::from_mbps(100.0).into(), queue: u64::MAX.into(), ..PathConfig::delay_only(15 * MS) };
        let outcome = Simulation::dumbbell(path, vec![flow], Duration::from_secs(600), seed).run();
        let (flow, link) = (&outcome.flows[0], outcome.links[0].counters);
        prop_assert_eq!(flow.complete, Some(true));
        prop_assert_eq!(flow.delivered_bytes, 400 * 1500);
        prop_assert_eq!(link.enqueued, flow.sent);
        let sent = control.sent.lock().unwrap();
        prop_assert!(sent.is_sorted_by(|a, b| a.time <= b.time && a.number < b.number));
        prop_assert_eq!(sent.len() as u64, flow.sent);
    }
}
