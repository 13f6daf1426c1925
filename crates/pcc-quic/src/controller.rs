//! The bridge from noq's controller interface to [`pcc::CongestionControl`].

use crate::pacing::Pacing;
use crate::spaces::Spaces;
use crate::start::{Build, Control};
use crate::statistics::{Rounds, Statistics};
use crate::waits::Waits;
use noq::{Connection, PathId};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};
use pcc::{AckedPacket, Ecn, LostPacket, Rate, SentPacket, Time};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::{Id, try_id};

/// A packet with no outcome is discarded once a packet sent this many round trips later has been acknowledged: noq has
/// thrown its keys away. Otherwise noq would have declared it lost within 9/8 round trips.
const FORGOTTEN_AFTER_RTTS: u32 = 3;

/// Where a controller has a window only, packets leave at this many windows per round trip: RFC 9002, section 7.7, and noq's pacer.
const WINDOW_GAIN: f64 = 1.25;

/// Drives a [`CongestionControl`](pcc::CongestionControl) by the events of one path of a noq connection.
#[derive(Debug)]
pub(crate) struct Adapter {
    build: Arc<Build>,
    /// noq's instants count from here.
    origin: Instant,
    /// `None` in a copy to which nothing was reported: noq also copies a controller whenever its state is read, and such a copy needs
    /// no controller of its own.
    // Locked, because noq reads rate and window through `&self`, and that is the first moment at which a batch is known to be complete.
    state: Mutex<Option<State>>,
    /// What the original knew when this copy was made.
    copied: Copied,
}

/// What a copy answers until something is reported to it.
#[derive(Clone, Copy, Debug)]
struct Copied {
    now: Time,
    mtu: u16,
    quantum: u64,
    statistics: Statistics,
}

#[derive(Debug)]
struct State {
    control: Control,
    rounds: Rounds,
    spaces: Spaces,
    pacing: Pacing,
    mtu: u16,
    max_rate: Option<Rate>,
    /// An acknowledgement has arrived. The controller isn't told of packets sent before that: they belong to the handshake, whose pause of a
    /// round trip it would take for a low rate.
    heard: bool,
    /// The task that sends the packets of the connection.
    task: Option<Id>,
    /// The latest time that any call named.
    now: Time,
    /// Packets were acknowledged or lost since the last batch ended.
    batch_open: bool,
    /// The packets that the ACK frame being reported acknowledges, oldest first.
    frame: Vec<AckedPacket>,
    /// The newest packet of the last complete frame. The controller isn't told yet: only later does noq report whether it was marked (ECN).
    held: Option<AckedPacket>,
    app_limited: bool,
    /// The latest or the smoothed round-trip time, whichever is longer.
    rtt: Duration,
    /// When the newest packet acknowledged up to the last batch was sent.
    settled: Time,
    /// When the newest packet acknowledged so far was sent.
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

    /// Reads from the state, once it has taken in all that was reported. A copy without a state reads what the original knew.
    fn read<R>(&self, state: impl FnOnce(&State) -> R, copied: impl FnOnce(&Copied) -> R) -> R {
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(running) => {
                running.close_batch();
                state(running)
            }
            None => copied(&self.copied),
        }
    }

    /// The state. A copy without one gets it now.
    fn state(&mut self) -> &mut State {
        let Adapter { build, state, copied, .. } = self;
        let state = state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.get_or_insert_with(|| State::new(build, copied.now, copied.mtu))
    }

    fn copy(&self) -> Copied {
        self.read(State::copy, |copied| *copied)
    }

    /// The state, with its time moved on to `at`.
    fn state_at(&mut self, at: Instant) -> (&mut State, Time) {
        let now = self.time(at);
        let state = self.state();
        if now > state.now {
            // noq reports the packets of one batch with the same time, so this is another batch.
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
        state.pacing.on_outcome(now, packet.begins_burst, Some(sample));
        state.newest_acked = state.newest_acked.max(sent);
        state.app_limited |= app_limited;
        state.batch_open = true;
        state.frame.push(AckedPacket { time: now, number: packet.number, sent, bytes, rtt: sample });
    }
}

