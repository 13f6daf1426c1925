//! Do others keep the queue full? A drain tells: each flow takes its own packets out of the queue for a moment. Flows of one kind see the
//! same queue, so that they do it together, and it empties; what others keep there stays.

mod judge;
#[cfg(test)]
mod tests;

use super::config::{DrainConfig, GrowthConfig};
use super::drain::{Drain, Plan};
use super::filter::Sums;
use super::loss::{CROWDED, Loss};
use super::rounds::Round;
use super::share::Share;
use super::view::{Found, View};
use super::window::LEAST;
use super::yielding::Yielding;
use crate::units::{decayed, larger, smaller};

/// A queue is nearly empty below this part of the largest one of late, which loses a part in each round trip.
const NEARLY_EMPTY: f64 = 0.1;
const LARGEST_FADES: f64 = 0.95;
/// The time between drains is this many round trips, if that is longer than the configured time.
const ROUNDS_BETWEEN: f64 = 8.0;
/// Beside others it is this many round trips of the empty path instead, which their queue doesn't make longer: after each drain the window
/// begins to grow anew.
const BASE_ROUNDS_BETWEEN: f64 = 20.0;
/// Many may share a queue that hasn't been empty for this many round trips.
const CROWDED_ROUNDS: f64 = 12.0;
/// A drain that is urgent because of noise comes after this many round trips.
const ROUNDS_IN_NOISE: f64 = 4.0;
/// In noise it is urgent where the window was given up down to this part while the delay stayed.
const YIELDED: f64 = 0.5;
/// Without noise a drain is urgent, and comes after this many round trips, where the window was given up down to this part while the delay
/// stayed, and this many packets or more are left: a smaller window may be one of many, whose common drain that would spoil.
const ROUNDS_IF_YIELDED: f64 = 2.0;
const LEFT: f64 = 0.25;
const NOT_OF_MANY_PACKETS: f64 = 48.0;
/// Others whose queue is empty again and again, each time before this many times the time between drains, leave none for a drain to find. If half of
/// the window was given up in vain in so many such times in a row, each of at least so many round trips, the next one is drained as soon as that
/// has happened, if so many packets are left. It takes twice as many after each such drain that has emptied the queue, up to so many: flows of one kind
/// with longer round trips let it swing as well.
const SWING: f64 = 2.0;
const SWINGS: u32 = 3;
const MOST_SWINGS: u32 = 64;
const SWING_ROUNDS: f64 = 4.0;
const SWING_PACKETS: f64 = 6.0;
/// A window of fewer packets is too small to tell others from many of its own kind.
const SMALL_WINDOW: f64 = 12.0;
/// A delay that rose at once by this part of the base round-trip time, and by this many packet times, asks for a drain if this part of the
/// rise is still there a round trip later: a pause of the path leaves a queue, which drains; a longer path stays longer.
const RISE_PART: f64 = 0.03;
const RISE_PACKETS: f64 = 4.0;
const STILL_THERE: f64 = 0.7;
/// A common time is waited for for this many times the time between drains at most; for longer beside others and where the flow may be one of
/// many, since what it does alone tells little there.
const LATEST: f64 = 1.5;
const LATEST_OF_MANY: f64 = 3.0;
/// A queue of less than this part of a round trip is empty.
const NOTHING: f64 = 0.01;
/// Beside others the window grows by this part of itself in a round trip at most, and by one more packet per round trip for each packet and this
/// many round trips without loss.
const FASTEST: f64 = 0.25;
const ROUNDS_TO_DOUBLE: f64 = 32.0;
/// It falls for loss again after more than this many round trips: until then loss is still that of before.
const ROUNDS_TO_NEXT_CUT: u32 = 2;
/// Above this loss beyond the background the whole window falls, not only the additional packets: where the whole queue counts as
/// background, these alone would change nothing.
const HEAVY: f64 = 0.05;
/// A window so large that it isn't one of many gives up only this part of that excess: BBR loses as much whatever others send.
const OF_EXCESS: f64 = 0.5;
/// A drain beside others leaves this part of the window at most: enough goes that the delay tells what share of the path this flow has.
const PART_BESIDE_OTHERS: f64 = 0.7;
/// Beside others the window takes so many times an equal share of the path with one other at most.
const MOST_OF_SHARE: f64 = 1.1;
/// Held there while the queue is empty for so many round trips in a row, nobody is left who would take the rest.
const HELD_IN_VAIN: u32 = 8;
/// This part of the additional packets remains in each round trip without competition.
const FADE: f64 = 0.85;
/// The gain with which the means over round trips follow.
const GAIN: f64 = 0.25;

/// The smallest queue of late, in seconds, and when it was seen.
#[derive(Clone, Copy, Debug)]
struct Lowest {
    queue: f64,
    at: f64,
}

