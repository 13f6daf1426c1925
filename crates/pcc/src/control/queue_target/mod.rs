//! A fast inner loop holds as many packets in the queue as the utility wants; experiments find out what delay and loss alone can't tell.
//!
//! | part | question |
//! |---|---|
//! | `start` | when is the path full? |
//! | `delay`, `rounds` | how long is the queue, and what is delivered? |
//! | `held_up` | how much of the delay is noise? |
//! | `demand` | how many packets in the queue does the utility want? |
//! | `window`, `settling` | towards that number, and just after start-up |
//! | `loss` | is this loss ours? |
//! | `competition`, `drain`, `view`, `others` | do others keep the queue full? |
//! | `share` | how much of the path does this flow get? |
//! | `yielding`, `bandwidth_probe` | is more to be had? |
//!
//! Terms; `docs/queue-target.md` in the repository explains the whole:
//!
//! - *base*: the smallest round-trip time, that of the empty path. *Standing*: the smallest one of the last half round trip. *Excess*: the
//!   difference, which is what *stands* in the queue, whoever keeps it.
//! - *noise*: excess delay that isn't a queue, since packets that were sent apart arrive together.
//! - *background*: the part of the excess delay, and of the loss, that doesn't change with what this flow sends.
//! - *drain*: for some round trips, so few packets are in flight that none of the flow's own are in the queue.
//! - *others*: flows that keep the queue full and don't drain. *Crowd*: many flows with windows of a few packets.
//! - *in vain*: the window was given up, and the delay stayed.
//! - *cap*: the window at which loss was found to be ours. *Room*: the part of the wanted packets that fits into the queue.

mod bandwidth_probe;
mod competition;
mod config;
mod delay;
mod demand;
mod drain;
mod filter;
mod held_up;
mod limits;
mod loss;
mod others;
mod rounds;
mod settling;
mod share;
mod start;
mod view;
mod window;
mod yielding;

pub use config::{DrainConfig, GrowthConfig, LossConfig, NoiseConfig, QueueTargetConfig, StartConfig};

use super::{Cut, Limits, PathState, Phase, RateControl};
use crate::contract::AckedPacket;
use crate::monitor::{IntervalPlan, Measurement, Role};
use crate::units::{Rate, Time, larger, smaller};
use crate::utility::Utility;
use competition::Competition;
use core::num::NonZeroU64;
use delay::Delay;
use limits::Pace;
use loss::Loss;
use rounds::{Round, Rounds};
use settling::Settling;
use start::{LONG_PATH, Seen, Start, Verdict};
use window::{LEAST, Step, Window};
use yielding::{Before, Yielding};

/// A window in packets that is more than any path needs.
const MOST: f64 = 1e9;
/// A queue of so many times the packets that are wanted is too long.
const LONG_QUEUE: f64 = 2.0;
/// The window grows by at most this part of it in a round trip; by less where delay can't tell when to stop.
const FAST: f64 = 0.25;
const CAREFUL: f64 = 0.08;
/// Beside others it need not be careful while the target is this many times the window.
const FAR: f64 = 1.5;
/// What stands is a queue for sure if it is so many times what may be noise, or rose at once.
const SURE: f64 = 2.0;
/// A window of which less is in flight isn't used, and doesn't grow.
const USED: f64 = 0.7;
/// What stands for less than this part of the round trip is no queue in which a packet could be lost.
const NO_QUEUE: f64 = 0.005;
/// What the utility wants is asked for a window of so many packets at least.
const FEWEST_ASKED: f64 = 4.0;
/// A window of so many packets at least keeps a queue that outlasts pauses of the path.
const OUTLASTS: f64 = 32.0;
/// What is delivered in this part of the smallest round-trip time tells the rate of a path that start-up fills.
const TELLS: f64 = 0.05;