impl State {
    fn new(build: &Build, now: Time, mtu: u16) -> State {
        let control = build.control(now, mtu);
        let pacing = Pacing::new(mtu).with_bursts(control.allows_bursts());
        let mut state = State {
            control,
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

    /// `rate`, or the largest rate if that is less.
    fn limited(&self, rate: Rate) -> Rate {
        self.max_rate.map_or(rate, |max| rate.min(max))
    }

    /// The rate at which packets are to leave. `None` if noq is to pace them by the window.
    fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate().map(|rate| self.limited(rate)).or_else(|| {
            let max = self.max_rate?;
            let by_window = |rtt| Rate::from_bytes_over(self.window(), rtt) * WINDOW_GAIN;
            Some(self.rounds.smoothed_rtt().map_or(max, |rtt| max.min(by_window(rtt))))
        })
    }

    /// The rate that the controller takes for the right one, if it says so.
    fn rate(&self) -> Option<Rate> {
        self.control.rate().map(|rate| self.limited(rate))
    }

    fn update_rate(&mut self) {
        if let Some(rate) = self.pacing_rate() {
            self.pacing.set_rate(self.now, rate);
        }
    }

    /// noq has no timer for controllers, so each call looks whether the deadline has passed. While packets are in flight there is a
    /// call at least every two seconds, or every 1.5 round trips if that is longer: if no acknowledgement comes, noq sends a probe.
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
    /// All its packets get the round-trip time of the newest (RFC 9002, section 5.1): the others arrived earlier, and waited at the
    /// receiver until it acknowledged them.
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
    /// noq reports the losses that an acknowledgement reveals after it has called `on_end_acks`, so a batch stays open until
    /// something else happens.
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

    /// The window in bytes. It has room for a packet, or noq would never send again.
    fn window(&self) -> u64 {
        self.control.in_flight_cap().max(self.mtu.into())
    }

    /// How long the timer and the socket may wait, with noq's times counting from `origin`.
    fn waits(&self, origin: Instant) -> Waits {
        let sent = origin + self.pacing.last_sent().since(Time::ZERO);
        Waits { task: self.task, sent, collect: self.pacing.collect(), gather: self.pacing.gather() }
    }

    fn copy(&self) -> Copied {
        let statistics = Statistics {
            rate: self.rate(),
            pacing_rate: self.pacing_rate(),
            in_flight_cap: self.window(),
            phase: self.control.phase(),
            ..self.rounds.statistics()
        };
        Copied { now: self.now, mtu: self.mtu, quantum: self.pacing.quantum(), statistics }
    }
}

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let (state, now) = self.state_at(now);
        state.close_batch();
        state.check_deadline();
        let bytes = u64::from(bytes);
        // A larger packet probes for a larger MTU. Its loss says nothing about congestion, and noq doesn't report it.
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
        state.pacing.on_outcome(now, packet.begins_burst, None);
        let (number, sent, bytes) = (packet.number, packet.sent, packet.bytes);
        state.control.on_packet_lost(&LostPacket { time: now, number, sent, bytes });
    }

    /// Only marks are read here, of which noq tells once for each acknowledgement that counts new ones: lost packets were reported one by one.
    ///
    /// noq compares the counts of marks in acknowledgements (RFC 9000, section 19.3.2), but doesn't tell a controller how many packets
    /// were marked, nor which. So the newest packet of the acknowledgement is taken for the only marked one. That is right if each
    /// packet is acknowledged at once, as [`Transport`](crate::Transport) asks for, and as a receiver should do for each mark (RFC
    /// 9000, section 13.2.1). Marks are missed if the receiver takes in several packets before it acknowledges, or if an
    /// acknowledgement is lost or late.
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, is_ecn: bool, _: u64, _: u64) {
        let state = self.state();
        if !is_ecn {
            return;
        }
        let Some(packet) = state.held.take() else { return };
        if state.control.ecn() == Ecn::Unused {
            // noq sends all packets as ECN-capable. A queue that marks them instead of dropping them must see a reaction.
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
        let (window, rate, pacing) = self.read(
            |state| {
                state.waits(self.origin).say();
                let pacing = state.pacing_rate().map(|_| (state.pacing.answer(), state.pacing.quantum()));
                (state.window(), state.rate(), pacing)
            },
            |Copied { quantum, statistics, .. }| {
                let pacing = statistics.pacing_rate.map(|rate| (rate.bytes_per_sec() as u64, *quantum));
                (statistics.in_flight_cap, statistics.rate, pacing)
            },
        );
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = window;
        (metrics.pacing_rate, metrics.send_quantum) = pacing.unzip();
        metrics.bandwidth_estimate = rate.map(|rate| rate.bits_per_sec() as u64);
        metrics
    }

    /// noq clones a controller when the peer's port changes. What was learned needn't hold on the new path, and the outcomes of packets
    /// in flight won't be reported to the clone, so it starts anew with the first report to it. noq also clones a controller for
    /// whoever asks for its state.
    fn clone_box(&self) -> Box<dyn Controller> {
        let (build, origin, copied) = (self.build.clone(), self.origin, self.copy());
        Box::new(Adapter { build, origin, state: Mutex::new(None), copied })
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

// Here and not in `statistics`, because they are read from the adapter.
impl Statistics {
    /// The statistics of a connection's path, `PathId::ZERO` for the first or only one. `None` if there is no such path, or
    /// if its controller doesn't come from a [`Factory`](crate::Factory).
    ///
    /// It locks the connection for a moment, as all of noq's methods do.
    pub fn of(connection: &Connection, path: PathId) -> Option<Statistics> {
        Statistics::of_controller(connection.congestion_state(path)?)
    }

    /// The statistics of a controller that noq's `Connection::congestion_state` has returned. `None` if it doesn't come from a
    /// [`Factory`](crate::Factory).
    pub fn of_controller(controller: Box<dyn Controller>) -> Option<Statistics> {
        let adapter = controller.into_any().downcast::<Adapter>().ok()?;
        Some(adapter.copy().statistics)
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
