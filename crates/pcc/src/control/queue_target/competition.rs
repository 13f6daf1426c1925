//! Do others keep the queue full? A drain tells: each flow takes its own packets out of the queue for a moment. Flows of one kind see the
//! same queue, so that they do it together, and it empties; what others keep there stays.

use super::config::{DrainConfig, GrowthConfig};
use super::drain::{Drain, Plan};
use super::rounds::Round;
use super::view::{Found, View};
use super::window::LEAST;
use super::yielding::Yielding;
use crate::units::larger;

/// A queue is nearly empty below this part of the largest one of late.
const NEARLY_EMPTY: f64 = 0.1;
/// There are so many round trips between drains, if that takes longer than the configured time.
const CROWDED_ROUNDS: f64 = 12.0;
/// Where noise makes a drain urgent there are only so many.
const SOON: f64 = 4.0;
/// It is where this part of the window was given up, and what stood remained.
const YIELDED: f64 = 0.5;
/// So many drains in a row that don't empty the queue mean others: one that comes new may drain when its kind doesn't.
const FAILURES: u32 = 3;
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
/// A window of fewer packets is too small to tell others from many of its own kind.
const SMALL: f64 = 12.0;
/// A delay that rose at once by this part of the base round-trip time, and so many packet times, asks for a drain if this part of the rise
/// is still there a round trip later: a pause of the path leaves a queue, which drains; a longer path stays longer.
const RISE_PART: f64 = 0.25;
const RISE_PACKETS: f64 = 6.0;
const STILL_THERE: f64 = 0.7;
/// The path is longer if it then is so by this part of the base round-trip time, and as many packet times.
const LONGER_PART: f64 = 0.1;
/// A common time is waited for for so many times the time between drains at most.
const LATEST: f64 = 1.5;
/// A queue of less than this part of a round trip is empty.
const NOTHING: f64 = 0.01;
/// Beside others a drain comes after so many round trips, and some.
const DRAIN_EVERY: u32 = 32;
const DRAIN_SPREAD: u32 = 8;
/// Beside others the window grows by this part of itself in a round trip at most.
const FASTEST: f64 = 0.25;
/// Loss in excess of the background that takes as much of the whole window as of the additional packets, since a background that is the
/// whole of a full queue wouldn't.
const HEAVY: f64 = 0.05;
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
    failures: u32,
    /// What remained of the last one that failed, in seconds.
    remained: f64,
    until_drain: u32,
    drain: Option<Drain>,
    /// How many drains come before the next deep one, and whether the last of those took nothing away: what stands is noise, not ours.
    until_deep: u32,
    pub only_noise: bool,
    /// So many drains of a small flow in a row changed nothing at all.
    in_vain: u32,
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
            failures: 0,
            remained: 0.0,
            until_drain: 0,
            drain: None,
            until_deep: 0,
            in_vain: 0,
            only_noise: false,
            rise: 0.0,
            since_cut: 0,
        }
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
        view.now - self.lowest.1 > self.patience(view) || view.now - self.drained > LATEST * self.patience(view)
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

    /// Whether a small flow drained again and again, and that changed nothing at all, as where somebody else fills the queue.
    pub fn drains_in_vain(&self) -> bool {
        self.in_vain >= FAILURES
    }

    /// Something was done at such a time.
    pub fn done(&mut self, now: f64) {
        (self.lowest, self.drained) = ((f64::INFINITY, now), now);
        self.has_drained = false;
    }

    fn begin_drain(&mut self, view: &View, after_rise: bool) {
        // What is taken for noise may have become a queue that all of the kind keep: now and then a drain takes out as much.
        let empty = view.base / (view.base + self.mean);
        let is_deep = self.until_deep == 0 && view.is_noise && !after_rise && !view.in_crowd && empty < view.unqueued;
        self.until_deep = self.until_deep.saturating_sub(1);
        let part = self.config.part * if is_deep { empty } else { view.unqueued };
        self.drain = Some(Drain::new(Plan {
            now: view.now,
            // Each of a crowd may take another delay for that of the empty path.
            window: if view.in_crowd { LEAST } else { part * view.window },
            before: self.mean,
            at_first: view.excess + view.may_be_noise,
            is_deep,
            after_rise,
        }));
        self.is_first &= after_rise;
        (self.yielding, self.yielded_in_vain) = (Yielding::to(YIELDED, 1), false);
        self.done(view.now);
        self.has_drained = true;
        self.until_drain = DRAIN_EVERY + view.random % DRAIN_SPREAD;
    }

    /// Takes in a round trip.
    pub fn on_round(&mut self, round: &Round, view: &View) -> Found {
        self.largest *= 0.95;
        self.since_cut = self.since_cut.saturating_add(1);
        let rise = core::mem::replace(&mut self.rise, view.rise);
        if let Some(drain) = &mut self.drain {
            drain.on_round(view.excess, view.deviation);
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
            let crowded = view.doubtful || view.now - self.empty > self.patience(view);
            if crowded && self.is_due(view) {
                self.begin_drain(view, false);
            }
            return Found::Nothing;
        }
        self.until_drain = self.until_drain.saturating_sub(1);
        if self.until_drain == 0 {
            self.begin_drain(view, false);
            return Found::Nothing;
        }
        let loss = round.loss();
        if loss > view.background + self.growth.loss && self.since_cut > 2 {
            self.more *= self.growth.decrease;
            self.since_cut = 0;
            if loss > view.background + HEAVY {
                return Found::Loss(self.growth.decrease);
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
        let (remains, deviation) = drain.least();
        // Where all of it may be noise, so may the difference between its round trips.
        let mean = if view.may_be_noise > drain.plan.before { drain.mean() } else { 0.0 };
        let noise = larger(remains + deviation, mean);
        if drain.plan.after_rise {
            let longer = remains - view.noise > larger(LONGER_PART * view.base, RISE_PACKETS * view.packet_time);
            return if longer { Found::Longer(remains) } else { Found::Drained(noise) };
        }
        // Only a deep drain can tell that there is nothing but noise, and any that took something away tells the opposite.
        let nothing = drain.took_nothing() && self.window_then >= SMALL;
        self.only_noise = nothing && (self.only_noise || drain.plan.is_deep);
        if !drain.changed_nothing() {
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
        // It couldn't take its own packets out; neither could the rest of the crowd.
        if view.in_crowd && !emptied && drain.is_smallest() && self.window_then < SMALL {
            self.in_vain = self.in_vain.saturating_add(1);
            return Found::Drained(noise);
        }
        self.failures = if others { self.failures.saturating_add(1) } else { 0 };
        self.remained = if others { remains } else { self.remained };
        if emptied {
            (self.competes, self.empty) = (false, view.now);
            return Found::Drained(noise);
        }
        let enough = if view.is_noise { FAILURES_IN_NOISE } else { FAILURES };
        if !self.competes && self.failures >= enough && self.window_then >= SMALL {
            self.competes = true;
            return Found::Others(self.window_then, noise);
        }
        let known = view.noise > view.packet_time && self.failures > 0;
        if known || self.failures >= BACKGROUND {
            Found::Background(self.window_then, noise)
        } else {
            Found::Drained(noise)
        }
    }

    /// How long the queue may be crowded: not long where noise may be all of it before the first drain, or some of what was yielded to in vain.
    fn patience(&self, view: &View) -> f64 {
        let in_vain = self.yielded_in_vain && view.is_noise && view.window >= SMALL;
        if in_vain || (self.is_first && view.noisy) {
            return SOON * view.rtt;
        }
        self.config.every.max(CROWDED_ROUNDS * view.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::drain;
    use super::super::view::tests::view;
    use super::*;

    fn competition() -> Competition {
        Competition::new(DrainConfig::default(), GrowthConfig::default(), 100.0, 0.0)
    }

    /// The packets that a flow of this weight adds beside others in so many round trips of so many seconds without loss.
    fn grown(weight: f64, rounds: u32, rtt: f64) -> f64 {
        let mut competition = competition();
        (competition.competes, competition.until_drain) = (true, DRAIN_EVERY);
        let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
        for _ in 0..rounds {
            assert_eq!(competition.on_round(&round, &view(rtt, weight, 0.0)), Found::Nothing);
        }
        competition.more
    }

    /// A drain before which so many seconds stood, and after which so many remained.
    fn ended(before: f64, at_first: f64, remains: f64, window: f64) -> Drain {
        let plan = Plan { now: 0.0, window, before, at_first, is_deep: false, after_rise: false };
        let mut drain = Drain::new(plan);
        (0..3).for_each(|_| drain.on_round(remains, 0.0));
        drain
    }

    /// What the last of some drains finds, by a flow of so many packets: so many seconds stood before each, and so many remained.
    fn found(packets: f64, drains: &[(f64, f64)]) -> Found {
        let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), packets, 0.0);
        let mut noise = 0.0;
        drains.iter().fold(Found::Nothing, |_, (before, remains)| {
            competition.drain = Some(ended(*before, *before, *remains, packets / 4.0));
            let found = competition.end_drain(&view(0.04, 1.0, noise));
            if let Found::Background(_, remains) = found {
                noise = remains;
            }
            found
        })
    }

    #[test]
    fn what_grows_from_drain_to_drain_is_a_queue_of_others() {
        let background = Found::Background(100.0, 0.015);
        assert_eq!(found(100.0, &[(0.02, 0.015)]), Found::Drained(0.015), "once it may be chance");
        assert_eq!(found(100.0, &[(0.02, 0.015), (0.02, 0.015)]), background);
        assert_eq!(
            found(100.0, &[(0.02, 0.015), (0.02, 0.015), (0.03, 0.016)]),
            Found::Drained(0.016),
            "ours went away"
        );
        assert_eq!(found(100.0, &[(0.02, 0.015), (0.02, 0.015), (0.03, 0.018)]), Found::Others(100.0, 0.018));
    }

    #[test]
    fn on_a_long_path_a_short_queue_is_nobodys() {
        // What the third drain finds, after which 15 ms of 20 ms remained, on a path that takes so many seconds.
        let third = |base| {
            let mut competition = competition();
            let view = View { base, rtt: base + 0.02, ..view(0.04, 1.0, 0.0) };
            let found = (0..FAILURES).map(|_| {
                competition.drain = Some(ended(0.02, 0.02, 0.015, 25.0));
                competition.end_drain(&view)
            });
            found.last()
        };
        assert_eq!(third(0.1), Some(Found::Others(100.0, 0.015)));
        assert_eq!(third(0.6), Some(Found::Drained(0.015)));
    }

    #[test]
    fn a_queue_that_had_gone_before_the_drain_says_nothing() {
        let competes_after = |at_first| {
            let mut competition = competition();
            (competition.competes, competition.failures) = (true, 3);
            competition.drain = Some(ended(0.02, at_first, 0.0, 25.0));
            assert_eq!(competition.end_drain(&view(0.04, 1.0, 0.0)), Found::Drained(0.0));
            (competition.competes, competition.failures)
        };
        assert_eq!(competes_after(0.02), (false, 0), "the drain emptied it");
        assert_eq!(competes_after(0.01), (true, 3), "others let it go");
    }

    #[test]
    fn a_delay_that_rose_at_once_is_tried_by_a_drain() {
        let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
        let after = |rise, excess, remains| {
            let mut competition = competition();
            let view = View { rise, ..view(0.06, 1.0, 0.0) };
            competition.on_round(&round, &view);
            competition.on_round(&round, &View { excess, rise: 0.0, ..view });
            let drains = competition.drain_window().is_some();
            let ended = View { now: 2.0, excess: remains, rise: 0.0, ..view };
            (drains, (0..drain::ROUNDS).map(|_| competition.on_round(&round, &ended)).last())
        };
        assert_eq!(after(0.03, 0.03, 0.03), (true, Some(Found::Longer(0.03))));
        assert_eq!(after(0.03, 0.03, 0.005), (true, Some(Found::Drained(0.005))), "the path had paused");
        assert!(!after(0.03, 0.01, 0.01).0, "it is over");
        assert!(!after(0.008, 0.03, 0.03).0, "too little");
    }

    #[test]
    fn what_stays_in_a_deep_drain_is_noise() {
        let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
        let mut competition = competition();
        competition.mean = 0.02;
        let view = View { is_noise: true, in_crowd: false, unqueued: 1.0, ..view(0.04, 1.0, 0.02) };
        // The window of a drain, and whether it told that there is only noise, if so much remains in it.
        let mut drained = |remains| {
            competition.begin_drain(&view, false);
            let window = competition.drain_window().unwrap_or_default();
            let ended = View { now: 2.0, excess: remains, ..view };
            (0..drain::ROUNDS).for_each(|_| {
                competition.on_round(&round, &ended);
            });
            (window.round(), competition.only_noise)
        };
        assert_eq!(drained(0.01), (48.0, false), "half of the round trip is taken out, and half of it was ours");
        assert_eq!(drained(0.02), (48.0, true), "all of it stays");
        for _ in 0..BELIEVED {
            assert_eq!(drained(0.02), (95.0, true), "believed for a while");
        }
        assert_eq!(drained(0.02), (48.0, true), "and tried again");
        assert_eq!(drained(0.01), (95.0, false), "something goes away");
        assert_eq!(drained(0.02), (48.0, true), "so that the next one is deep again");
    }

    #[test]
    fn no_flow_drains_because_it_began_late() {
        let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
        let drains = |began| {
            let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), 100.0, began);
            competition.on_round(&round, &View { now: 9.0, ..view(0.04, 1.0, 0.0) });
            competition.drain_window().is_some()
        };
        assert_eq!([6.9, 8.9].map(drains), [true, false], "a drain comes after two seconds");
    }

    #[test]
    fn noise_makes_a_drain_urgent() {
        let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
        let ms = |number: u32| 0.04 * f64::from(number);
        // Round trips until a drain begins, with the window and what stands in each.
        let rounds = |view: View, seen: &dyn Fn(u32) -> (f64, f64)| {
            let mut competition = competition();
            competition.on_batch(0.0, 0.02, 0.001, 100.0);
            (1..100).find(|number| {
                let (window, excess) = seen(*number);
                competition.on_round(&round, &View { now: ms(*number), window, excess, ..view });
                competition.drain_window().is_some()
            })
        };
        let view = View { in_crowd: false, ..view(0.04, 1.0, 0.02) };
        assert_eq!(rounds(view, &|_| (100.0, 0.02)), Some(51), "two seconds");
        assert_eq!(rounds(View { noisy: true, ..view }, &|_| (100.0, 0.02)), Some(5), "all of it may be noise");
        let noise = View { is_noise: true, ..view };
        let in_vain = |number: u32| (if number > 9 { 40.0 } else { 100.0 }, 0.02);
        assert_eq!(rounds(noise, &in_vain), Some(10), "yielded in vain to what may be noise");
        assert_eq!(rounds(view, &in_vain), Some(51), "and to what isn't");
        let helps =
            |number: u32| if number > 9 { (100.0 - 4.0 * f64::from(number.min(24) - 9), 0.002) } else { (100.0, 0.02) };
        assert_eq!(rounds(noise, &helps), Some(51), "what was given up took the queue away");
        assert_eq!(
            rounds(noise, &|number| (in_vain(number).0 / 10.0, 0.02)),
            Some(51),
            "a small flow may be one of many"
        );
    }

    #[test]
    fn a_drain_because_of_a_longer_path_isnt_the_first() {
        let is_first_after = |after_rise| {
            let mut competition = competition();
            competition.begin_drain(&view(0.04, 1.0, 0.0), after_rise);
            competition.is_first
        };
        assert_eq!([true, false].map(is_first_after), [true, false]);
    }

    #[test]
    fn noise_in_the_queue_leaves_it_empty() {
        let is_empty = |is_noise| {
            let competition = Competition { mean: 0.0202, ..competition() };
            competition.is_empty(&View { is_noise, ..view(0.04, 1.0, 0.02) })
        };
        assert_eq!([true, false].map(is_empty), [true, false]);
    }

    #[test]
    fn where_there_is_noise_it_takes_more_drains_to_find_others() {
        let drains = |is_noise| {
            let mut competition = competition();
            (1..20).find(|_| {
                competition.drain = Some(ended(0.02, 0.02, 0.015, 25.0));
                competition.remained = 0.0;
                let view = View { is_noise, ..view(0.04, 1.0, 0.001) };
                matches!(competition.end_drain(&view), Found::Others(..))
            })
        };
        assert_eq!([false, true].map(drains), [Some(FAILURES), Some(FAILURES_IN_NOISE)]);
    }

    #[test]
    fn who_may_be_one_of_a_crowd_drains_although_the_queue_looks_empty() {
        let round = Round { rate: 1e6, lost: 1, acked: 10, in_flight: 12_000 };
        let drain_of = |doubtful, in_crowd| {
            let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), 10.0, 0.0);
            let view = View { now: 9.0, excess: 0.0, window: 10.0, doubtful, in_crowd, ..view(0.04, 1.0, 0.0) };
            competition.on_round(&round, &view);
            assert_eq!(competition.has_drained(), competition.drain_window().is_some());
            competition.drain_window()
        };
        assert_eq!(drain_of(false, false), None, "the queue is empty");
        assert_eq!(drain_of(true, false), Some(0.95 * 10.0 * 0.5));
        assert_eq!(drain_of(true, true), Some(LEAST), "the delay of the empty path may be another");
    }

    #[test]
    fn who_cannot_drain_learns_nothing() {
        let drains = [(0.02, 0.02), (0.02, 0.02), (0.03, 0.03)];
        assert_eq!(found(16.0, &drains), Found::Others(16.0, 0.03));
        assert_eq!(found(6.0, &drains), Found::Drained(0.03), "a quarter of it is less than the fewest packets");
    }

    #[test]
    fn beside_others_a_flow_of_weight_three_grows_as_three() {
        let [one, three] = [1.0, 3.0].map(|weight| grown(weight, 10, 0.04));
        assert!(one > 10.0, "{one}");
        assert!((three - 3.0 * one).abs() < 1e-9);
    }

    #[test]
    fn beside_others_a_longer_round_trip_is_no_reason_to_grow_more_slowly() {
        let [short, long, longest] = [(20, 0.04), (5, 0.16), (1, 10.0)].map(|(rounds, rtt)| grown(1.0, rounds, rtt));
        assert!((0.8..1.25).contains(&(long / short)), "{long} {short}");
        assert_eq!(longest, 25.0, "a quarter of the window");
    }
}
