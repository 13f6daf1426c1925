//! The buffer before the bottleneck: which packets wait, in which order, and which are dropped.

mod codel;
mod drop_tail;
mod drr;
mod fifo;
mod fq_codel;

use codel::CoDel;
use drop_tail::DropTail;
use drr::Drr;
pub use fifo::Limit;
pub(super) use fifo::Packet;
use fq_codel::FqCoDel;
use pcc::Time;

/// The queue before the bottleneck. Its limits count the packet in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    DropTail(Limit),
    /// CoDel with a target of 5 ms and an interval of 100 ms (RFC 8289).
    CoDel(Limit),
    /// Fair queueing by deficit round robin, with a quantum of one [`MTU`](super::MTU) (Shreedhar and Varghese, *Efficient
    /// fair queuing using deficit round robin*, 1996). The limit is that of each flow's own drop-tail buffer.
    ///
    /// For packets of at most 64 KiB: a turn costs time in proportion to the size of the packet.
    Drr(Limit),
    /// FQ-CoDel: deficit round robin over queues with CoDel, sparse flows first (RFC 8290).
    FqCoDel {
        /// The limit of all queues together; beyond, the longest queue loses packets from its head.
        limit: Limit,
        /// How many queues there are, at least 1. A flow's queue is its number modulo this.
        queues: u16,
    },
}

impl Queue {
    /// FQ-CoDel with 1024 queues (RFC 8290, section 5.2).
    pub const fn fq_codel(limit: Limit) -> Queue {
        Queue::FqCoDel { limit, queues: 1024 }
    }
}

impl Queue {
    /// Its limit in bytes for packets of `packet` bytes, with fair queueing that of each flow; `None` if it has none.
    pub fn limit_bytes(&self, packet: u64) -> Option<u64> {
        let (Queue::DropTail(limit) | Queue::CoDel(limit) | Queue::Drr(limit) | Queue::FqCoDel { limit, .. }) = self;
        let bytes = match limit {
            Limit::Bytes(bytes) => *bytes,
            Limit::Packets(packets) => packets.saturating_mul(packet),
        };
        (bytes < u64::MAX).then_some(bytes)
    }
}

impl From<u64> for Queue {
    /// A drop-tail queue with a limit in bytes.
    fn from(bytes: u64) -> Queue {
        Queue::DropTail(Limit::Bytes(bytes))
    }
}

/// The packets in a [`Queue`].
#[derive(Clone, Debug)]
pub(super) enum Buffer<P> {
    DropTail(DropTail<P>),
    CoDel(CoDel<P>),
    Drr(Drr<P>),
    FqCoDel(FqCoDel<P>),
}

/// The same call on whichever it is.
macro_rules! each {
    ($buffer:expr, $inner:ident => $call:expr) => {
        match $buffer {
            Buffer::DropTail($inner) => $call,
            Buffer::CoDel($inner) => $call,
            Buffer::Drr($inner) => $call,
            Buffer::FqCoDel($inner) => $call,
        }
    };
}

impl<P> Buffer<P> {
    pub(super) fn new(queue: Queue) -> Buffer<P> {
        match queue {
            Queue::DropTail(limit) => Buffer::DropTail(DropTail::new(limit)),
            Queue::CoDel(limit) => Buffer::CoDel(CoDel::new(limit)),
            Queue::Drr(limit) => Buffer::Drr(Drr::new(limit)),
            Queue::FqCoDel { limit, queues } => Buffer::FqCoDel(FqCoDel::new(limit, queues)),
        }
    }

    /// Puts a packet into the queue, or drops it or others to make room, while `serving` is in service.
    pub(super) fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>) {
        each!(self, buffer => buffer.offer(packet, serving));
    }

    /// Takes the packet to serve next; there always is one unless the queue is empty.
    pub(super) fn take(&mut self, now: Time) -> Option<Packet<P>> {
        match self {
            Buffer::DropTail(buffer) => buffer.take(),
            Buffer::CoDel(buffer) => buffer.take(now),
            Buffer::Drr(buffer) => buffer.take(),
            Buffer::FqCoDel(buffer) => buffer.take(now),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        each!(self, buffer => buffer.bytes())
    }

    pub(super) fn len(&self) -> usize {
        each!(self, buffer => buffer.len())
    }

    /// Packets dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        each!(self, buffer => buffer.dropped())
    }
}
