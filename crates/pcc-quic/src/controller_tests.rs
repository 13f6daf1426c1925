//! Tests of the adapter between noq and a controller.

use super::*;
use crate::Factory;
use crate::start::Start;
use noq_proto::congestion::ControllerFactory;
use pcc::{CongestionControl, Phase, profiles};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A controller that records what it is told.
#[derive(Debug)]
struct Echo {
    seed: u64,
    ecn: Ecn,
    calls: Sender<String>,
}

impl Echo {
    fn say(&self, what: String) {
        self.calls.send(format!("{}: {what}", self.seed)).expect("the test listens");
    }
}

impl CongestionControl for Echo {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.say(format!("sent {}", packet.number));
    }
    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.say(format!("acked {} after {:?}", packet.number, packet.rtt));
    }
    fn on_packet_marked(&mut self, packet: &AckedPacket) {
        self.say(format!("marked {} after {:?}", packet.number, packet.rtt));
    }
    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.say(format!("lost {}", packet.number));
    }
    fn on_packet_discarded(&mut self, number: u64) {
        self.say(format!("discarded {number}"));
    }
    fn on_batch_end(&mut self, _: Time) {
        self.say("batch end".to_owned());
    }
    fn on_app_limited(&mut self, _: Time) {
        self.say("app-limited".to_owned());
    }
    fn on_deadline(&mut self, now: Time) {
        self.say(format!("deadline at {} s", now.as_secs_f64()));
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_mbps(80.0))
    }
    fn in_flight_cap(&self) -> u64 {
        0
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn deadline(&self) -> Option<Time> {
        Some(Time::from_nanos(5_000_000_000))
    }
}

const MTU: u16 = 1200;

fn build(calls: Sender<String>, seed: u64, ecn: Ecn, max_rate: Option<Rate>) -> Arc<Build> {
    let make = move |start: &Start| Control::Other(Box::new(Echo { seed: start.seed, ecn, calls: calls.clone() }));
    Arc::new(Build::new(Arc::new(make), seed, max_rate))
}

struct Path {
    adapter: Adapter,
    calls: Receiver<String>,
    origin: Instant,
}

impl Path {
    /// A path on which an acknowledgement has arrived.
    fn new() -> Path {
        Path::with(Ecn::Unused)
    }

    /// The same for a controller that does this with marks.
    fn with(ecn: Ecn) -> Path {
        let (sender, calls) = channel();
        let origin = Instant::now();
        let build = build(sender, 7, ecn, Some(Rate::from_mbps(8.0)));
        let mut path = Path { adapter: Adapter::new(build, origin, MTU), calls, origin };
        path.ack(0, 0, 99, false);
        path
    }

    fn at(&self, ms: u64) -> Instant {
        self.origin + Duration::from_millis(ms)
    }

    fn send(&mut self, ms: u64, pn: u64) {
        self.adapter.on_packet_sent(self.at(ms), MTU, pn);
    }

    fn ack(&mut self, ms: u64, sent_ms: u64, pn: u64, app_limited: bool) {
        let (now, sent) = (self.at(ms), self.at(sent_ms));
        self.adapter.acked(now, sent, MTU.into(), pn, app_limited, Duration::from_millis(10));
    }

    fn end_frame(&mut self, ms: u64) {
        self.adapter.on_end_acks(self.at(ms), 0, false, None);
    }

    fn calls(&self) -> Vec<String> {
        // Reading the window is what ends a batch.
        self.adapter.window();
        self.calls.try_iter().collect()
    }
}

#[test]
fn what_an_acknowledgement_reveals_is_one_batch() {
    let mut path = Path::new();
    for pn in 0..3 {
        path.send(pn, pn);
    }
    path.ack(12, 1, 1, false);
    path.ack(12, 2, 2, true);
    path.end_frame(12);
    path.adapter.on_packet_lost(MTU, 0, path.at(12));
    path.adapter.on_packet_lost(MTU, 50, path.at(12)); // never sent
    path.adapter.on_congestion_event(path.at(12), path.at(0), false, false, 1200, 0);
    let wanted = [
        "7: sent 0",
        "7: sent 1",
        "7: sent 2",
        "7: acked 1 after 10ms",
        "7: lost 0",
        "7: acked 2 after 10ms",
        "7: app-limited",
        "7: batch end",
    ];
    assert_eq!(path.calls(), wanted);
    assert_eq!(path.calls(), [""; 0]);
}