impl Lowest {
    /// Nothing was seen since `now`.
    fn since(now: f64) -> Lowest {
        Lowest { queue: f64::INFINITY, at: now }
    }
}

/// Whether others compete, and what is done about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Competition {
    config: DrainConfig,
    growth: GrowthConfig,
    /// Whether others keep the queue full, so that this flow competes with them.
    pub beside_others: bool,
    /// Packets in the queue beyond those that the utility wants.
    pub more: f64,
    /// When the queue was empty.
    empty: f64,
    /// The smallest queue since the last drain began: all flows that share a queue see it at the same time.
    lowest: Lowest,
    /// When the last thing was done together, and whether that was a drain and not a test.
    done: f64,
    has_drained: bool,
    /// The window when the queue was nearly empty.
    window_when_empty: f64,
    /// The delay above that of the empty path: of this round trip so far, that of the last one, and the mean of the last ones without a drain with its
    /// mean deviation, in seconds.
    so_far: Sums,
    latest: f64,
    mean: f64,
    deviation: f64,
    /// The largest queue of late, in seconds.
    largest: f64,
    /// Whether no drain has begun yet.
    is_first: bool,
    /// Whether half of the window was given up in vain since the last drain.
    yielding: Yielding,
    yielded_in_vain: bool,
    /// Times in a row in which others' queue came and went, and it was; and how many ask for a drain.
    swings: u32,
    swings_to_drain: u32,
    /// Whether most of it was, and the window before that.
    yielding_most: Yielding,
    most_in_vain: Option<f64>,
    /// Drains in a row that didn't empty the queue, and what the last of them left, in seconds.
    failures: u32,
    remained: f64,
    /// Whether the last one emptied the queue.
    emptied: bool,
    drain: Option<Drain>,
    /// How many drains come before the next deep one, and whether the last of those took nothing away: what stands is noise, not ours.
    until_deep: u32,
    pub only_noise: bool,
    /// Drains of a small window that left a queue since one took something away.
    small_failures: u32,
    /// Packets that arrived since one was lost.
    unharmed: u32,
    /// By how much the delay rose at once in the last round trip, in seconds.
    pub rise: f64,
    /// Round trips since the additional packets were cut for loss.
    since_cut: u32,
    /// What part of the path this flow has, and whether its window is held there.
    share: Share,
    held: bool,
    /// Round trips up to now in which it was held there although the queue was empty.
    held_in_vain: u32,
}

impl Competition {
    /// The path was filled, without a queue, by a window of `window` packets, until `now`.
    pub fn new(config: DrainConfig, growth: GrowthConfig, window: f64, now: f64) -> Competition {
        Competition {
            config,
            growth,
            beside_others: false,
            more: 0.0,
            empty: now,
            lowest: Lowest::since(now),
            done: now,
            has_drained: false,
            window_when_empty: window,
            so_far: Sums::default(),
            latest: 0.0,
            mean: 0.0,
            deviation: 0.0,
            largest: 0.0,
            is_first: true,
            yielding: Yielding::to(YIELDED, 1),
            yielded_in_vain: false,
            swings: 0,
            swings_to_drain: SWINGS,
            yielding_most: Yielding::to(LEFT, 1),
            most_in_vain: None,
            failures: 0,
            remained: 0.0,
            emptied: false,
            drain: None,
            until_deep: 0,
            only_noise: false,
            small_failures: 0,
            unharmed: 0,
            rise: 0.0,
            since_cut: 0,
            share: Share::default(),
            held: false,
            held_in_vain: 0,
        }
    }

    /// Sending goes on after a pause, with what was known before it and a window of so many packets.
    pub fn resume(&mut self, window: f64, now: f64) {
        *self = Competition {
            window_when_empty: smaller(self.window_when_empty, window),
            empty: now,
            lowest: Lowest::since(now),
            done: now,
            so_far: Sums::default(),
            yielding: Yielding::to(YIELDED, 1),
            yielding_most: Yielding::to(LEFT, 1),
            drain: None,
            rise: 0.0,
            ..*self
        };
    }

    /// What the window may be beside others, in packets of so many bytes, for a flow of this weight and a round trip of so many seconds, of which
    /// `target` is wanted.
    pub fn hold(&mut self, target: f64, packet: f64, weight: f64, seconds: f64) -> f64 {
        let path = if self.beside_others { self.share.path_rate() } else { None };
        let most = path.map_or(f64::INFINITY, |rate| MOST_OF_SHARE * weight / (1.0 + weight) * rate * seconds / packet);
        self.held = most < target;
        smaller(target, most)
    }

    /// Nothing is drained for now: the path may be another one.
    pub fn cancel_drain(&mut self) {
        self.drain = None;
    }

