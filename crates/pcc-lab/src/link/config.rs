//! The configuration of a path.

use super::aggregation::Aggregation;
use super::capacity::Capacity;
use super::delay::Reordering;
use super::loss::Loss;
use super::policer::Policer;
use super::queue::QueueConfig;
use super::rate;
use super::schedule::Change;
use crate::stall::Stalls;
use pcc::Time;
use std::sync::Arc;
use std::time::Duration;

/// One direction of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathConfig {
    /// How fast the bottleneck lets packets through.
    pub capacity: Capacity,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// The queue before the bottleneck; without a bottleneck it has no effect.
    pub queue: QueueConfig,
    /// A limit on the rate that has no queue.
    pub policer: Option<Policer>,
    /// Random loss, before the queue.
    pub loss: Loss,
    /// The most that is randomly added to the delay of a packet; order is kept.
    pub jitter: Duration,
    /// Packets that others overtake.
    pub reordering: Option<Reordering>,
    /// Batches in which packets leave, if they do.
    pub aggregation: Option<Aggregation>,
    /// Times in which nothing comes out, and after which all comes out that was due.
    pub stalls: Option<Stalls>,
    /// What changes when, in order of time; a change that is out of order takes effect with its predecessor.
    pub schedule: Arc<[Change]>,
}

impl PathConfig {
    /// A path that does nothing but delay packets by `delay`.
    pub fn delay_only(delay: Duration) -> PathConfig {
        PathConfig {
            capacity: Capacity::Unlimited,
            delay,
            queue: QueueConfig::from(0),
            policer: None,
            loss: Loss::from(0.0),
            jitter: Duration::ZERO,
            reordering: None,
            aggregation: None,
            stalls: None,
            schedule: Arc::default(),
        }
    }

    /// How many whole bytes can pass in `from..to` in the long run: what the bottleneck or the policer lets through, if less; `None` for no
    /// limit.
    pub fn passable(&self, from: Time, to: Time) -> Option<u64> {
        let policed = self.policer.map(|policer| rate::bytes_in(policer.rate, to.since(from)) as u64);
        self.capacity(from, to).into_iter().chain(policed).min()
    }

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