#[test]
fn packets_that_were_acknowledged_together_took_as_long_as_the_newest() {
    let mut path = Path::new();
    for pn in 0..4 {
        path.send(pn, pn);
    }
    path.ack(20, 0, 0, false);
    path.ack(20, 1, 1, false);
    path.end_frame(20);
    // Another frame that came at the same time.
    path.ack(20, 2, 2, false);
    path.ack(20, 3, 3, false);
    path.end_frame(20);
    let acked = [(0, 19), (1, 19), (2, 17), (3, 17)].map(|(pn, ms)| format!("7: acked {pn} after {ms}ms"));
    assert_eq!(path.calls()[4..8], acked);
}

#[test]
fn a_marked_packet_counts_as_lost_where_marks_have_no_use() {
    for (ecn, outcome) in
        [(Ecn::Unused, "7: lost 1"), (Ecn::Usable, "7: marked 1 after 10ms"), (Ecn::Needed, "7: marked 1 after 10ms")]
    {
        let mut path = Path::with(ecn);
        path.send(1, 0);
        path.send(2, 1);
        path.ack(12, 1, 0, false);
        path.end_frame(12);
        path.ack(12, 2, 1, false);
        path.end_frame(12);
        path.adapter.on_congestion_event(path.at(12), path.at(2), false, true, 0, 1);
        assert_eq!(path.calls()[2..], ["7: acked 0 after 11ms", outcome, "7: batch end"]);
    }
}

#[test]
fn packets_of_a_discarded_space_are_given_up_after_three_round_trips() {
    let mut path = Path::new();
    path.send(1, 0);
    for (i, sent) in [20, 35, 60].into_iter().enumerate() {
        path.send(sent, i as u64);
        path.ack(sent + 10, sent, i as u64, false);
        let discarded = path.calls().contains(&"7: discarded 0".to_owned());
        // Only what was acknowledged before counts: noq may be about to report a loss.
        assert_eq!(discarded, sent == 60, "sent at {sent} ms");
    }
}

#[test]
fn the_handshake_and_mtu_probes_are_kept_from_the_controller() {
    let (sender, calls) = channel();
    let origin = Instant::now();
    let mut adapter = Adapter::new(build(sender, 0, Ecn::Unused, None), origin, MTU);
    adapter.on_packet_sent(origin, MTU, 0);
    adapter.acked(origin + Duration::from_millis(10), origin, MTU.into(), 0, true, Duration::from_millis(10));
    adapter.on_packet_sent(origin + Duration::from_millis(10), 300, 0);
    adapter.on_packet_sent(origin + Duration::from_millis(10), MTU + 1, 1);
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), ["0: sent 0"]);
}

#[test]
fn deadlines_are_kept_while_only_packets_are_sent() {
    let mut path = Path::new();
    path.send(4_999, 0);
    path.send(5_500, 1);
    assert_eq!(path.calls(), ["7: sent 0", "7: deadline at 5.5 s", "7: sent 1"]);
}

#[test]
fn a_clone_is_a_new_controller() {
    let mut path = Path::new();
    path.send(1, 5);
    let mut clone = path.adapter.clone_box();
    clone.on_packet_lost(MTU, 5, path.at(20));
    clone.window();
    assert_eq!(path.calls(), ["7: sent 5"], "what the original sent doesn't concern the clone");
    let mut clone = *clone.into_any().downcast::<Adapter>().expect("it is one");
    clone.acked(path.at(30), path.at(20), MTU.into(), 8, false, Duration::from_millis(10));
    clone.on_packet_sent(path.at(30), MTU, 9);
    assert_eq!(path.calls(), ["8: sent 9"], "the clone is a controller of its own, with another seed");
    path.adapter.on_packet_lost(MTU, 5, path.at(20));
    assert_eq!(path.calls(), ["7: lost 5", "7: batch end"]);
}

