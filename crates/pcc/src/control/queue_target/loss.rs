//! Is this loss ours? An experiment tells: what doesn't change with the own rate is background.

#[cfg(test)]
mod tests;

use super::config::LossConfig;
use super::rounds::Round;
use crate::monitor::Measurement;
use crate::units::{Rate, larger, smaller};
use crate::utility::Utility;

/// An epoch has so many intervals and packets at least, or so many intervals.
const EPOCH_INTERVALS: u32 = 6;
const EPOCH_PACKETS: u64 = 150;
const LONGEST_EPOCH: u32 = 20;
/// Loss in excess of the background by so many standard deviations, too, asks for an experiment. Less loss than the background by as many shows
/// that the background is less.
const SIGNIFICANT: f64 = 2.5;
/// What differs by fewer standard deviations may differ by chance.
const BY_CHANCE: f64 = 1.5;
/// Windows of fewer packets are too small for experiments: nothing of them shows in what many flows lose together. There the cap follows
/// single losses, as a TCP's window does. In a crowd more windows are small.
const SMALL_WINDOW: f64 = 8.0;
const SMALL_WINDOW_IN_CROWD: f64 = 12.0;
/// It falls to this part of the window, and grows in a round trip by this part of the window's square, in packets: so a window of any size sends
/// as many packets, some fifty, until it has what it had before. It grows by twice as much after so many round trips without a fall, and so on, up
/// to so many packets; in a crowd to fewer, for what many add in a round trip is lost in the next.
const DECREASE: f64 = 0.7;
const INCREASE: f64 = 0.006;
const INCREASE_ROUNDS: f64 = 8.0;
const MOST_INCREASE: f64 = 0.5;
const MOST_INCREASE_IN_CROWD: f64 = 0.2;
/// It takes a few dozen round trips without loss until such a cap allows more than so many packets: who has fewer may be one of many.
pub(super) const CROWDED: f64 = 24.0;
/// For so many intervals and round trips such a cap is new.
const NEW_CAP: u32 = 64;
/// Loss of this part in a drain, in which all of a crowd send little, tells that too many packets are there nevertheless.
const HEAVY_IN_DRAIN: f64 = 0.05;
/// How many times as much as by chance the losses of the path vary, at most, and the gain with which that follows what epochs show.
const MOST_DISPERSION: f64 = 20.0;
const DISPERSION_GAIN: f64 = 0.25;
/// A window of so many packets is cut so many times before half of it is tried, since bursts of the sender lose more at one time than at
/// another. A smaller one may be one of many, and waits for them at once.
const LARGE: f64 = 64.0;
const CUTS: u32 = 2;
/// The background may lose so many packets less than it should before the next one counts.
const CREDIT: f64 = 2.0;
/// Loss of this part is judged after two intervals, and cut again and again: it is never taken for the background.
const HEAVY: f64 = 0.3;
/// An experiment begins anew if this part more is lost than when it began, and more than by chance.
const MORE: f64 = 0.03;
/// The gain with which the background follows an epoch's loss; and one for less loss than by chance.
const BACKGROUND_GAIN: f64 = 0.1;
const LESS_LOSS_GAIN: f64 = 0.5;
/// What arrived before half of the window was tried, less a reserve, is the cap if the loss was ours.
const RESERVE: f64 = 0.9;
/// A window of more than this part of the cap is at it.
const AT_CAP: f64 = 0.98;
/// A window that has just grown fast is far too large if this part is lost beyond the background in a round trip of so many packets at least.
const GREW_TOO_FAST: f64 = 0.05;
const FEWEST_PACKETS: u32 = 20;
/// After so many round trips without a queue and without loss the path has room for more than a cap allows. At one that fits, something is lost by then.
const CAP_ROUNDS: u32 = 64;
/// It takes twice as many, and so on, up to so many, if such a cap was lifted before at about as many packets, or at more: behind a policer the tokens that
/// gather below its rate let a window grow for a while.
const MOST_CAP_ROUNDS: u32 = 16 * CAP_ROUNDS;
const SAME_CAP: f64 = 1.3;
/// It takes fewer of them if a delay of several round trips has gone since the cap was set: it was for a queue that isn't there any more.
const CAP_ROUNDS_WITHOUT_QUEUE: u32 = 8;
/// A cap on the window grows by this part in each interval, by this many packets at least; and by once more of that for each time that it gets
/// this many intervals older.
const CAP_GROWTH: f64 = 0.002;
const LEAST_CAP_GROWTH: f64 = 0.03;
const CAP_AGES: f64 = 64.0;
/// When loss was found to be ours the queue has room for this part of what it had, and for so much more of what is wanted in each interval
/// since: flows of one kind come to have the same (Chiu and Jain, 1989). It has room for this part at least.
const ROOM_DECREASE: f64 = 0.7;
const ROOM_INCREASE: f64 = 0.003;
const LEAST_ROOM: f64 = 1.0 / 16.0;