/// The rate control that holds a number of packets in the queue.
#[derive(Debug)]
pub struct QueueTargetControl {
    config: QueueTargetConfig,
    /// The size of a packet in bytes.
    packet: f64,
    /// The time of a packet at the bandwidth in seconds, which changes once a round trip.
    packet_time: f64,
    delay: Delay,
    rounds: Rounds,
    window: Window,
    /// The packets in the queue that the utility wants.
    wanted: f64,
    start: Option<Start>,
    settling: Settling,
    loss: Loss,
    competition: Competition,
    yielding: Yielding,
    /// A probe for bandwidth is a start-up with something to go back to.
    probe: Option<Before>,
    /// Round trips since start-up in which a probe could have begun.
    settled: u32,
    /// Intervals that began earlier were sent at another level.
    since: Time,
    /// The time of the last batch.
    latest: Time,
    /// Bytes acknowledged in the batch being reported.
    acked: u64,
    used: bool,
    /// Whether a queue was seen in this round trip, and whether any delay was.
    queued: bool,
    delayed: bool,
    limits: Limits,
}

impl QueueTargetControl {
    /// A control with this configuration. It makes no random choices.
    pub fn new(config: QueueTargetConfig) -> QueueTargetControl {
        let mut control = QueueTargetControl {
            packet: 1200.0,
            packet_time: 0.0,
            delay: Delay::new(config.competes, config.noise),
            rounds: Rounds::default(),
            window: Window::new(LEAST),
            wanted: 1.0,
            start: Some(Start::new(config.start)),
            settling: Settling::default(),
            loss: Loss::new(config.loss),
            competition: Competition::new(config.drain, config.growth, 0.0, 0.0),
            yielding: Yielding::default(),
            probe: None,
            settled: 0,
            since: Time::ZERO,
            latest: Time::ZERO,
            acked: 0,
            used: true,
            queued: false,
            delayed: false,
            limits: Limits { rate: Rate::ZERO, in_flight: NonZeroU64::MIN },
            config,
        };
        control.window.jump(control.first_window());
        control.set_limits();
        control
    }

    /// The window to begin with, in packets.
    fn first_window(&self) -> f64 {
        let of_rate = self.config.first_rate.bytes_per_sec() * self.rtt() / self.packet;
        of_rate.max(self.config.first_window as f64).clamp(LEAST, MOST)
    }

    fn rtt(&self) -> f64 {
        self.delay.smoothed().unwrap_or(limits::INITIAL_RTT)
    }

    /// The packets that are in flight when the path is full and its queue empty.
    fn pipe(&self) -> f64 {
        self.rounds.bandwidth() * self.delay.base() / self.packet
    }

    /// The same with what stands although none of it is ours, and what the utility wants: the window that fills the path.
    fn filling(&self, bandwidth: f64) -> f64 {
        bandwidth * (self.delay.base() + self.delay.background()) / self.packet + self.wanted
    }

    fn queue(&self) -> f64 {
        self.delay.queue()
    }

    /// How many times longer the round trip is than that of a flow which the window's moves are made for; 1 if what stands may be no queue.
    fn times_longer(&self, queue: f64) -> f64 {
        let doubt = larger(self.delay.noise(), larger(self.delay.rise(), self.competition.rise));
        if queue > SURE * doubt { self.delay.base() / self.config.growth.rtt } else { 1.0 }
    }

    fn is_draining(&self) -> bool {
        self.competition.drain_window().is_some()
    }

    /// Whether this seems to be one of many flows with small windows that share a queue.
    fn in_crowd(&self, now: Time) -> bool {
        self.loss.is_crowded() && self.competition.is_crowded(now.as_secs_f64(), self.rtt())
    }

    /// The window without a drain, in packets.
    fn full_window(&self) -> f64 {
        smaller(self.window.packets, self.loss.cap).clamp(LEAST, MOST)
    }

    /// The window that counts, in packets.
    fn current_window(&self) -> f64 {
        let window = self.full_window();
        self.competition.drain_window().map_or(window, |drain| smaller(window, drain).max(LEAST))
    }

