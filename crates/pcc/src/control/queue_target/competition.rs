//! Do others keep the queue full? A drain tells: each flow takes its own packets out of the queue for a moment. Flows of one kind see the
//! same queue, so that they do it together, and it empties; what others keep there stays.

#[cfg(test)]
mod tests;

use super::config::{DrainConfig, GrowthConfig};
use super::drain::{Drain, Plan};
use super::loss::{CROWDED, Loss};
use super::rounds::Round;
use super::view::{Found, View};
use super::window::LEAST;
use super::yielding::Yielding;
use crate::units::{larger, smaller};

/// A queue is nearly empty below this part of the largest one of late.
const NEARLY_EMPTY: f64 = 0.1;
/// There are so many round trips between drains, if that takes longer than the configured time.
const ROUNDS_BETWEEN: f64 = 8.0;
/// Beside others there are so many round trips of the empty path, which their queue doesn't make longer: after each drain the window begins to grow
/// anew.
const BASE_ROUNDS_BETWEEN: f64 = 20.0;
/// Many may share a queue that hasn't been empty for so many round trips.
const CROWDED_ROUNDS: f64 = 12.0;
/// Where noise makes a drain urgent there are only so many.
const SOON: f64 = 4.0;
/// It is where this part of the window was given up, and what stood remained.
const YIELDED: f64 = 0.5;
/// Without noise it is urgent, after so few round trips, where no more than this part of the window is left in vain, and that is so many packets: a
/// window of fewer may be one of many, whose common drain that would spoil.
const AT_ONCE: f64 = 2.0;
const LEFT: f64 = 0.25;
const NOT_OF_MANY: f64 = 48.0;
/// So many drains in a row that don't empty the queue mean others: one that comes new may drain when its kind doesn't.
const FAILURES: u32 = 3;
/// It takes fewer of them for who had given up most of its window in vain.
const FAILURES_IN_VAIN: u32 = 2;
/// It takes more of them where some of what stands is noise, which doesn't drain either.
const FAILURES_IN_NOISE: u32 = 5;
/// After so many, what remains is background.
const BACKGROUND: u32 = 2;
/// More than this much of what remained of the last one that failed, and a packet time, is a growing queue of others, whatever else drained.
const GREW: f64 = 1.1;
/// A drain has emptied the queue if no more than this part of it remains.
const EMPTIED: f64 = 0.3;
/// It wasn't the drain that did so if no more than this part stood when it began: others keep a queue, and let it go now and then.
const GONE: f64 = 0.6;
/// A window of fewer packets is too small to tell others from many of its own kind,
const SMALL: f64 = 12.0;
/// unless it lost none of so many packets: a crowd that fills a queue loses some all the time.
const UNHARMED: u32 = 64;
/// A delay that rose at once by this part of the base round-trip time, and so many packet times, asks for a drain if this part of the rise
/// is still there a round trip later: a pause of the path leaves a queue, which drains; a longer path stays longer.
const RISE_PART: f64 = 0.03;
const RISE_PACKETS: f64 = 4.0;
const STILL_THERE: f64 = 0.7;
/// The window goes back to what it was when the queue was nearly empty, to so many times what it is at most: the path may have become another one since.
const MOST_BACK: f64 = 8.0;
/// A path that loses more than this part may have a full queue, from which no drain takes anything away either.
const LOSSY: f64 = 0.05;
/// A common time is waited for for so many times the time between drains at most; by who competes, or may be one of many, for longer, since
/// what one does alone tells little there.
const LATEST: f64 = 1.5;
const LATEST_OF_MANY: f64 = 3.0;
/// A queue of less than this part of a round trip is empty.
const NOTHING: f64 = 0.01;
/// Beside others the window grows by this part of itself in a round trip at most.
const FASTEST: f64 = 0.25;
/// Loss in excess of the background that takes as much of the whole window as of the additional packets, since a background that is the
/// whole of a full queue wouldn't.
const HEAVY: f64 = 0.05;
/// A window so large that it isn't one of many gives up only this part of that excess: BBR loses as much whatever others send.
const OF_EXCESS: f64 = 0.5;
/// A drain that took nothing away although it was deep is believed for so many drains.
const BELIEVED: u32 = 7;
/// What remains of the additional packets in each round trip without competition.
const FADE: f64 = 0.85;