#[test]
fn statistics_are_read_without_a_trace() {
    let mut path = Path::new();
    for ms in 1..=40 {
        path.send(ms, ms);
        if ms > 10 {
            path.ack(ms, ms - 10, ms - 10, false);
        }
    }
    path.adapter.on_packet_lost(MTU, 31, path.at(41));
    path.ack(50, 40, 40, false);
    let calls = path.calls();
    let read = Statistics::of_controller(path.adapter.clone_box()).expect("it is an adapter");
    assert_eq!(Statistics::of_controller(path.adapter.clone_box().clone_box()), Some(read));
    assert_eq!(path.adapter.clone_box().metrics().pacing_rate, Some(1_000_000), "in bytes per second");
    assert!(path.calls().is_empty() && !calls.is_empty(), "nothing is reported, no controller made");
    assert_eq!(read.pacing_rate, Some(Rate::from_mbps(8.0)), "the largest rate");
    assert_eq!(read.in_flight_cap, u64::from(MTU));
    assert_eq!((read.smoothed_rtt, read.min_rtt), (Some(Duration::from_millis(10)), Some(Duration::from_millis(10))));
    assert_eq!((read.rate, read.phase), (None, None), "only controllers of a profile tell these");
    assert!(read.loss > 0.0 && !read.delivery_rate.is_zero(), "{read:?}");
}

#[test]
fn rate_and_window_have_bounds() {
    let path = Path::new();
    assert_eq!(path.adapter.window(), u64::from(MTU), "less would block noq for ever");
    let metrics = path.adapter.metrics();
    assert_eq!(metrics.pacing_rate, Some(1_000_000), "the largest rate, in bytes per second");
    assert_eq!(metrics.send_quantum, Some(MTU.into()));
}

#[test]
fn the_rate_is_what_the_path_carries_and_not_how_fast_packets_leave() {
    let build = |max: Option<Rate>| {
        let factory = Factory::profile(profiles::queue_target()).with_seed(1);
        let factory = max.map_or(factory.clone(), |max| factory.with_max_rate(max));
        Arc::new(factory).build(Instant::now(), MTU)
    };
    let read = |controller: &dyn Controller| {
        let statistics = Statistics::of_controller(controller.clone_box()).expect("it is an adapter");
        (statistics.rate.expect("it is of a profile"), statistics.pacing_rate.expect("it is paced"), statistics.phase)
    };
    let controller = build(None);
    let (rate, pacing, phase) = read(&*controller);
    assert!(!rate.is_zero() && pacing > rate * 1.2, "{pacing} and {rate}");
    assert_eq!(phase, Some(Phase::Starting));
    for controller in [controller.clone_box(), controller] {
        assert_eq!(controller.metrics().bandwidth_estimate, Some(rate.bits_per_sec() as u64));
    }
    let max = Rate::from_mbps(0.05);
    assert!(read(&*build(Some(max))).0 <= max);
}

/// A controller with a window and no pacing rate.
#[derive(Debug)]
struct Windowed;

impl CongestionControl for Windowed {
    fn on_packet_sent(&mut self, _: &SentPacket) {}
    fn on_packet_acked(&mut self, _: &AckedPacket) {}
    fn on_packet_lost(&mut self, _: &LostPacket) {}
    fn on_batch_end(&mut self, _: Time) {}
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    fn in_flight_cap(&self) -> u64 {
        100_000
    }
}

#[test]
fn a_largest_rate_holds_for_a_controller_with_a_window_only() {
    let paced = |max: Option<Rate>, rtt_ms: Option<u64>| {
        let factory = Factory::new(|_| Box::new(Windowed));
        let factory = max.map_or(factory.clone(), |max| factory.with_max_rate(max));
        let origin = Instant::now();
        let mut adapter = *Arc::new(factory).build(origin, MTU).into_any().downcast::<Adapter>().expect("it is one");
        if let Some(ms) = rtt_ms {
            let at = |ms| origin + Duration::from_millis(ms);
            // The first acknowledgement is of the handshake.
            adapter.acked(at(1), origin, MTU.into(), 0, false, Duration::from_millis(ms));
            adapter.on_packet_sent(at(1), MTU, 1);
            adapter.acked(at(1 + ms), at(1), MTU.into(), 1, false, Duration::from_millis(ms));
        }
        let (statistics, metrics) = (adapter.copy().statistics, adapter.metrics());
        assert_eq!(metrics.pacing_rate.is_some(), statistics.pacing_rate.is_some());
        assert_eq!(metrics.send_quantum.is_some(), statistics.pacing_rate.is_some());
        statistics.pacing_rate
    };
    let max = Rate::from_mbps(20.0);
    assert_eq!(paced(None, Some(10)), None, "noq paces by the window");
    assert_eq!(paced(Some(max), None), Some(max), "before the first round trip");
    assert_eq!(paced(Some(max), Some(10)), Some(max), "the window would allow 100 Mbit/s");
    assert_eq!(paced(Some(max), Some(100)), Some(Rate::from_mbps(10.0)), "5/4 of window / round-trip time");
}