    /// Whether what the queue says is of this window. On a long path it takes long until a smaller one has any effect.
    fn has_effect(&self, in_flight: u64) -> bool {
        self.delay.base() <= LONG_PATH || in_flight as f64 <= (self.window.packets + 1.0) * self.packet
    }

    /// Whether the first packets may leave faster than the path is known to take them: not if it is others' until there is proof that there are none,
    /// nor on a long path, where what overshoots takes long to go away.
    fn may_hurry(&self) -> bool {
        self.config.competes && self.delay.base() <= LONG_PATH
    }

    fn set_limits(&mut self) {
        let bytes = self.current_window() * self.packet;
        let pace = match &self.start {
            Some(start) if start.is_trial() => Pace::Even,
            Some(_) => Pace::Start { arrives: if self.may_hurry() { self.rounds.fastest() } else { 0.0 } },
            None if self.loss.cap.is_finite() => Pace::Even,
            None => Pace::Usual,
        };
        self.limits = limits::of_window(&self.config, pace, self.delay.smoothed(), bytes, self.packet);
    }

    fn leave_start(&mut self, now: Time) {
        let base = self.delay.base();
        let queued = self.queue() > self.packet_time;
        let start = self.start.take();
        let rate = start.map_or(0.0, |start| start.best_without_queue());
        let is_first = self.probe.is_none();
        let before_pause = start.and_then(|start| start.before_pause());
        // The round trip that filled the path isn't over, and had twice as many packets as the one before.
        let fills = start.is_some_and(|start| start.fills_long_path(base));
        let so_far = if fills { self.rounds.rate_so_far(now, TELLS * base) } else { 0.0 };
        let bandwidth = larger(self.rounds.bandwidth(), so_far);
        let back = self.end_probe(rate);
        if let Some(before) = before_pause {
            self.competition.resume(smaller(self.window.packets, before), now.as_secs_f64());
        } else if is_first {
            self.settled = 0;
            let window = rate * base / self.packet;
            self.competition = Competition::new(self.config.drain, self.config.growth, window, now.as_secs_f64());
        }
        let filling = match before_pause {
            Some(before) if self.window.packets >= before => before,
            _ => self.filling(bandwidth),
        };
        self.jump(back.unwrap_or(filling), now);
        // How fast the first packets arrived doesn't tell of a path that loses packets without a queue, as a policer does.
        if is_first && queued && base <= LONG_PATH {
            self.settling.begin();
        }
        self.loss.start_over();
    }

    /// Begins anew, from the window that a cut has left, if one of `filled` packets had filled the path; if none had, start-up goes on.
    fn restart(&mut self, filled: Option<f64>) {
        let window = larger(self.window.packets, self.first_window());
        match filled {
            Some(filled) if filled > window => self.start = Some(Start::after_pause(self.config.start, filled)),
            Some(_) => {
                self.start = Some(Start::new(self.config.start));
                self.competition = Competition::new(self.config.drain, self.config.growth, 0.0, 0.0);
            }
            None => {}
        }
        self.competition.cancel_drain();
        self.config.initial_windows.take();
        self.loss.cap = f64::INFINITY;
        self.rounds.set_bandwidth(0.0);
        self.window.jump(window);
    }

    /// What a window that grew too fast loses isn't found out by experiments: it falls to what the path takes.
    fn fall_to_what_arrives(&mut self, round: &Round, now: Time) {
        let busy = self.is_draining() || self.competition.beside_others;
        let queued = self.queue() > self.packet_time;
        if busy || !queued || !self.window.grew_fast() || !self.loss.grew_too_fast(round) {
            return;
        }
        self.rounds.set_bandwidth(round.rate);
        let arrives = self.filling(round.rate);
        if arrives < self.window.packets {
            self.jump(arrives, now);
            self.loss.start_over();
        }
    }

    fn jump(&mut self, window: f64, now: Time) {
        self.window.jump(window.clamp(LEAST, MOST));
        self.since = now;
    }

