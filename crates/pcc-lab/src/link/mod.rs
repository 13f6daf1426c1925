//! The path model: what one direction of a network path does to packets. Sans-IO.
//!
//! No clock, no socket, no thread: the driver passes the time in, so that a simulator in virtual time and a relay of real
//! packets run the very same path. A packet goes through one element after the other:
//!
//! ```text
//! enqueue -> random loss -> drop-tail queue -> rate -> propagation delay + jitter -> poll
//! ```
//!
//! - **Random loss** comes first, as dummynet's `plr`: a packet that is lost takes neither room in the queue nor time of the
//!   bottleneck, and the share of a full bottleneck's capacity that reaches the receiver is all of it. Loss behind the bottleneck
//!   would leave capacity x (1 - loss).
//! - **The queue** drops what does not fit whole. The packet in service counts.
//! - **The rate** is exact in the long run: the bottleneck runs in virtual time, which the driver's lateness does not touch.
//! - **Jitter** is uniform in `0..=jitter`, added to the propagation delay, and keeps the order of packets: one that drew less
//!   than its predecessor waits for it. Of packets that follow each other much closer than the jitter, most so get delays in
//!   the upper part of the range.
//!
//! Every random choice comes from the seed, and nothing depends on when or how often the driver polls.

mod delay;
mod loss;
mod queue;
mod rate;
#[cfg(test)]
mod tests;

use delay::DelayLine;
use loss::Bernoulli;
use pcc::{Rate, Time};
use queue::{DropTail, Packet};
use rate::Serialiser;
use std::time::Duration;

/// One direction of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathConfig {
    /// The rate of the bottleneck, `None` for one that takes no time.
    pub rate: Option<Rate>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Limit of the queue before the bottleneck in bytes, with the packet in service; no matter without a rate.
    pub queue: u64,
    /// Probability with which each packet is lost, in `0.0..=1.0`.
    pub loss: f64,
    /// The most that is randomly added to the delay of a packet; order is kept.
    pub jitter: Duration,
}

impl PathConfig {
    /// A path that does nothing but delay packets by `delay`.
    pub const fn delay_only(delay: Duration) -> PathConfig {
        PathConfig { rate: None, delay, queue: 0, loss: 0.0, jitter: Duration::ZERO }
    }
}

/// What became of the packets, in packets: `enqueued` is `lost + dropped + delivered` and those that are still on the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered.
    pub enqueued: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped because the queue had no room.
    pub dropped: u64,
    /// Packets handed out by [`Path::poll`].
    pub delivered: u64,
    /// Bytes of the delivered packets.
    pub delivered_bytes: u64,
}

/// Temporary.
pub struct Delivered<P> {
    /// .
    pub due: Time,
    /// .
    pub queued: Duration,
    /// .
    pub payload: P,
    /// .
    pub bytes: u64,
}
impl std::ops::Sub for Counters {
    type Output = Counters;

    /// What was counted since `earlier`.
    fn sub(self, earlier: Counters) -> Counters {
        Counters {
            enqueued: self.enqueued - earlier.enqueued,
            lost: self.lost - earlier.lost,
            dropped: self.dropped - earlier.dropped,
            delivered: self.delivered - earlier.delivered,
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
        }
    }
}

/// One direction of a path, with the packets on it.
#[derive(Clone, Debug)]
pub struct Path<P> {
    loss: Bernoulli,
    bottleneck: Option<Bottleneck<P>>,
    line: DelayLine<P>,
    now: Time,
    counters: Counters,
}

#[derive(Clone, Debug)]
struct Bottleneck<P> {
    queue: DropTail<P>,
    serialiser: Serialiser,
    /// When the packet at the front of the queue has left.
    front_ends: Time,
}

impl<P> Bottleneck<P> {
    fn offer(&mut self, now: Time, packet: Packet<P>) -> bool {
        let bytes = packet.bytes;
        let idle = self.queue.front().is_none();
        let taken = self.queue.offer(packet);
        if taken && idle {
            self.front_ends = self.serialiser.serve(now, bytes);
        }
        taken
    }

    /// Takes the next packet that has left at or before `now`, with the time when it did.
    fn pop(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        let ended = self.next_end().filter(|end| *end <= now)?;
        let packet = self.queue.pop()?;
        if let Some(next) = self.queue.front() {
            self.front_ends = self.serialiser.serve(ended, next.bytes);
        }
        Some((ended, packet))
    }

    fn next_end(&self) -> Option<Time> {
        self.queue.front().map(|_| self.front_ends)
    }
}

impl<P> Path<P> {
    /// An empty path; its random choices come from `seed`.
    pub fn new(config: &PathConfig, seed: u64) -> Path<P> {
        // One generator for each element: a change of one does not change what another draws.
        let mut seeds = fastrand::Rng::with_seed(seed);
        Path {
            loss: Bernoulli::new(config.loss, seeds.u64(..)),
            bottleneck: config.rate.map(|rate| Bottleneck {
                queue: DropTail::new(config.queue),
                serialiser: Serialiser::new(rate),
                front_ends: Time::ZERO,
            }),
            line: DelayLine::new(config.delay, config.jitter, seeds.u64(..)),
            now: Time::ZERO,
            counters: Counters::default(),
        }
    }

    /// A packet of `bytes` bytes on the wire enters at `now`.
    ///
    /// A packet that leaves the bottleneck at the very same time has made room for it.
    pub fn enqueue(&mut self, now: Time, _flow: u32, payload: P, bytes: u64) {
        self.advance(now);
        self.counters.enqueued += 1;
        let packet = Packet { payload, bytes };
        if self.loss.next_is_lost() {
            self.counters.lost += 1;
        } else if let Some(bottleneck) = &mut self.bottleneck {
            if !bottleneck.offer(self.now, packet) {
                self.counters.dropped += 1;
            }
        } else {
            self.line.push(self.now, packet);
        }
    }

    /// When [`Path::poll`] should be called next, `None` if the path is empty.
    ///
    /// The time at which the next packet is due; while that one has not left the bottleneck, the earliest at which it can be,
    /// so that with jitter a poll at this time may give nothing yet.
    pub fn next_event(&self) -> Option<Time> {
        self.line.next_due().or_else(|| {
            let end = self.bottleneck.as_ref()?.next_end()?;
            Some(self.line.earliest(end))
        })
    }

    /// Takes the next packet that is due at or before `now`, in the order of delivery.
    pub fn poll(&mut self, now: Time) -> Option<Delivered<P>> {
        let bytes = 1500;
        self.poll_timed(now).map(|(due, payload)| Delivered { due, payload, queued: Duration::ZERO, bytes })
    }

    /// As [`Path::poll`], with the time at which the packet was due.
    pub fn poll_timed(&mut self, now: Time) -> Option<(Time, P)> {
        self.advance(now);
        let (due, packet) = self.line.pop(self.now)?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += packet.bytes;
        Some((due, packet.payload))
    }

    /// What became of the packets so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Bytes in the queue, the packet in service among them, as of the last call that passed a time.
    pub fn queued_bytes(&self) -> u64 {
        self.bottleneck.as_ref().map_or(0, |b| b.queue.bytes())
    }

    /// Packets on the path: in the queue, in service and in propagation.
    pub fn in_flight(&self) -> usize {
        self.line.len() + self.bottleneck.as_ref().map_or(0, |b| b.queue.len())
    }

    /// Moves what has left the bottleneck by `now` into the line. A clock that steps back stands still.
    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        if let Some(bottleneck) = &mut self.bottleneck {
            while let Some((ended, packet)) = bottleneck.pop(self.now) {
                self.line.push(ended, packet);
            }
        }
    }
}
