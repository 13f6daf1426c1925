//! The bridge from noq's controller interface to [`pcc::CongestionControl`].

use crate::pacing::Pacing;
use crate::spaces::Spaces;
use crate::start::{Build, Made};
use crate::statistics::{Rounds, Statistics};
use crate::waits::Waits;
use noq::{Connection, PathId};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};
use pcc::{AckedPacket, CongestionControl, Ecn, LostPacket, Phase, Rate, SentPacket, Time};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A packet whose outcome is still open when packets sent this many round trips later were acknowledged gets none: noq
/// has thrown its keys away. It declares losses within 9/8 round trips.
const FORGOTTEN_AFTER_RTTS: u32 = 3;

/// A controller of the contract, driven by one path of a noq connection.
#[derive(Debug)]
pub(crate) struct Adapter {
    build: Arc<Build>,
    /// noq's instants count from here.
    origin: Instant,
    // noq reads rate and window through `&self`, and only then is it certain that a batch is complete.
    /// `None` in a copy that nothing was reported to: noq also copies a controller each time that its state is read, and those
    /// get no controller of their own.
    state: Mutex<Option<State>>,
    /// What the original knew when this was copied from it.
    copied: Copied,
}

/// What a copy answers with until something is reported to it.
#[derive(Clone, Copy, Debug)]
struct Copied {
    now: Time,
    mtu: u16,
    quantum: u64,
    statistics: Statistics,
}

#[derive(Debug)]
struct State {
    control: Box<dyn CongestionControl>,
    phase: Option<Arc<Mutex<Phase>>>,
    rounds: Rounds,
    spaces: Spaces,
    pacing: Pacing,
    mtu: u16,
    max_rate: Option<Rate>,
    /// An acknowledgement has arrived. What was sent before that is the handshake, or waited for it: the controller
    /// isn't told, or it would learn that a round trip's pause belongs to its rate.
    heard: bool,
    /// The latest time any call named.
    now: Time,
    /// Outcomes were reported since the last end of a batch.
    batch_open: bool,
    /// What the present ACK frame acknowledges, oldest first: how long its newest packet took comes last.
    frame: Vec<AckedPacket>,
    /// The newest packet of the last frame: whether it was marked (ECN) comes later.
    held: Option<AckedPacket>,
    app_limited: bool,
    rtt: Duration,
    /// The send times of the newest packets acknowledged: in earlier batches, and so far.
    settled: Time,
    newest_acked: Time,
}

impl Adapter {
    pub(crate) fn new(build: Arc<Build>, origin: Instant, mtu: u16) -> Adapter {
        let state = State::new(&build, Time::ZERO, mtu);
        let copied = state.copy();
        Adapter { build, origin, state: Mutex::new(Some(state)), copied }
    }

    fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.origin)
    }

    /// Reads from the state, with all that was reported so far taken into account, or else from what it was copied from.
    fn read<R>(&self, state: impl FnOnce(&State) -> R, copied: impl FnOnce(&Copied) -> R) -> R {
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(running) => {
                running.close_batch();
                state(running)
            }
            None => copied(&self.copied),
        }
    }

    /// The state. In a copy it is made now.
    fn state(&mut self) -> &mut State {
        let Adapter { build, state, copied, .. } = self;
        let state = state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.get_or_insert_with(|| State::new(build, copied.now, copied.mtu))
    }

    fn copy(&self) -> Copied {
        self.read(State::copy, |copied| *copied)
    }

    /// The state as of `at`, for the reports of a batch.
    fn state_at(&mut self, at: Instant) -> (&mut State, Time) {
        let now = self.time(at);
        let state = self.state();
        if now > state.now {
            // noq reports what came together with one and the same time.
            state.close_batch();
            state.now = now;
        }
        (state, now)
    }

    fn acked(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, smoothed: Duration) {
        let sent = self.time(sent);
        let (state, now) = self.state_at(now);
        state.heard = true;
        let Some(packet) = state.spaces.take_acked(pn, sent, bytes) else { return };
        let sample = now.since(sent);
        state.rtt = sample.max(smoothed);
        state.rounds.on_acked(bytes, sample, smoothed);
        state.pacing.on_outcome(now, packet.first, Some(sample));
        state.newest_acked = state.newest_acked.max(sent);
        state.app_limited |= app_limited;
        state.batch_open = true;
        state.frame.push(AckedPacket { time: now, number: packet.number, sent, bytes, rtt: sample });
    }
}