    /// Whether what stands, in seconds, is too little to explain loss.
    fn is_no_queue(&self, seconds: f64) -> bool {
        seconds < NO_QUEUE * self.rtt()
    }

    /// Tries half of the window, if that is waited for. Returns whether it is.
    fn begin_deep_test(&mut self, now: Time) -> bool {
        let Some(window) = self.loss.begin_deep_test(LEAST) else { return false };
        self.competition.done(now.as_secs_f64());
        self.jump(window, now);
        true
    }

    /// Where experiments can't tell whose loss it is, the cap follows it. Returns whether it was lowered.
    fn follow_losses(&mut self, round: &Round, now: Time) -> bool {
        let (window, in_crowd) = (self.full_window(), self.in_crowd(now));
        let is_small = Loss::is_small(window, in_crowd);
        if self.is_draining() {
            // Without a queue it is the path that loses them. A small window may be one of a crowd whose queue it has never seen empty.
            let may_be_ours = is_small || !self.is_no_queue(self.competition.so_far());
            return may_be_ours && self.loss.on_drain_round(round, window, LEAST);
        }
        if self.competition.beside_others && !is_small {
            // What held a small window doesn't hold one that has outgrown it: beside others, competition answers what is lost.
            self.loss.cap = f64::INFINITY;
        }
        is_small && !self.loss.is_testing() && self.loss.on_small_round(round, window, in_crowd, LEAST)
    }

    /// The packets that a window keeps in the queue beside those that the utility wants, so that the path goes on delivering while packets are held up.
    /// A small one is one of many, and would crowd out others; who yields has none.
    fn outlasts_pauses(&self, window: f64) -> f64 {
        if !self.config.competes || window < OUTLASTS {
            return 0.0;
        }
        let (base, noise) = (self.delay.base(), self.config.noise);
        let free = smaller(self.delay.noise_beyond_own(), smaller(noise.free, noise.free_part * base));
        window * free / larger(larger(base, self.rtt()), 1e-6)
    }

    /// Whether a round trip without a queue shows that the path has room for more.
    fn shows_room(&self, round: &Round) -> bool {
        let held_down = self.is_draining() || self.loss.is_testing();
        let lossy = round.loss() > self.loss.background + self.config.growth.loss;
        self.used && !held_down && !lossy
    }

    fn seen(&self) -> Seen {
        let delay = &self.delay;
        Seen { queue: delay.queue(), base: delay.base(), noise: delay.noise(), packet_time: self.packet_time }
    }

    /// Takes in a batch that acknowledges so many packets, in start-up.
    fn on_batch_in_start(&mut self, packets: f64, now: Time) {
        let (seen, rise) = (self.seen(), self.delay.rise());
        let Some(start) = &mut self.start else { return };
        start.on_rise(rise - seen.noise, seen.base);
        // Who yields begins as one, whatever it carries; a probe begins where it is.
        if self.config.competes && self.probe.is_none() && start.grows() {
            let begun = f64::from(self.config.initial_windows.take());
            let brought = begun * self.config.first_window as f64;
            start.bring(brought);
            self.window.packets = (self.window.packets + brought).min(MOST);
        }
        let (window, loss) = (self.window.packets, self.rounds.loss());
        if start.on_batch(window, &seen, loss) == Verdict::Leave {
            self.leave_start(now);
        } else if self.used && start.grows() {
            self.window.packets = (self.window.packets + packets).min(MOST);
        }
    }

