//! The bridge from noq's controller interface to [`pcc::CongestionControl`].

use crate::factory::Build;
use crate::pacing::Pacing;
use crate::spaces::Spaces;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A packet still without a fate after packets sent this many round trips later were acknowledged gets none: noq
/// has thrown its keys away. It declares losses within 9/8 round trips.
const FORGOTTEN_AFTER_RTTS: u32 = 3;

/// A controller of the contract, driven by one path of a noq connection.
#[derive(Debug)]
pub(crate) struct Adapter {
    build: Arc<Build>,
    /// noq's instants count from here.
    origin: Instant,
    // noq reads rate and window through `&self`, and only then is it certain that a batch is complete.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    control: Box<dyn CongestionControl>,
    spaces: Spaces,
    pacing: Pacing,
    mtu: u16,
    max_rate: Option<Rate>,
    /// The latest time any call named.
    now: Time,
    /// Fates were reported since the last end of a batch.
    batch_open: bool,
    /// The newest acknowledgement of the open batch: its packet counts as lost if it was marked (ECN).
    held: Option<AckedPacket>,
    app_limited: bool,
    rtt: Duration,
    /// The send times of the newest packets acknowledged: in earlier batches, and so far.
    settled: Time,
    newest_acked: Time,
}

impl Adapter {
    pub(crate) fn new(build: Arc<Build>, origin: Instant, mtu: u16) -> Adapter {
        Adapter { state: Mutex::new(State::new(&build, Time::ZERO, mtu)), build, origin }
    }

    fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.origin)
    }

    /// The state, with all that was reported so far taken into account.
    fn settled(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.close_batch();
        state
    }

    /// The state as of `at`, for the reports of a batch.
    fn state_at(&mut self, at: Instant) -> (&mut State, Time) {
        let now = self.time(at);
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if now > state.now {
            // noq reports what came together with one and the same time.
            state.close_batch();
            state.now = now;
        }
        (state, now)
    }
}

impl State {
    fn new(build: &Build, now: Time, mtu: u16) -> State {
        let control = build.control(now, mtu);
        let mut state = State {
            control,
            spaces: Spaces::default(),
            pacing: Pacing::new(mtu),
            mtu,
            max_rate: build.max_rate(),
            now,
            batch_open: false,
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

    /// noq has no timer for controllers, so this is asked at every occasion. There is one at least every second while
    /// packets are in flight: a probe, when acknowledgements stay away.
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

    /// Ends the open batch.
    ///
    /// noq calls `on_end_acks` before it reports the losses that the same acknowledgement revealed, so a batch stays
    /// open until something else happens.
    fn close_batch(&mut self) {
        if !self.batch_open {
            return;
        }
        self.batch_open = false;
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
        self.control.on_batch_end(self.now);
        self.check_deadline();
        self.update_rate();
    }

    /// noq blocks for ever, were there no room for a packet.
    fn window(&self) -> u64 {
        self.control.in_flight_cap().max(self.mtu.into())
    }
}

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let (state, now) = self.state_at(now);
        state.close_batch();
        state.check_deadline();
        let bytes = u64::from(bytes);
        // A larger packet probes for a larger MTU: its loss says nothing about congestion, and isn't reported.
        if bytes <= state.mtu.into() {
            let number = state.spaces.insert(pn, now, bytes).number;
            state.control.on_packet_sent(&SentPacket { time: now, number, bytes });
        }
        state.pacing.on_sent(now, bytes);
        state.update_rate();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        let sent = self.time(sent);
        let (state, now) = self.state_at(now);
        let Some(packet) = state.spaces.take_acked(pn, sent, bytes) else { return };
        let sample = now.since(sent);
        state.rtt = sample.max(rtt.get());
        state.newest_acked = state.newest_acked.max(sent);
        state.app_limited |= app_limited;
        state.batch_open = true;
        state.pass_held();
        state.held = Some(AckedPacket { time: now, number: packet.number, sent, bytes, rtt: sample });
    }

    fn on_packet_lost(&mut self, bytes: u16, pn: u64, now: Instant) {
        let (state, now) = self.state_at(now);
        let Some(packet) = state.spaces.take_lost(pn, bytes.into()) else { return };
        state.batch_open = true;
        let (number, sent, bytes) = (packet.number, packet.sent, packet.bytes);
        state.control.on_packet_lost(&LostPacket { time: now, number, sent, bytes });
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, is_ecn: bool, _: u64, _: u64) {
        // Lost packets were reported one by one; a mark (RFC 9002, 7.1: to be treated as a loss) comes only here.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if is_ecn && let Some(AckedPacket { time, number, sent, bytes, .. }) = state.held.take() {
            state.control.on_packet_lost(&LostPacket { time, number, sent, bytes });
        }
    }

    fn on_cwnd_limited(&mut self) {
        self.settled().pacing.forgive();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.mtu = mtu;
        state.pacing.set_mtu(mtu);
        state.control.on_mtu_change(mtu.into());
    }

    fn window(&self) -> u64 {
        self.settled().window()
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let state = self.settled();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = state.window();
        if let Some(rate) = state.rate() {
            metrics.pacing_rate = Some(state.pacing.answer());
            metrics.send_quantum = Some(state.pacing.quantum());
            metrics.bandwidth_estimate = Some(rate.bits_per_sec() as u64);
        }
        metrics
    }

    /// noq clones a controller when the peer's port changes. Nothing that was learned need hold on the new path, and
    /// the packets in flight won't be reported to the clone: it starts anew.
    fn clone_box(&self) -> Box<dyn Controller> {
        let state = self.settled();
        let (now, mtu) = (state.now, state.mtu);
        Box::new(Adapter {
            build: self.build.clone(),
            origin: self.origin,
            state: Mutex::new(State::new(&self.build, now, mtu)),
        })
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
