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
use tokio::task::{Id, try_id};

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
    /// The task that sends the packets of the connection.
    task: Option<Id>,
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
        let pacing = Pacing::new(mtu).with_bursts(control.allows_bursts());
        let mut state = State {
            control,
            phase,
            rounds: Rounds::default(),
            spaces: Spaces::default(),
            pacing,
            mtu,
            max_rate: build.max_rate(),
            heard: false,
            task: None,
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
        Waits { task: self.task, sent, collect: self.pacing.collect(), gather: self.pacing.gather() }
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
        state.task = try_id();
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
#[path = "controller_tests.rs"]
mod tests;