    /// Takes in a batch that acknowledges so many packets: the window moves towards the utility's optimum.
    fn on_batch_after_start(&mut self, packets: f64, in_flight: u64, now: Time) {
        let (queue, excess, packet_time) = (self.queue(), self.delay.excess(), self.packet_time);
        self.competition.on_batch(now.as_secs_f64(), excess, packet_time, self.window.packets);
        self.queued |= queue > packet_time;
        self.delayed |= excess > packet_time;
        if self.is_draining() || self.loss.is_testing() {
            return;
        }
        let wanted = self.wanted * self.loss.room + self.competition.more;
        // The packets that don't wait, and those that should.
        let standing = larger(self.delay.standing(), 1e-6);
        let target = self.window.packets * (1.0 - queue / standing) + wanted;
        let target = self.competition.hold(target, self.packet, self.config.weight.get(), standing);
        let down = target < self.window.packets;
        let moves = if down { self.has_effect(in_flight) } else { self.used };
        if !moves {
            return;
        }
        let far = self.competition.beside_others && FAR * self.window.packets < target;
        let step = Step {
            acked: packets,
            fastest: if self.delay.has_background() && !far { CAREFUL } else { FAST },
            known: if queue <= packet_time { self.pipe() } else { 0.0 },
            room: self.settling.room(self.delay.base()) / self.packet,
            // Asked for only where it matters: this is once per acknowledgement.
            longer: if down { self.times_longer(queue) } else { 1.0 },
            gentle: down && self.delay.is_blurred(),
        };
        self.window.step(target, &step);
        self.window.packets = self.window.packets.clamp(LEAST, smaller(MOST, larger(self.loss.cap, LEAST)));
    }

    fn on_round(&mut self, round: &Round, utility: &dyn Utility, now: Time) {
        self.delay.on_round();
        let bandwidth = self.rounds.bandwidth();
        self.packet_time = if bandwidth > 0.0 { self.packet / bandwidth } else { 0.0 };
        let base = self.delay.base();
        let window = self.current_window();
        // A window holds whole packets.
        self.used = round.in_flight as f64 + self.packet >= USED * window * self.packet;
        // A flow of weight w is as w flows.
        let weight = self.config.weight.get();
        self.wanted = weight * demand::wanted_in_queue(utility, window.max(FEWEST_ASKED) / weight, self.packet, base);
        self.wanted += self.outlasts_pauses(window);
        self.on_probe_round();
        let (seen, first_window) = (self.seen(), self.first_window());
        if let Some(start) = &mut self.start {
            let unused = start.unused(self.used);
            if unused > 0.0 {
                self.window.packets = larger(self.window.packets - unused, first_window);
            }
            self.delay.take_rise();
            if self.probe.is_none() {
                self.settling.on_start_round(self.rounds.fastest());
            }
            match start.on_round(round, &seen, self.used) {
                Verdict::Leave => self.leave_start(now),
                Verdict::Noise => self.delay.learn_noise(),
                Verdict::Go => {}
            }
            return;
        }
        self.fall_to_what_arrives(round, now);
        let (queued, delayed) = (core::mem::take(&mut self.queued), core::mem::take(&mut self.delayed));
        let may_be_hidden = delayed && self.delay.has_background();
        let has_room = !(queued || may_be_hidden) && self.shows_room(round);
        // Who wants less than a packet in the queue, or yields, leaves it to others to take that room first. But who yields gives back what it takes.
        let (wants, competes) = (self.wanted >= 1.0, self.config.competes);
        self.loss.on_round(has_room && (wants || !competes), self.delay.take_fall());
        self.settling.on_round();
        self.window.on_round(has_room && wants && competes && self.loss.cap.is_infinite());
        if !self.used && !self.is_draining() {
            self.window.disuse(round.in_flight as f64 / self.packet);
        }
        if self.follow_losses(round, now) {
            self.jump(self.loss.cap, now);
        }
        self.look_for_others(round, window, seen.queue, now);
        self.look_for_more(round, now);
    }
}

impl RateControl for QueueTargetControl {
    fn plan(&mut self, path: &PathState) -> IntervalPlan {
        let role = match (&self.start, self.loss.is_testing() || self.is_draining()) {
            (Some(_), _) => Role::Start,
            (None, true) => Role::Probe { index: 0, faster: false },
            (None, false) => Role::Move,
        };
        IntervalPlan { rate: self.limits.rate, role, length: path.rtt, min_packets: 1, max_packets: u64::MAX }
    }

