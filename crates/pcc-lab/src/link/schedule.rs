//! What changes on a path, and when.

use super::PathConfig;
use pcc::{Rate, Time};
use std::sync::Arc;
use std::time::Duration;

/// A change of a path. What is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// When it takes effect: before packets that enter then, after those that have left the bottleneck by then.
    pub at: Time,
    /// The rate from then on, whatever the capacity was before. What the packet in service still lacks goes at this rate.
    pub rate: Option<Rate>,
    /// The propagation delay of packets that leave the bottleneck later; they overtake none that left before.
    pub delay: Option<Duration>,
    /// The probability with which each packet is lost independently.
    pub loss: Option<f64>,
}

/// The changes that are still to come.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    changes: Arc<[Change]>,
    next: usize,
    /// When the last one took effect.
    last: Time,
}

impl Schedule {
    pub(super) fn new(changes: Arc<[Change]>) -> Schedule {
        Schedule { changes, next: 0, last: Time::ZERO }
    }

    /// When the next change takes effect.
    pub(super) fn next(&self) -> Option<Time> {
        self.changes.get(self.next).map(|change| change.at.max(self.last))
    }

    /// Takes the next change if it is due at or before `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Change> {
        let at = self.next().filter(|at| *at <= now)?;
        let change = *self.changes.get(self.next)?;
        self.next += 1;
        self.last = at;
        Some(Change { at, ..change })
    }
}

impl PathConfig {
    /// How many whole bytes the bottleneck can let through in `from..to`, with all changes of its rate; `None` for no limit.
    ///
    /// Neither loss nor the policer counts.
    pub fn capacity(&self, from: Time, to: Time) -> Option<u64> {
        let (mut capacity, mut since, mut bytes) = (self.capacity.clone(), from, 0.0);
        for change in self.schedule.iter().take_while(|change| change.at < to) {
            let Some(rate) = change.rate else { continue };
            if change.at > since {
                bytes += capacity.between(since, change.at)?;
                since = change.at;
            }
            capacity = rate.into();
        }
        Some((bytes + capacity.between(since, to)?) as u64)
    }
}