    /// The window of a drain that is under way.
    pub fn drain_window(&self) -> Option<f64> {
        self.drain.map(|drain| drain.plan.window)
    }

    /// Takes in the queue at the end of a batch.
    pub fn on_batch(&mut self, now: f64, queue: f64, packet_time: f64, window: f64) {
        self.largest = larger(self.largest, queue);
        if queue <= self.lowest.queue {
            self.lowest = Lowest { queue, at: now };
        }
        self.so_far.add(queue);
        let nearly_empty = queue <= larger(NEARLY_EMPTY * self.largest, packet_time);
        if self.drain.is_none() && nearly_empty {
            self.window_when_empty = window;
        }
    }

    /// The mean of what stood in the queue so far in this round trip, in seconds.
    pub fn so_far(&self) -> f64 {
        self.so_far.mean()
    }

    /// The mean of what stood in the queue since the last call, and its standard deviation.
    pub fn take_mean(&mut self) -> (f64, f64) {
        let sums = core::mem::take(&mut self.so_far);
        (sums.mean(), sums.deviation())
    }

    /// The mean of what stood in the queue in the last round trip without a drain, in seconds.
    pub fn latest(&self) -> f64 {
        self.latest
    }

    /// How far it usually is from its mean over round trips.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Whether this is a time at which all flows that share the queue can do something together.
    pub fn is_due(&self, view: &View) -> bool {
        let of_many = self.beside_others || view.window < CROWDED;
        let (patience, latest) = (self.patience(view), if of_many { LATEST_OF_MANY } else { LATEST });
        view.now - self.lowest.at > patience || view.now - self.done > latest * patience
    }

    /// Whether the queue is empty, so that there is nobody to wait for.
    pub fn is_empty(&self, view: &View) -> bool {
        let noise = if view.background_is_noise { view.background_delay } else { 0.0 };
        self.mean - noise < NOTHING * view.rtt
    }

    /// Whether the queue hasn't been empty for so long that many may share it.
    pub fn is_crowded(&self, now: f64, rtt: f64) -> bool {
        now - self.empty > CROWDED_ROUNDS * rtt
    }

    /// Whether a drain was the last thing that was done together.
    pub fn has_drained(&self) -> bool {
        self.has_drained
    }

    /// Something was done at such a time.
    pub fn done(&mut self, now: f64) {
        (self.lowest, self.done) = (Lowest::since(now), now);
        self.has_drained = false;
    }

    fn begin_drain(&mut self, view: &View, after_rise: bool) {
        // What is taken for noise may have become a queue that all of the kind keep: now and then a drain takes out as much, where
        // acknowledgements come often enough to show what that does.
        let empty = view.base / (view.base + self.mean);
        let is_asked = self.until_deep == 0 && view.background_is_noise && empty < view.unqueued;
        let is_deep = is_asked && !after_rise && !view.in_crowd && !view.bunched;
        self.until_deep = self.until_deep.saturating_sub(1);
        let part = self.config.part * if is_deep { empty } else { view.unqueued };
        let part = if self.beside_others { smaller(part, PART_BESIDE_OTHERS) } else { part };
        self.drain = Some(Drain::new(Plan {
            now: view.now,
            // Each of a crowd may take another delay for that of the empty path.
            window: if view.in_crowd { LEAST } else { part * view.window },
            before: self.mean,
            at_first: view.excess + view.noise,
            bandwidth: view.bandwidth,
            is_deep,
            after_rise,
            in_vain: self.most_in_vain.is_some(),
        }));
        self.is_first &= after_rise;
        (self.yielding, self.yielded_in_vain) = (Yielding::to(YIELDED, 1), false);
        (self.yielding_most, self.most_in_vain) = (Yielding::to(LEFT, 1), None);
        self.done(view.now);
        self.has_drained = true;
    }

    /// Takes in a round trip.
    pub fn on_round(&mut self, round: &Round, view: &View) -> Found {
        self.largest *= LARGEST_FADES;
        self.since_cut = self.since_cut.saturating_add(1);
        self.unharmed = if round.lost > 0 { 0 } else { self.unharmed.saturating_add(round.acked) };
        let rise = core::mem::replace(&mut self.rise, view.rise);
        self.share.on_round(round.rate, view.base + view.excess, self.drain.is_some());
        if self.drain.is_some() {
            return self.on_drain_round(view);
        }
        let difference = view.excess - self.mean;
        self.latest = view.excess;
        self.mean += GAIN * difference;
        self.deviation += GAIN * (difference.abs().max(view.deviation) - self.deviation);
        let is_empty = view.excess <= view.packet_time;
        if is_empty {
            self.on_empty(view);
        }
        self.held_in_vain = if is_empty && self.held { self.held_in_vain + 1 } else { 0 };
        self.beside_others &= self.held_in_vain < HELD_IN_VAIN;
        if self.beside_others {
            return self.on_round_beside_others(round, view);
        }
        self.on_round_alone(rise, view);
        Found::Nothing
    }

