//! First in, first out.

use super::fifo::{Fifo, Limit, Packet};

/// A first-in first-out queue; what does not fit whole is dropped.
#[derive(Clone, Debug)]
pub(in crate::link) struct DropTail<P> {
    packets: Fifo<P>,
    limit: Limit,
    dropped: u64,
}

impl<P> DropTail<P> {
    pub(super) fn new(limit: Limit) -> DropTail<P> {
        DropTail { packets: Fifo::new(), limit, dropped: 0 }
    }

    pub(super) fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>) {
        if !self.packets.offer(packet, serving, self.limit) {
            self.dropped += 1;
        }
    }

    pub(super) fn take(&mut self) -> Option<Packet<P>> {
        self.packets.pop()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.packets.bytes()
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}