/// Whether others compete, and what is done about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Competition {
    config: DrainConfig,
    growth: GrowthConfig,
    pub competes: bool,
    /// Packets in the queue beyond those that the utility wants.
    pub more: f64,
    /// When the queue was empty.
    empty: f64,
    /// The smallest queue since the last drain began and when it was seen: all flows that share a queue see it at the same time.
    lowest: (f64, f64),
    drained: f64,
    /// Whether the last thing that was done together was a drain, and not a test.
    has_drained: bool,
    /// The window when the queue was nearly empty.
    window_then: f64,
    /// Sums of what was seen in the round trip: it, its square, one.
    sum: (f64, f64, f64),
    /// The mean of it over the last round trips without a drain.
    mean: f64,
    /// What was seen in the last of them, and how far they and what is in them are from the mean.
    latest: f64,
    deviation: f64,
    /// The largest queue of late, in seconds.
    largest: f64,
    /// Whether no drain has begun yet.
    is_first: bool,
    /// What was yielded since the last one, and whether that was in vain.
    yielding: Yielding,
    yielded_in_vain: bool,
    /// The same for most of the window.
    yielding_most: Yielding,
    /// The window of which most was given up in vain.
    most_in_vain: Option<f64>,
    failures: u32,
    /// Whether the last one emptied the queue.
    emptied: bool,
    /// What remained of the last one that failed, in seconds.
    remained: f64,
    drain: Option<Drain>,
    /// How many drains come before the next deep one, and whether the last of those took nothing away: what stands is noise, not ours.
    until_deep: u32,
    pub only_noise: bool,
    /// Drains of a small flow since one took something away, that one included.
    in_vain: u32,
    /// Packets that arrived since one was lost.
    unharmed: u32,
    /// By how much the delay rose at once in the last round trip, in seconds.
    pub rise: f64,
    since_cut: u32,
}

impl Competition {
    /// The path was filled, without a queue, by a window of `window` packets, until `now`.
    pub fn new(config: DrainConfig, growth: GrowthConfig, window: f64, now: f64) -> Competition {
        Competition {
            config,
            growth,
            competes: false,
            more: 0.0,
            empty: now,
            lowest: (f64::INFINITY, now),
            drained: now,
            has_drained: false,
            window_then: window,
            sum: (0.0, 0.0, 0.0),
            mean: 0.0,
            latest: 0.0,
            deviation: 0.0,
            largest: 0.0,
            is_first: true,
            yielding: Yielding::to(YIELDED, 1),
            yielded_in_vain: false,
            yielding_most: Yielding::to(LEFT, 1),
            most_in_vain: None,
            failures: 0,
            emptied: false,
            remained: 0.0,
            drain: None,
            until_deep: 0,
            in_vain: 0,
            unharmed: 0,
            only_noise: false,
            rise: 0.0,
            since_cut: 0,
        }
    }

    /// Sending goes on after a pause, with what was known before it and a window of so many packets.
    pub fn resume(&mut self, window: f64, now: f64) {
        *self = Competition {
            window_then: smaller(self.window_then, window),
            empty: now,
            lowest: (f64::INFINITY, now),
            drained: now,
            sum: (0.0, 0.0, 0.0),
            yielding: Yielding::to(YIELDED, 1),
            yielding_most: Yielding::to(LEFT, 1),
            drain: None,
            rise: 0.0,
            ..*self
        };
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
        if queue <= self.lowest.0 {
            self.lowest = (queue, now);
        }
        let nearly_empty = queue <= larger(NEARLY_EMPTY * self.largest, packet_time);
        self.sum = (self.sum.0 + queue, self.sum.1 + queue * queue, self.sum.2 + 1.0);
        if self.drain.is_none() && nearly_empty {
            self.window_then = window;
        }
    }

