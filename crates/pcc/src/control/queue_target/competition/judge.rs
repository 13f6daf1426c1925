//! A drain has ended: is what it left others' queue, one that the whole kind keeps, noise, or a longer path?

use super::super::drain::Drain;
use super::super::view::{Found, View};
use super::super::window::LEAST;
use super::{Competition, MOST_SWINGS, SMALL_WINDOW, SWINGS};
use crate::units::{larger, smaller};

/// This many drains in a row that don't empty the queue mean others: one that comes new may drain when its kind doesn't.
pub(super) const FAILURES: u32 = 3;
/// It takes fewer of them for a flow that had given up most of its window in vain.
pub(super) const FAILURES_IN_VAIN: u32 = 2;
/// It takes more of them where some of the delay is noise, which doesn't drain either.
pub(super) const FAILURES_IN_NOISE: u32 = 5;
/// After this many, what remains is background.
const FAILURES_TO_BACKGROUND: u32 = 2;
/// More than this many times what remained of the last one that failed, and a packet time, is a growing queue of others, whatever else drained.
const GREW: f64 = 1.1;
/// A drain has emptied the queue if no more than this part of it remains.
const EMPTIED: f64 = 0.3;
/// It wasn't the drain that did so if no more than this part of the queue was there when it began: others let their queue go now and then.
const GONE: f64 = 0.6;
/// To a small window that drained to more than two packets it takes so many to mean others, and to any small one so many packets without a loss: a crowd
/// that fills a queue loses some all the time.
pub(super) const FAILURES_OF_SMALL: u32 = 4;
pub(super) const UNHARMED_PACKETS: u32 = 64;
/// The window goes back to what it was when the queue was nearly empty, to this many times what it is at most: the path may have become another
/// one since.
const MOST_BACK: f64 = 8.0;
/// A path that loses more than this part may have a full queue, from which no drain takes anything away either.
const LOSSY: f64 = 0.05;
/// A drain that took nothing away although it was deep is believed for this many drains.
pub(super) const BELIEVED: u32 = 7;
/// Whose share of the path is more than this in a drain is alone, or drained with its kind. Whose share is less than the second one in drain after drain isn't.
const ALONE: f64 = 0.8;
const SHARED: f64 = 0.5;

impl Competition {
    /// A drain has ended: whose is what remains?
    pub(super) fn end_drain(&mut self, view: &View) -> Found {
        let Some(drain) = self.drain.take() else { return Found::Nothing };
        let (least, deviation) = drain.least();
        if drain.plan.after_rise {
            return Found::Longer { remains: least, bandwidth: drain.plan.bandwidth };
        }
        let share = self.share.on_drained(view.packet_time * view.bandwidth, view.packet_time);
        self.judge_noise(&drain);
        // Where all of it may be noise, so may the difference between its round trips.
        let mean = if view.noise > drain.plan.before { drain.mean() } else { 0.0 };
        let remains = larger(least + deviation, mean);
        let [at_first, before, left] =
            [drain.plan.at_first, drain.plan.before, least].map(|excess| excess - view.background_delay);
        if self.beside_others {
            let gone = least <= larger(EMPTIED * drain.plan.before, view.packet_time);
            if gone || share.is_some_and(|share| share > ALONE) {
                if at_first > GONE * before {
                    self.on_emptied(view.now);
                }
                return Found::Drained { remains };
            }
            // What others keep may be more or less by now. The window stays.
            (self.emptied, self.remained) = (false, least);
            return Found::Background { remains, window: LEAST };
        }
        if self.shares_path(least, view) {
            self.beside_others = true;
            // It hasn't just given way to them: what it had when the queue was empty may be of long ago.
            return Found::Others { remains, window: LEAST };
        }
        let is_small = self.window_when_empty < SMALL_WINDOW;
        let is_smallest = view.in_crowd && drain.is_smallest();
        if is_small && self.has_others_beside_small(&drain, is_smallest, view) {
            self.beside_others = true;
            return Found::Others { remains, window: self.window_before(view) };
        }
        let grew = self.failures >= FAILURES_TO_BACKGROUND && least > GREW * self.remained + view.packet_time;
        if !grew && left <= (EMPTIED * before).max(view.packet_time) {
            if at_first > GONE * before {
                self.on_emptied(view.now);
            }
            return Found::Drained { remains };
        }
        if is_small && is_smallest {
            return Found::Drained { remains };
        }
        let stayed = grew || left > (self.config.others * before).max(view.packet_time);
        let others = stayed && view.may_be_of_others(least);
        // What no drain takes anything away from isn't ours, and neither is it others' if it is short: the path is longer than it was.
        let is_longer = stayed && drain.took_nothing() && view.background_loss < LOSSY;
        self.judge_others(&drain, others, others || is_longer, remains, view)
    }

