//! The elements in a row.

use super::aggregation::Aggregation;
use super::bottleneck::Bottleneck;
use super::config::PathConfig;
use super::delay::DelayLine;
use super::ecn::Codepoint;
use super::loss::Losses;
use super::packet::Packet;
use super::policer::TokenBucket;
use super::schedule::{Change, Schedule};
use crate::stall::Stalling;
use pcc::Time;
use std::time::Duration;

/// What became of the packets, in packets: `enqueued` is `lost + policed + dropped + delivered` and those still on the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered.
    pub enqueued: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped by the policer.
    pub policed: u64,
    /// Packets dropped by the queue, because it was full or, with CoDel or a threshold, to keep it short.
    pub dropped: u64,
    /// Packets handed out by [`Path::poll`].
    pub delivered: u64,
    /// Bytes of the delivered packets.
    pub delivered_bytes: u64,
    /// Delivered packets that carried a mark, of this path's queue or of one before.
    pub marked: u64,
}

impl std::ops::Sub for Counters {
    type Output = Counters;

    /// What was counted since `earlier`.
    fn sub(self, earlier: Counters) -> Counters {
        Counters {
            enqueued: self.enqueued - earlier.enqueued,
            lost: self.lost - earlier.lost,
            policed: self.policed - earlier.policed,
            dropped: self.dropped - earlier.dropped,
            delivered: self.delivered - earlier.delivered,
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            marked: self.marked - earlier.marked,
        }
    }
}

/// A packet that has come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<P> {
    /// When it was due, however late [`Path::poll`] asked.
    pub due: Time,
    /// How long it waited in the queue before the bottleneck began to serve it.
    pub queued: Duration,
    /// The payload that [`Path::enqueue`] was given.
    pub payload: P,
    /// Its size on the wire in bytes, with all headers.
    pub bytes: u64,
    /// Whether it was marked.
    pub ecn: Codepoint,
}

/// One direction of a path, with the packets on it.
#[derive(Clone, Debug)]
pub struct Path<P> {
    loss: Losses,
    policer: Option<TokenBucket>,
    bottleneck: Bottleneck<P>,
    line: DelayLine<P>,
    aggregation: Option<Aggregation>,
    stalling: Option<Box<Stalling>>,
    schedule: Schedule,
    now: Time,
    counters: Counters,
}

impl<P> Path<P> {
    /// An empty path; its random choices come from `seed`.
    pub fn new(config: &PathConfig, seed: u64) -> Path<P> {
        // One generator for each element: a change of one does not change what another draws.
        let mut seeds = fastrand::Rng::with_seed(seed);
        Path {
            loss: Losses::new(config.loss, seeds.u64(..)),
            policer: config.policer.map(TokenBucket::new),
            bottleneck: Bottleneck::new(&config.capacity, config.queue),
            line: DelayLine::new(config.delay, config.jitter, config.reordering, seeds.u64(..), seeds.u64(..)),
            aggregation: config.aggregation,
            stalling: config.stalls.clone().map(|stalls| Box::new(Stalling::new(stalls, seeds.fork()))),
            schedule: Schedule::new(config.schedule.clone()),
            now: Time::ZERO,
            counters: Counters::default(),
        }
    }

    /// A packet of `bytes` bytes on the wire that can't be marked enters at `now`. Fair queueing tells packets apart by `flow`.
    ///
    /// A packet that leaves the bottleneck at the very same time has freed its place before.
    pub fn enqueue(&mut self, now: Time, flow: u32, payload: P, bytes: u64) {
        self.enqueue_ecn(now, flow, payload, bytes, Codepoint::NotEct);
    }

    /// The same for a packet whose ECN field says `ecn`.
    pub fn enqueue_ecn(&mut self, now: Time, flow: u32, payload: P, bytes: u64, ecn: Codepoint) {
        self.advance(now);
        self.counters.enqueued += 1;
        if self.loss.next_is_lost() {
            self.counters.lost += 1;
        } else if self.policer.as_mut().is_some_and(|policer| !policer.conforms(self.now, bytes)) {
            self.counters.policed += 1;
        } else {
            let packet = Packet { payload, bytes, flow, ecn, entered: self.now, began: self.now };
            if self.bottleneck.is_there() {
                self.bottleneck.offer(self.now, packet);
            } else {
                self.line.push(self.now, packet);
            }
        }
    }

    /// When [`Path::poll`] should be called next, `None` if the path is empty.
    ///
    /// Nothing is due before; that something is due then is certain only once it has left the bottleneck.
    pub fn next_event(&self) -> Option<Time> {
        let inside = self.bottleneck.next_event().map(|at| self.line.earliest(at));
        let next = inside.into_iter().chain(self.line.next_due()).min().map(|due| self.released(due))?;
        // The change may let packets out earlier than it seems now.
        let change = inside.and(self.schedule.next());
        Some(change.map_or(next, |change| next.min(change)))
    }

    /// Takes the next packet that is due at or before `now`, in the order of delivery.
    pub fn poll(&mut self, now: Time) -> Option<Delivered<P>> {
        self.advance(now);
        let due = self.line.next_due().map(|due| self.released(due)).filter(|due| *due <= self.now)?;
        let Packet { payload, bytes, ecn, entered, began, .. } = self.line.pop()?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += bytes;
        self.counters.marked += u64::from(ecn == Codepoint::Ce);
        Some(Delivered { due, queued: began.since(entered), payload, bytes, ecn })
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> Counters {
        Counters { dropped: self.bottleneck.dropped(), ..self.counters }
    }

    /// Bytes in the queue, the packet in service among them, as of the last call that passed a time.
    pub fn queued_bytes(&self) -> u64 {
        self.bottleneck.bytes()
    }

    /// Packets in the queue, the one in service among them, as of the last call that passed a time.
    #[cfg(test)]
    pub(super) fn queued_packets(&self) -> usize {
        self.bottleneck.len()
    }

    /// The number of packets on the path: in the queue, in service and in propagation.
    pub fn in_flight(&self) -> usize {
        self.line.len() + self.bottleneck.len()
    }

    fn released(&self, due: Time) -> Time {
        let due = self.aggregated(due);
        self.stalling.as_ref().map_or(due, |stalling| stalling.release(due))
    }

    fn aggregated(&self, due: Time) -> Time {
        self.aggregation.map_or(due, |aggregation| aggregation.release(due))
    }

    /// Lives through what happens until `now`. A clock that steps back stands still.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        while let Some(change) = self.schedule.pop(self.now) {
            self.drain(change.at);
            self.apply(change);
        }
        self.drain(self.now);
        // Stalls are drawn for one packet after the other, so that they don't depend on when the driver asks.
        if self.stalling.is_some()
            && let Some(due) = self.line.next_due().map(|due| self.aggregated(due)).filter(|due| *due <= self.now)
        {
            self.stalling.iter_mut().for_each(|stalling| stalling.advance(due));
        }
    }

    /// Moves what has left the bottleneck by `until` into the line.
    fn drain(&mut self, until: Time) {
        while let Some((ended, packet)) = self.bottleneck.pop(until) {
            self.line.push(ended, packet);
        }
    }

    fn apply(&mut self, change: Change) {
        if let Some(rate) = change.rate {
            self.bottleneck.set_rate(change.at, rate);
        }
        if let Some(delay) = change.delay {
            self.line.set_delay(delay);
        }
        if let Some(loss) = change.loss {
            self.loss.set(loss.into());
        }
    }
}