    /// The queue is empty, though no drain is under way.
    fn on_empty(&mut self, view: &View) {
        let was_there = view.now - core::mem::replace(&mut self.empty, view.now);
        if was_there <= SWING_ROUNDS * view.rtt {
            return;
        }
        let is_swing = self.yielded_in_vain && was_there <= SWING * self.time_between(view);
        self.swings = if is_swing { self.swings.saturating_add(1) } else { 0 };
        (self.yielding, self.yielded_in_vain) = (Yielding::to(YIELDED, 1), false);
    }

    fn on_drain_round(&mut self, view: &View) -> Found {
        let Some(drain) = &mut self.drain else { return Found::Nothing };
        drain.on_round(view.excess, view.deviation);
        // It was a pause, and no other flow drains because of it.
        if drain.plan.after_rise && !view.is_longer() {
            self.drain = None;
            return Found::Drained { remains: view.excess + view.deviation };
        }
        if drain.is_over(view.now) { self.end_drain(view) } else { Found::Nothing }
    }

    /// Nobody is known to keep the queue full; the delay had risen at once by `rise` seconds in the round trip before.
    fn on_round_alone(&mut self, rise: f64, view: &View) {
        self.more = decayed(self.more * FADE);
        let rose = rise > larger(RISE_PART * view.base, RISE_PACKETS * view.packet_time);
        if rose && view.excess > STILL_THERE * rise {
            self.begin_drain(view, true);
            return;
        }
        self.yielded_in_vain |= self.yielding.on_round(view.window, self.mean);
        let from = self.yielding_most.largest();
        if self.yielding_most.on_round(view.window, self.mean) {
            self.most_in_vain = from;
        }
        // A newcomer's start-up, too, makes one of many give up most of its window, and when that has ended it has it again.
        let has_again = |from: &f64| !Loss::is_large(*from) && view.window > YIELDED * from;
        self.most_in_vain = self.most_in_vain.filter(|from| !has_again(from));
        let crowded = view.doubtful || view.now - self.empty > self.patience(view);
        if crowded && self.is_due(view) {
            self.begin_drain(view, false);
        }
    }

    /// Others keep the queue full: the window takes more of it until something is lost.
    fn on_round_beside_others(&mut self, round: &Round, view: &View) -> Found {
        if self.is_due(view) {
            self.begin_drain(view, false);
            return Found::Nothing;
        }
        let excess = round.loss() - view.background_loss;
        if excess <= self.growth.loss || self.since_cut <= ROUNDS_TO_NEXT_CUT {
            self.more += if self.held { 0.0 } else { self.grown(view) };
            return Found::Nothing;
        }
        let least = self.growth.decrease;
        self.more *= least;
        self.since_cut = 0;
        if excess <= HEAVY {
            return Found::Nothing;
        }
        let is_large = Loss::is_large(view.window);
        Found::Loss { left: if is_large { larger(1.0 - OF_EXCESS * excess, least) } else { least } }
    }

    /// The packets that a round trip without loss adds: as many as one of a flow with the configured round-trip time does in that time.
    fn grown(&self, view: &View) -> f64 {
        let rounds = (view.rtt / self.growth.rtt).max(1.0);
        let packets = rounds * (1.0 + rounds * f64::from(self.since_cut) / ROUNDS_TO_DOUBLE);
        (view.weight * packets).min((FASTEST * view.window).max(view.weight))
    }

    /// How long the queue may be crowded: not long where noise may be all of it before the first drain, or some of what was yielded to in vain, and
    /// least of all for a flow that yielded most of a large window in vain.
    fn patience(&self, view: &View) -> f64 {
        if self.beside_others {
            return self.config.every.max(BASE_ROUNDS_BETWEEN * view.base);
        }
        if self.most_in_vain.is_some() && !view.background_is_noise && view.window >= NOT_OF_MANY_PACKETS {
            return ROUNDS_IF_YIELDED * view.rtt;
        }
        if self.swings >= self.swings_to_drain && self.yielded_in_vain && view.window >= SWING_PACKETS {
            return ROUNDS_IF_YIELDED * view.rtt;
        }
        let in_vain = self.yielded_in_vain && view.background_is_noise && view.window >= SMALL_WINDOW;
        if in_vain || (self.is_first && view.all_may_be_noise) {
            return ROUNDS_IN_NOISE * view.rtt;
        }
        self.time_between(view)
    }

    /// The usual time between drains.
    fn time_between(&self, view: &View) -> f64 {
        self.config.every.max(ROUNDS_BETWEEN * view.rtt)
    }
}
