//! A queue and what serves it.

use super::capacity::{Capacity, Server};
use super::packet::Packet;
use super::queue::{Buffer, QueueConfig};
use pcc::{Rate, Time};

/// The packets before the bottleneck and the one in service.
#[derive(Clone, Debug)]
pub(super) struct Bottleneck<P> {
    queue: Buffer<P>,
    server: Server,
    /// The packet in service, with the time at which its last bit has left.
    serving: Option<(Time, Packet<P>)>,
    /// When the service of the next packet begins, if none is in service.
    begins: Time,
}

impl<P> Bottleneck<P> {
    pub(super) fn new(capacity: &Capacity, queue: QueueConfig) -> Bottleneck<P> {
        Bottleneck { queue: Buffer::new(queue), server: Server::new(capacity), serving: None, begins: Time::ZERO }
    }

    /// Whether packets have to go through it at all.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self.server, Server::None)
    }

    /// Queues a packet that comes at `now`, or drops it or another.
    pub(super) fn offer(&mut self, now: Time, packet: Packet<P>) {
        let idle = self.len() == 0;
        self.queue.offer(packet, self.serving.as_ref().map(|(_, packet)| packet));
        if idle {
            self.begins = self.server.wake(now);
            self.begin(now);
        }
    }

    /// Takes the next packet that has left at or before `now`, with the time when it did.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        self.begin(now);
        let left = self.serving.take_if(|(end, _)| *end <= now)?;
        self.begins = self.server.next(left.0);
        Some(left)
    }

    /// Begins to serve the next packet if it is time.
    fn begin(&mut self, now: Time) {
        if self.serving.is_none() && self.begins <= now {
            self.serving = self.queue.take(self.begins).map(|mut packet| {
                packet.began = self.begins;
                (self.server.serve(self.begins, packet.bytes), packet)
            });
        }
    }

    /// When a packet may leave, at the earliest; `None` if there is none.
    pub(super) fn next_event(&self) -> Option<Time> {
        match &self.serving {
            Some((end, _)) => Some(*end),
            None => (self.queue.len() > 0).then_some(self.begins),
        }
    }

    /// From `now` on there is a rate, this one.
    pub(super) fn set_rate(&mut self, now: Time, rate: Rate) {
        let free = self.server.set_rate(now, rate);
        match &mut self.serving {
            Some((end, _)) => *end = free,
            None => self.begins = now,
        }
    }

    /// Packets dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.queue.dropped()
    }

    /// Bytes in the queue and in service.
    pub(super) fn bytes(&self) -> u64 {
        self.queue.bytes() + self.serving.as_ref().map_or(0, |(_, packet)| packet.bytes)
    }

    /// Packets in the queue and in service.
    pub(super) fn len(&self) -> usize {
        self.queue.len() + usize::from(self.serving.is_some())
    }
}