/// Intervals at one level.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    intervals: u32,
    sent: u64,
    lost: u64,
    /// The interval that lost most: its packets, and those that were lost.
    worst: (u64, u64),
    /// Sums over intervals: the square of the packets lost over those that were sent, and the mean rate and round-trip time.
    squares: f64,
    rate: f64,
    rtt: f64,
}

impl Epoch {
    fn add(&mut self, result: &Measurement) {
        self.intervals += 1;
        self.sent += result.packets_sent;
        self.lost += result.packets_lost;
        if result.packets_lost > self.worst.1 {
            self.worst = (result.packets_sent, result.packets_lost);
        }
        let lost = result.packets_lost as f64;
        self.squares += lost * lost / result.packets_sent.max(1) as f64;
        self.rate += result.rate.bits_per_sec();
        self.rtt += result.rtt;
    }

    fn is_complete(&self) -> bool {
        if self.lost as f64 > HEAVY * self.sent as f64 && self.sent >= EPOCH_PACKETS / 4 {
            return self.intervals >= 2;
        }
        (self.intervals >= EPOCH_INTERVALS && self.sent >= EPOCH_PACKETS) || self.intervals >= LONGEST_EPOCH
    }

    /// Packets and loss, without the worst interval if `without_worst`: a pause of the path loses many packets at once.
    fn loss(&self, without_worst: bool) -> (f64, f64) {
        let (sent, lost) = if without_worst { self.worst } else { (0, 0) };
        let (sent, lost) = ((self.sent - sent).max(1) as f64, (self.lost - lost) as f64);
        (sent, lost / sent)
    }

    /// The index of dispersion: how many times as much the losses vary from interval to interval as if each packet were lost by itself. One that
    /// comes in bursts varies more.
    fn dispersion(&self) -> Option<f64> {
        let (sent, lost) = (self.sent as f64, self.lost as f64);
        let varies = lost * (1.0 - lost / sent) * f64::from(self.intervals.saturating_sub(1)) / sent;
        (varies > 0.0).then(|| (self.squares - lost * lost / sent) / varies)
    }

    /// What the epoch was worth.
    fn utility(&self, utility: &dyn Utility, last: &Measurement, loss: f64) -> f64 {
        let mut mean = *last;
        let intervals = f64::from(self.intervals.max(1));
        (mean.rate, mean.rtt, mean.loss) = (Rate::from_bits_per_sec(self.rate / intervals), self.rtt / intervals, loss);
        utility.utility(&mean)
    }
}

/// What an epoch showed.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// The packets that were sent.
    sent: f64,
    /// The part of them that was lost, in 0..=1.
    loss: f64,
    /// What arrived, in bits/s.
    arrived: f64,
    utility: f64,
}

/// The epoch before an experiment.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// The window in packets.
    window: f64,
    loss: f64,
    sent: f64,
    arrived: f64,
    utility: f64,
    /// How often the window was cut since.
    cuts: u32,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Watching,
    /// The window was cut by the excess.
    Cut(Before),
    /// That didn't help: a deep test comes when all flows of the kind can do it together.
    Waiting(Before),
    /// The window was halved.
    Halved(Before),
}

