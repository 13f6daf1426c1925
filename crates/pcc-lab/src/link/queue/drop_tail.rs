//! First in, first out.

use super::discipline::Discipline;
use super::fifo::Fifo;
use super::limit::Limit;
use crate::link::packet::Packet;
use pcc::Time;

/// A first-in first-out queue. A packet that does not fit whole is dropped.
#[derive(Clone, Debug)]
pub(in crate::link) struct DropTail<P> {
    packets: Fifo<P>,
    limit: Limit,
    dropped: u64,
}

impl<P> Discipline<P> for DropTail<P> {
    fn new(limit: Limit) -> DropTail<P> {
        DropTail { packets: Fifo::new(), limit, dropped: 0 }
    }

    fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>) {
        if !self.packets.offer(packet, serving, self.limit) {
            self.dropped += 1;
        }
    }

    fn take(&mut self, _now: Time) -> Option<Packet<P>> {
        self.packets.pop()
    }

    fn bytes(&self) -> u64 {
        self.packets.bytes()
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }
}