    /// The mean of what stood in the queue so far in this round trip, in seconds.
    pub fn so_far(&self) -> f64 {
        let (sum, _, count) = self.sum;
        sum / count.max(1.0)
    }

    /// The mean of what stood in the queue since the last call, and its standard deviation.
    pub fn take_mean(&mut self) -> (f64, f64) {
        let (sum, squares, count) = core::mem::take(&mut self.sum);
        if count < 1.0 {
            return (0.0, 0.0);
        }
        let mean = sum / count;
        (mean, libm::sqrt((squares / count - mean * mean).max(0.0)))
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
        let of_many = self.competes || view.window < CROWDED;
        let (patience, latest) = (self.patience(view), if of_many { LATEST_OF_MANY } else { LATEST });
        view.now - self.lowest.1 > patience || view.now - self.drained > latest * patience
    }

    /// Whether the queue is empty, so that there is nobody to wait for.
    pub fn is_empty(&self, view: &View) -> bool {
        let noise = if view.is_noise { view.noise } else { 0.0 };
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
        (self.lowest, self.drained) = ((f64::INFINITY, now), now);
        self.has_drained = false;
    }

    fn begin_drain(&mut self, view: &View, after_rise: bool) {
        // What is taken for noise may have become a queue that all of the kind keep: now and then a drain takes out as much, where
        // acknowledgements come often enough to show what that does.
        let empty = view.base / (view.base + self.mean);
        let is_asked = self.until_deep == 0 && view.is_noise && empty < view.unqueued;
        let is_deep = is_asked && !after_rise && !view.in_crowd && !view.bunched;
        self.until_deep = self.until_deep.saturating_sub(1);
        let part = self.config.part * if is_deep { empty } else { view.unqueued };
        self.drain = Some(Drain::new(Plan {
            now: view.now,
            // Each of a crowd may take another delay for that of the empty path.
            window: if view.in_crowd { LEAST } else { part * view.window },
            before: self.mean,
            at_first: view.excess + view.may_be_noise,
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
        self.largest *= 0.95;
        self.since_cut = self.since_cut.saturating_add(1);
        self.unharmed = if round.lost > 0 { 0 } else { self.unharmed.saturating_add(round.acked) };
        let rise = core::mem::replace(&mut self.rise, view.rise);
        if let Some(drain) = &mut self.drain {
            drain.on_round(view.excess, view.deviation);
            // It was a pause, and no other flow drains because of it.
            if drain.plan.after_rise && !view.is_longer() {
                self.drain = None;
                return Found::Drained(view.excess + view.deviation);
            }
            if !drain.is_over(view.now) {
                return Found::Nothing;
            }
            return self.end_drain(view);
        }
        let difference = view.excess - self.mean;
        self.latest = view.excess;
        self.mean += difference / 4.0;
        self.deviation += (difference.abs().max(view.deviation) - self.deviation) / 4.0;
        if view.excess <= view.packet_time {
            self.empty = view.now;
        }
        if !self.competes {
            self.more *= FADE;
            if rise > larger(RISE_PART * view.base, RISE_PACKETS * view.packet_time) && view.excess > STILL_THERE * rise
            {
                self.begin_drain(view, true);
                return Found::Nothing;
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
            return Found::Nothing;
        }
        if self.is_due(view) {
            self.begin_drain(view, false);
            return Found::Nothing;
        }
        let loss = round.loss();
        if loss > view.background + self.growth.loss && self.since_cut > 2 {
            self.more *= self.growth.decrease;
            self.since_cut = 0;
            let beyond = loss - view.background;
            if beyond > HEAVY {
                let least = self.growth.decrease;
                let is_large = Loss::is_large(view.window);
                return Found::Loss(if is_large { larger(1.0 - OF_EXCESS * beyond, least) } else { least });
            }
        } else {
            self.more += self.grown(view);
        }
        Found::Nothing
    }

    /// The packets that a round trip without loss adds: as many as one of a flow with the configured round-trip time does in that time.
    fn grown(&self, view: &View) -> f64 {
        let rounds = (view.rtt / self.growth.rtt).max(1.0);
        let packets = rounds * (1.0 + rounds * f64::from(self.since_cut) / 32.0);
        (view.weight * packets).min((FASTEST * view.window).max(view.weight))
    }

    fn end_drain(&mut self, view: &View) -> Found {
        let Some(drain) = self.drain.take() else { return Found::Nothing };
        let back = smaller(self.window_then, MOST_BACK * view.window);
        let (remains, deviation) = drain.least();
        if drain.plan.after_rise {
            return Found::Longer(remains, drain.plan.bandwidth);
        }
        // Where all of it may be noise, so may the difference between its round trips.
        let mean = if view.may_be_noise > drain.plan.before { drain.mean() } else { 0.0 };
        let noise = larger(remains + deviation, mean);
        // Only a deep drain can tell that there is nothing but noise, and any that took something away tells the opposite.
        let took_nothing = drain.took_nothing();
        let nothing = took_nothing && self.window_then >= SMALL;
        self.only_noise = nothing && (self.only_noise || drain.plan.is_deep);
        if !took_nothing {
            self.in_vain = 0;
        }
        if !nothing {
            self.until_deep = 0;
        } else if drain.plan.is_deep {
            self.until_deep = BELIEVED;
        }
        let [before, remaining] = [drain.plan.before, remains].map(|excess| excess - view.noise);
        let grew = self.failures >= BACKGROUND && remains > GREW * self.remained + view.packet_time;
        let emptied = !grew && remaining <= (EMPTIED * before).max(view.packet_time);
        let stayed = grew || remaining > (self.config.others * before).max(view.packet_time);
        let others = stayed && view.may_be_of_others(remains);
        if emptied && drain.plan.at_first - view.noise <= GONE * before {
            return Found::Drained(noise);
        }
        // It couldn't take its own packets out; neither could the rest of the crowd, if it is one.
        if view.in_crowd && !emptied && drain.is_smallest() && self.window_then < SMALL {
            self.in_vain = self.in_vain.saturating_add(1);
            if self.in_vain < FAILURES || self.unharmed < UNHARMED {
                return Found::Drained(noise);
            }
            self.competes = true;
            return Found::Others(back, noise);
        }
        // What no drain takes anything away from isn't ours, and neither is it others' if it is short: the path is longer than it was.
        let is_longer = stayed && took_nothing && view.background < LOSSY;
        let not_ours = others || is_longer;
        self.failures = if not_ours { self.failures.saturating_add(1) } else { 0 };
        self.remained = if not_ours { remains } else { self.remained };
        // Others, too, let their queue go now and then, and that may be while we drain.
        let once_more = core::mem::replace(&mut self.emptied, emptied);
        if emptied && self.competes && !once_more {
            return Found::Drained(noise);
        }
        if emptied {
            (self.competes, self.empty) = (false, view.now);
            return Found::Drained(noise);
        }
        let enough = match drain.plan.in_vain {
            _ if view.is_noise => FAILURES_IN_NOISE,
            true => FAILURES_IN_VAIN,
            false => FAILURES,
        };
        if others && !self.competes && self.failures >= enough && self.window_then >= SMALL {
            self.competes = true;
            return Found::Others(back, noise);
        }
        let known = view.noise > view.packet_time && self.failures > 0;
        if known || self.failures >= BACKGROUND { Found::Background(back, noise) } else { Found::Drained(noise) }
    }

    /// How long the queue may be crowded: not long where noise may be all of it before the first drain, or some of what was yielded to in vain, and
    /// least of all for who yielded most of a large window in vain.
    fn patience(&self, view: &View) -> f64 {
        if self.competes {
            return self.config.every.max(BASE_ROUNDS_BETWEEN * view.base);
        }
        if self.most_in_vain.is_some() && !view.is_noise && view.window >= NOT_OF_MANY {
            return AT_ONCE * view.rtt;
        }
        let in_vain = self.yielded_in_vain && view.is_noise && view.window >= SMALL;
        if in_vain || (self.is_first && view.noisy) {
            return SOON * view.rtt;
        }
        self.config.every.max(ROUNDS_BETWEEN * view.rtt)
    }
}