    /// Whether drain after drain has shown that this flow has a small share of a path of which `least` seconds of delay remain, which it takes for
    /// background.
    fn shares_path(&self, least: f64, view: &View) -> bool {
        let background = view.background_delay > view.packet_time && !view.background_is_noise;
        let may_be = background && !view.in_crowd && view.may_be_of_others(least);
        let small = self.share.settled().is_some_and(|share| share < SHARED);
        may_be && small && self.window_when_empty >= SMALL_WINDOW
    }

    /// Only a deep drain can tell that there is nothing but noise, and any that took something away tells the opposite.
    fn judge_noise(&mut self, drain: &Drain) {
        let took_nothing = drain.took_nothing();
        let nothing = took_nothing && self.window_when_empty >= SMALL_WINDOW;
        self.only_noise = nothing && (self.only_noise || drain.plan.is_deep);
        if !took_nothing {
            self.small_failures = 0;
        }
        if !nothing {
            self.until_deep = 0;
        } else if drain.plan.is_deep {
            self.until_deep = BELIEVED;
        }
    }

    /// A drain has emptied the queue at `now`. Others, too, let their queue go now and then, and that may be while we drain: it takes two in a row.
    fn on_emptied(&mut self, now: f64) {
        self.failures = 0;
        if self.swings >= self.swings_to_drain {
            (self.swings, self.swings_to_drain) = (0, (2 * self.swings_to_drain).min(MOST_SWINGS));
        }
        let once_more = core::mem::replace(&mut self.emptied, true);
        if !self.beside_others || once_more {
            (self.beside_others, self.empty) = (false, now);
        }
    }

    /// Whether a small window has others beside it. What a drain takes out of it doesn't show, but when its kind drains, that does: it is others if drain
    /// after drain takes nothing away. One that `is_smallest`, of two packets, counts whatever it took away.
    fn has_others_beside_small(&mut self, drain: &Drain, is_smallest: bool, view: &View) -> bool {
        let least = drain.least().0;
        let is_queue = view.may_be_of_others(least) && least > view.noise && view.background_loss < LOSSY;
        let counts = is_smallest || (is_queue && drain.took_nothing());
        if !counts {
            return false;
        }
        self.small_failures = self.small_failures.saturating_add(1);
        let enough = if is_smallest { FAILURES } else { FAILURES_OF_SMALL };
        self.small_failures >= enough && self.unharmed >= UNHARMED_PACKETS
    }

    /// A drain has left something that may be a queue of `others`, or is `not_ours` for another reason.
    fn judge_others(&mut self, drain: &Drain, others: bool, not_ours: bool, remains: f64, view: &View) -> Found {
        self.emptied = false;
        if not_ours {
            self.swings_to_drain = SWINGS;
            (self.failures, self.remained) = (self.failures.saturating_add(1), drain.least().0);
        } else {
            self.failures = 0;
        }
        let enough = match drain.plan.in_vain {
            _ if view.background_is_noise => FAILURES_IN_NOISE,
            true => FAILURES_IN_VAIN,
            false => FAILURES,
        };
        let window = self.window_before(view);
        let tells = self.failures >= enough && self.window_when_empty >= SMALL_WINDOW;
        if others && tells {
            self.beside_others = true;
            return Found::Others { remains, window };
        }
        let known = view.background_delay > view.packet_time && self.failures > 0;
        if known || self.failures >= FAILURES_TO_BACKGROUND {
            Found::Background { remains, window }
        } else {
            Found::Drained { remains }
        }
    }

    /// The window to go back to if the queue isn't ours.
    fn window_before(&self, view: &View) -> f64 {
        smaller(self.window_when_empty, MOST_BACK * view.window)
    }
}