    fn on_result(&mut self, _role: Role, result: &Measurement, utility: &dyn Utility, path: &PathState) -> bool {
        if self.start.is_some() || self.is_draining() || result.start < self.since {
            return false;
        }
        let (queue, window) = (self.queue(), self.current_window());
        // A queue that is longer than wanted explains loss well enough.
        let long = window * queue > LONG_QUEUE * (self.wanted + self.competition.more) * self.delay.standing();
        if self.competition.beside_others
            || (!self.loss.is_testing() && (long || Loss::is_small(window, self.in_crowd(path.now))))
        {
            self.loss.start_over();
            return false;
        }
        let queued = queue > self.packet_time;
        if let Some(window) = self.loss.on_interval(result, utility, window, queued, LEAST) {
            self.jump(window, path.now);
            self.set_limits();
            return true;
        }
        false
    }

    fn cut(&mut self, cut: Cut) {
        let filled = (self.start.is_none() || self.probe.is_some()).then(|| self.filling(self.rounds.bandwidth()));
        if self.probe.is_some() {
            self.start = None;
        }
        if let Some(window) = self.end_probe(0.0) {
            self.window.packets = window;
        }
        self.window.jump((self.window.packets.min(self.loss.cap) * 0.5).max(f64::MIN_POSITIVE));
        self.loss.start_over();
        match cut {
            Cut::Loss => {
                if self.start.take().is_some_and(|start| start.before_pause().is_none()) {
                    let (window, now) = (self.window.packets, self.latest.as_secs_f64());
                    self.competition = Competition::new(self.config.drain, self.config.growth, window, now);
                }
            }
            Cut::Silence => {
                // A window of few packets is silent when all of them are lost, which tells nothing of the path.
                let (window, now) = (filled.map_or(0.0, |filled| smaller(filled, self.loss.cap)), self.latest);
                if !Loss::is_small(window, self.in_crowd(now)) {
                    self.start = filled.map(|filled| Start::after_pause(self.config.start, filled));
                    self.competition.cancel_drain();
                }
            }
            Cut::Idle => {
                self.delay.after_pause();
                self.restart(filled);
            }
            Cut::Restart => {
                // A crowd loses whole windows of a few packets, while its queue is full.
                if !self.loss.is_crowded() {
                    self.delay.forget();
                }
                self.restart(filled);
            }
        }
        self.set_limits();
    }

    fn limit(&mut self, _ceiling: Rate) {}

    fn rate(&self) -> Rate {
        Rate::from_bits_per_sec(8.0 * self.window.packets.min(self.loss.cap) * self.packet / self.rtt().max(1e-6))
    }

    fn phase(&self) -> Phase {
        match &self.start {
            Some(_) => Phase::Starting,
            None if self.is_draining() || self.loss.is_testing() => Phase::Probing,
            None => Phase::Moving,
        }
    }

    fn on_acked(&mut self, packet: &AckedPacket) {
        self.delay.on_acked(packet);
        self.rounds.on_acked(packet);
        self.acked = self.acked.saturating_add(packet.bytes);
    }

    fn on_lost(&mut self) {
        self.rounds.on_lost();
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.packet = mtu as f64;
        self.set_limits();
    }

    fn on_batch(&mut self, utility: &dyn Utility, now: Time, in_flight: u64) -> Option<Limits> {
        let acked = core::mem::take(&mut self.acked);
        self.latest = now;
        if acked > 0 {
            self.delay.on_batch(now, self.packet_time);
            let packets = acked as f64 / self.packet;
            if self.start.is_some() {
                self.on_batch_in_start(packets, now);
            } else {
                self.on_batch_after_start(packets, in_flight, now);
            }
            if let Some(round) = self.rounds.on_batch(now, in_flight.saturating_add(acked)) {
                self.on_round(&round, utility, now);
            }
        }
        self.set_limits();
        Some(self.limits)
    }

    fn allows_bursts(&self) -> bool {
        self.config.competes
    }

    fn limits(&self) -> Option<Limits> {
        Some(self.limits)
    }
}