impl State {
    fn new(build: &Build, now: Time, mtu: u16) -> State {
        let Made { control, phase } = build.control(now, mtu);
        let mut state = State {
            control,
            phase,
            rounds: Rounds::default(),
            spaces: Spaces::default(),
            pacing: Pacing::new(mtu),
            mtu,
            max_rate: build.max_rate(),
            heard: false,
            now,
            batch_open: false,
            frame: Vec::new(),
            held: None,
            app_limited: false,
            rtt: Duration::ZERO,
            settled: Time::ZERO,
            newest_acked: Time::ZERO,
        };
        state.update_rate();
        state
    }

    fn rate(&self) -> Option<Rate> {
        let rate = self.control.pacing_rate()?;
        Some(self.max_rate.map_or(rate, |max| rate.min(max)))
    }

    fn update_rate(&mut self) {
        if let Some(rate) = self.rate() {
            self.pacing.set_rate(self.now, rate);
        }
    }

    /// noq has no timer for controllers, so this is asked at every occasion. There is one at least every two seconds
    /// while packets are in flight, or every 1.5 round trips if that is more: a probe, when acknowledgements stay away.
    fn check_deadline(&mut self) {
        if self.control.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.control.on_deadline(self.now);
        }
    }

    fn pass_held(&mut self) {
        if let Some(packet) = self.held.take() {
            self.control.on_packet_acked(&packet);
        }
    }

    /// An ACK frame is complete.
    ///
    /// Only its newest packet tells the round-trip time (RFC 9002, section 5.1), for all of them: the others came earlier, and
    /// waited at the receiver until it acknowledged.
    fn end_frame(&mut self) {
        let Some(newest) = self.frame.pop() else { return };
        self.pass_held();
        for packet in self.frame.drain(..) {
            self.control.on_packet_acked(&AckedPacket { rtt: newest.rtt, ..packet });
        }
        self.held = Some(newest);
    }

    /// Ends the open batch.
    ///
    /// noq calls `on_end_acks` before it reports the losses that the same acknowledgement revealed, so a batch stays
    /// open until something else happens.
    fn close_batch(&mut self) {
        if !self.batch_open {
            return;
        }
        self.batch_open = false;
        self.end_frame();
        self.pass_held();
        if self.app_limited {
            self.app_limited = false;
            self.pacing.forgive();
            self.control.on_app_limited(self.now);
        }
        let age = self.rtt * FORGOTTEN_AFTER_RTTS;
        while let Some(packet) = self.spaces.take_older(self.settled, age) {
            self.control.on_packet_discarded(packet.number);
        }
        self.settled = self.newest_acked;
        self.rounds.on_batch_end(self.now);
        self.control.on_batch_end(self.now);
        self.check_deadline();
        self.update_rate();
    }

    /// noq blocks for ever if no packet fits.
    fn window(&self) -> u64 {
        self.control.in_flight_cap().max(self.mtu.into())
    }

    /// What the timer and the socket may do, with noq's times counting from `origin`.
    fn waits(&self, origin: Instant) -> Waits {
        let sent = origin + self.pacing.last_sent().since(Time::ZERO);
        Waits { sent: Some(sent), collect: self.pacing.collect(), gather: self.pacing.gather() }
    }

    fn copy(&self) -> Copied {
        let phase = self.phase.as_ref().map(|phase| *phase.lock().unwrap_or_else(PoisonError::into_inner));
        Copied {
            now: self.now,
            mtu: self.mtu,
            quantum: self.pacing.quantum(),
            statistics: self.rounds.statistics(self.rate(), self.window(), phase),
        }
    }
}

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let (state, now) = self.state_at(now);
        state.close_batch();
        state.check_deadline();
        let bytes = u64::from(bytes);
        // A larger packet probes for a larger MTU: its loss says nothing about congestion, and isn't reported.
        if state.heard && bytes <= state.mtu.into() {
            let number = state.spaces.insert(pn, now, bytes).number;
            state.control.on_packet_sent(&SentPacket { time: now, number, bytes });
        }
        state.pacing.on_sent(now, bytes);
        state.update_rate();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        self.acked(now, sent, bytes, pn, app_limited, rtt.get());
    }

    fn on_end_acks(&mut self, _: Instant, _: u64, _: bool, _: Option<u64>) {
        self.state().end_frame();
    }

    fn on_packet_lost(&mut self, bytes: u16, pn: u64, now: Instant) {
        let (state, now) = self.state_at(now);
        let Some(packet) = state.spaces.take_lost(pn, bytes.into()) else { return };
        state.batch_open = true;
        state.rounds.on_lost();
        state.pacing.on_outcome(now, packet.first, None);
        let (number, sent, bytes) = (packet.number, packet.sent, packet.bytes);
        state.control.on_packet_lost(&LostPacket { time: now, number, sent, bytes });
    }

    /// Lost packets were reported one by one; marks come only here, once for an acknowledgement that tells of some.
    ///
    /// noq compares the counts of marks in acknowledgements (RFC 9000, section 19.3.2), but keeps to itself how many packets were
    /// marked, and which. The newest of the acknowledgement is taken for the only one. So it is where each packet is
    /// acknowledged at once, as [`Transport`](crate::Transport) asks for and as a receiver should do for each mark (RFC 9000,
    /// section 13.2.1). If it takes in several packets before it sends an acknowledgement, or one is lost or late, marks are
    /// missed.
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, is_ecn: bool, _: u64, _: u64) {
        let state = self.state();
        if !is_ecn {
            return;
        }
        let Some(packet) = state.held.take() else { return };
        if state.control.ecn() == Ecn::Unused {
            // noq sends all packets as capable of ECN: without a reaction the queue that marked would have no means left.
            let AckedPacket { time, number, sent, bytes, .. } = packet;
            state.control.on_packet_lost(&LostPacket { time, number, sent, bytes });
        } else {
            state.control.on_packet_marked(&packet);
        }
    }

    fn on_cwnd_limited(&mut self) {
        let state = self.state();
        state.close_batch();
        state.pacing.forgive();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        let state = self.state();
        state.mtu = mtu;
        state.pacing.set_mtu(mtu);
        state.control.on_mtu_change(mtu.into());
    }

    fn window(&self) -> u64 {
        self.read(State::window, |copied| copied.statistics.in_flight_cap)
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let (window, rate, answer, quantum) = self.read(
            |state| {
                state.waits(self.origin).say();
                (state.window(), state.rate(), state.pacing.answer(), state.pacing.quantum())
            },
            |Copied { quantum, statistics, .. }| {
                let rate = statistics.pacing_rate;
                let answer = rate.map_or(0, |rate| rate.bytes_per_sec() as u64);
                (statistics.in_flight_cap, rate, answer, *quantum)
            },
        );
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = window;
        if let Some(rate) = rate {
            metrics.pacing_rate = Some(answer);
            metrics.send_quantum = Some(quantum);
            metrics.bandwidth_estimate = Some(rate.bits_per_sec() as u64);
        }
        metrics
    }

    /// noq clones a controller when the peer's port changes. Nothing that was learned need hold on the new path, and
    /// the packets in flight won't be reported to the clone: it starts anew, with the first report. noq also clones one
    /// for whoever asks for its state.
    fn clone_box(&self) -> Box<dyn Controller> {
        let (build, origin, copied) = (self.build.clone(), self.origin, self.copy());
        Box::new(Adapter { build, origin, state: Mutex::new(None), copied })
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

// Here, because only the adapter can tell them; what they mean is said where they are defined.
impl Statistics {
    /// The statistics of a connection's path, `PathId::ZERO` for the first or only one. `None` if there is no such path, or
    /// if its controller doesn't come from a [`Factory`](crate::Factory).
    ///
    /// It locks the connection for a moment, as all of noq's methods do, and costs nothing while nobody asks.
    pub fn of(connection: &Connection, path: PathId) -> Option<Statistics> {
        Statistics::of_controller(connection.congestion_state(path)?)
    }

    /// The statistics out of what noq's `congestion_state` returned, as [`of`](Self::of) does it.
    pub fn of_controller(controller: Box<dyn Controller>) -> Option<Statistics> {
        let adapter = controller.into_any().downcast::<Adapter>().ok()?;
        Some(adapter.copy().statistics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::Start;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Records what it is told.
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
        let make = move |start: &Start| Made {
            control: Box::new(Echo { seed: start.seed, ecn, calls: calls.clone() }),
            phase: Some(Arc::new(Mutex::new(Phase::Moving))),
        };
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
        for (ecn, outcome) in [
            (Ecn::Unused, "7: lost 1"),
            (Ecn::Usable, "7: marked 1 after 10ms"),
            (Ecn::Needed, "7: marked 1 after 10ms"),
        ] {
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
        assert_eq!(path.adapter.clone_box().metrics().bandwidth_estimate, Some(8_000_000));
        assert!(path.calls().is_empty() && !calls.is_empty(), "nothing is reported, no controller made");
        assert_eq!(read.pacing_rate, Some(Rate::from_mbps(8.0)), "the largest rate");
        assert_eq!(read.in_flight_cap, u64::from(MTU));
        assert_eq!(
            (read.smoothed_rtt, read.min_rtt),
            (Some(Duration::from_millis(10)), Some(Duration::from_millis(10)))
        );
        assert_eq!(read.phase, Some(Phase::Moving));
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
}