/// The background loss of the path, and a cap on the window where loss was found to be ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    config: LossConfig,
    pub background: f64,
    pub cap: f64,
    /// The part of the packets that the utility wants in the queue for which it has room, in 0..=1.
    pub room: f64,
    state: State,
    epoch: Epoch,
    /// Intervals since the cap was set.
    age: u32,
    /// The index of dispersion of what the path loses.
    dispersion: f64,
    /// Packets lost in excess of the background, while the window is small, and round trips since they last lowered the cap.
    debt: f64,
    rounds: u32,
    /// Round trips up to now in which the path had room for more than the cap, how many of them lift it, and the one that they lifted last.
    had_room: u32,
    cap_rounds: u32,
    lifted: f64,
    /// Whether a delay of several round trips has gone since the cap was set.
    queue_has_gone: bool,
}

impl Loss {
    pub fn new(config: LossConfig) -> Loss {
        Loss {
            config,
            background: 0.0,
            cap: f64::INFINITY,
            room: 1.0,
            state: State::Watching,
            epoch: Epoch::default(),
            age: 0,
            dispersion: 1.0,
            debt: 0.0,
            rounds: 0,
            had_room: 0,
            cap_rounds: CAP_ROUNDS,
            lifted: 0.0,
            queue_has_gone: false,
        }
    }

    /// Whether an experiment is under way.
    pub fn is_testing(&self) -> bool {
        matches!(self.state, State::Cut(_) | State::Halved(_))
    }

    /// Begins the deep test if one is waited for. Returns the window to jump to.
    pub fn begin_deep_test(&mut self, least: f64) -> Option<f64> {
        let State::Waiting(before) = self.state else { return None };
        self.state = State::Halved(before);
        self.epoch = Epoch::default();
        // Half of what the cuts have left: half of a window that was far too large may still be too large.
        Some(self.limit((before.window.min(self.cap) / 2.0).max(least)))
    }

    /// Whether a window that has just grown fast is far too large.
    pub fn grew_too_fast(&self, round: &Round) -> bool {
        round.packets() >= FEWEST_PACKETS && round.loss() > self.background + GREW_TOO_FAST
    }

    /// Takes in a round trip: whether a window at the cap filled it without a queue and without loss, so that the path `has_room`, and whether a delay
    /// of several round trips has gone.
    pub fn on_round(&mut self, has_room: bool, queue_has_gone: bool) {
        if self.cap.is_infinite() {
            (self.had_room, self.queue_has_gone) = (0, false);
            return;
        }
        self.queue_has_gone |= queue_has_gone;
        self.had_room = if has_room { self.had_room + 1 } else { 0 };
        let enough = if self.queue_has_gone { CAP_ROUNDS_WITHOUT_QUEUE } else { self.cap_rounds };
        if self.had_room >= enough {
            if !self.queue_has_gone {
                let again = self.cap < SAME_CAP * self.lifted;
                self.cap_rounds = if again { (2 * self.cap_rounds).min(MOST_CAP_ROUNDS) } else { CAP_ROUNDS };
                self.lifted = self.cap;
            }
            self.cap = f64::INFINITY;
        }
    }

    /// What was seen belongs to another level.
    pub fn start_over(&mut self) {
        self.epoch = Epoch::default();
        self.state = State::Watching;
    }

    /// Takes in a round trip with a small window, of `packets`, in a crowd or not. Returns whether the cap was lowered.
    pub fn on_small_round(&mut self, round: &Round, packets: f64, in_crowd: bool, least: f64) -> bool {
        self.gain_room();
        let lowered = self.lower_cap(round, packets, self.background, least);
        if !lowered {
            self.rounds = self.rounds.saturating_add(1);
            let faster = 1.0 + f64::from(self.rounds) / INCREASE_ROUNDS;
            let most = if in_crowd { MOST_INCREASE_IN_CROWD } else { MOST_INCREASE };
            self.cap += smaller(INCREASE * packets * packets * faster, most);
        }
        self.start_over();
        lowered
    }

    /// Takes in a round trip of a drain that a window of `packets` waits for. Returns whether the cap was lowered.
    pub fn on_drain_round(&mut self, round: &Round, packets: f64, least: f64) -> bool {
        let lowered = self.is_doubtful() && self.lower_cap(round, packets, self.background + HEAVY_IN_DRAIN, least);
        if lowered {
            self.start_over();
        }
        lowered
    }

    /// Lowers the cap once a packet more was lost than the part `tolerated`.
    fn lower_cap(&mut self, round: &Round, packets: f64, tolerated: f64, least: f64) -> bool {
        let (lost, acked) = (f64::from(round.lost), f64::from(round.acked));
        self.debt = (self.debt + lost - tolerated * (lost + acked)).max(-CREDIT);
        if self.debt < 1.0 {
            return false;
        }
        (self.debt, self.rounds) = (0.0, 0);
        self.limit((packets * DECREASE).max(least));
        true
    }

    /// Whether loss has held the window small of late.
    pub fn is_crowded(&self) -> bool {
        self.cap < CROWDED
    }

    /// Whether it has only just done so, or a test is waited for, so that nobody knows whose loss it is: who came while the queue of a crowd was full
    /// takes that for the empty path.
    pub fn is_doubtful(&self) -> bool {
        self.is_crowded() && (self.age < NEW_CAP || matches!(self.state, State::Waiting(_)))
    }

    /// Whether a window is too small for experiments.
    pub fn is_small(packets: f64, in_crowd: bool) -> bool {
        packets < if in_crowd { SMALL_WINDOW_IN_CROWD } else { SMALL_WINDOW }
    }

    /// Whether a window is so large that it isn't one of many.
    pub fn is_large(packets: f64) -> bool {
        packets >= LARGE
    }

    /// By how much losses of a window vary, as a factor on the standard deviation that they would have one by one. A window that isn't large may be one
    /// of many, whose losses are theirs together.
    fn spread(&self, window: f64) -> f64 {
        if Loss::is_large(window) { libm::sqrt(self.dispersion) } else { 1.0 }
    }

    /// By how much the loss of `sent` packets has to differ from `expected` so that it isn't by chance.
    fn significant(&self, expected: f64, sent: f64, window: f64) -> f64 {
        let deviation = libm::sqrt(expected.max(1.0 / sent) * (1.0 - expected) / sent);
        SIGNIFICANT * self.spread(window) * deviation
    }

    /// By how much loss differs by chance from what it was before.
    fn by_chance(&self, before: &Before, found: &Outcome) -> f64 {
        let deviation = libm::sqrt(before.loss * (1.0 - before.loss) * (1.0 / found.sent + 1.0 / before.sent));
        BY_CHANCE * self.spread(before.window) * deviation
    }

    /// Whether loss fell by more than chance makes it fall.
    fn fell(&self, before: &Before, found: &Outcome) -> bool {
        before.loss - found.loss > self.by_chance(before, found)
    }

    /// Whether as much arrives as before the window was cut by the excess, and not by chance: a path that loses the packets itself would have let that
    /// much less arrive.
    fn costs_nothing(&self, before: &Before, found: &Outcome) -> bool {
        let excess = before.loss - self.background;
        let beyond = found.arrived / larger(before.arrived, 1.0) - (1.0 - excess);
        beyond > excess / 2.0 && beyond * (1.0 - before.loss) > self.by_chance(before, found)
    }

    /// Takes the result of an interval that was sent with `window` packets while a queue stood or not. Returns the window to jump to.
    pub fn on_interval(
        &mut self,
        result: &Measurement,
        utility: &dyn Utility,
        window: f64,
        queued: bool,
        least: f64,
    ) -> Option<f64> {
        self.age = self.age.saturating_add(1);
        self.gain_room();
        if self.cap.is_finite() && matches!(self.state, State::Watching) {
            self.cap += larger(CAP_GROWTH * self.cap, LEAST_CAP_GROWTH) * (1.0 + f64::from(self.age) / CAP_AGES);
        }
        self.epoch.add(result);
        if !self.epoch.is_complete() {
            return None;
        }
        let epoch = core::mem::take(&mut self.epoch);
        let (sent, loss) = epoch.loss(!queued);
        if let Some(dispersion) = epoch.dispersion() {
            let dispersion = dispersion.clamp(1.0, MOST_DISPERSION);
            self.dispersion += DISPERSION_GAIN * (dispersion - self.dispersion);
        }
        let arrived = (1.0 - loss) * epoch.rate / f64::from(epoch.intervals);
        let found = Outcome { sent, loss, arrived, utility: epoch.utility(utility, result, loss) };
        match self.state {
            State::Watching => self.watch(&found, window, least),
            State::Cut(before) => self.judge_cut(&before, &found, window, least),
            State::Waiting(before) if self.has_grown(&before, &found) => Some(self.begin_cut(&found, window, least)),
            State::Waiting(_) => None,
            State::Halved(before) => self.judge_half(&before, &found, least),
        }
    }

    /// More loss than the background, and than chance makes it, begins an experiment. Returns the window to jump to.
    fn watch(&mut self, found: &Outcome, window: f64, least: f64) -> Option<f64> {
        let &Outcome { sent, loss, .. } = found;
        let significant = self.significant(self.background, sent, window);
        let excess = loss - self.background;
        if excess > self.config.excess + significant {
            return Some(self.begin_cut(found, window, least));
        }
        // A little loss is background, unless the cap is where loss was found to be ours; what is less than that, and not by chance, shows at once.
        let gain = match excess {
            less if less < -significant => LESS_LOSS_GAIN,
            more if more > 0.0 && window > AT_CAP * self.cap => 0.0,
            _ => BACKGROUND_GAIN,
        };
        // Few packets tell little.
        let gain = gain * smaller(1.0, sent / EPOCH_PACKETS as f64);
        self.background = (self.background + gain * excess).min(self.config.highest);
        None
    }

    /// Cuts the window by the excess. Returns what that leaves.
    fn begin_cut(&mut self, found: &Outcome, window: f64, least: f64) -> f64 {
        let &Outcome { sent, loss, arrived, utility } = found;
        self.state = State::Cut(Before { window, loss, sent, arrived, utility, cuts: 1 });
        self.limit((window * (1.0 - (loss - self.background))).max(least))
    }

    /// Whether more is lost than before, so that this was only the beginning: a policer, say, lets a burst pass first.
    fn has_grown(&self, before: &Before, found: &Outcome) -> bool {
        found.loss - before.loss > MORE + self.significant(before.loss, found.sent, before.window)
    }

    /// The window was cut by the excess: did that help? If not, it is cut once more, or half of it is to be tried. While cuts cost nothing, more follow.
    fn judge_cut(&mut self, before: &Before, found: &Outcome, window: f64, least: f64) -> Option<f64> {
        let excess = before.loss - self.background;
        let helped = before.loss - found.loss > self.config.response * excess || found.utility > before.utility;
        if helped && self.fell(before, found) {
            self.keep(found.loss);
            return None;
        }
        let is_left = found.loss - self.background > self.config.excess;
        if self.has_grown(before, found) || (is_left && self.costs_nothing(before, found)) {
            return Some(self.begin_cut(found, window, least));
        }
        let is_heavy = found.loss > HEAVY;
        if is_heavy || (Loss::is_large(before.window) && before.cuts < CUTS) {
            let excess = if is_heavy { found.loss - self.background } else { excess };
            self.state = State::Cut(Before { cuts: before.cuts.saturating_add(1), ..*before });
            return Some(self.limit((window * (1.0 - excess)).max(least)));
        }
        self.state = State::Waiting(*before);
        None
    }

    /// Half of the window was tried: the loss is ours if that helped, else it is background.
    fn judge_half(&mut self, before: &Before, found: &Outcome, least: f64) -> Option<f64> {
        self.state = State::Watching;
        let (loss, excess) = (found.loss, before.loss - self.background);
        let helped = loss < before.loss - self.config.response * excess;
        if helped && (!Loss::is_large(before.window) || self.fell(before, found)) {
            self.keep(loss);
            return Some(self.limit((RESERVE * (before.window * (1.0 - excess))).max(least)));
        }
        if loss > self.config.highest {
            self.keep(loss);
            return None;
        }
        self.background = before.loss.min(loss.max(self.background)).min(self.config.highest);
        (self.cap, self.age) = (f64::INFINITY, 0);
        Some(before.window)
    }

    /// The loss was ours: the cap stays.
    fn keep(&mut self, loss: f64) {
        self.state = State::Watching;
        self.background = self.background.min(loss);
        self.room = (self.room * ROOM_DECREASE).max(LEAST_ROOM);
    }

    fn gain_room(&mut self) {
        self.room = (self.room + ROOM_INCREASE).min(1.0);
    }

    fn limit(&mut self, window: f64) -> f64 {
        (self.cap, self.age, self.had_room) = (window, 0, 0);
        window
    }
}
