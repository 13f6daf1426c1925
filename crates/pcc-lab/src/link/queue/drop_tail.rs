//! First in, first out.

use super::discipline::Discipline;
use super::fifo::Fifo;
use super::limit::Limit;
use super::marking::Marking;
use crate::link::packet::Packet;
use pcc::Time;

/// A first-in first-out queue. A packet that does not fit whole is dropped, and so is one that comes when more than the
/// threshold is there, unless it can be marked (RFC 8257, section 3.1: the length at this instant, not an average).
#[derive(Clone, Debug)]
pub(in crate::link) struct DropTail<P> {
    packets: Fifo<P>,
    limit: Limit,
    mark_above: Option<Limit>,
    dropped: u64,
}

impl<P> DropTail<P> {
    /// Whether what is there, that in service included, is more than the threshold.
    fn is_above(&self, serving: Option<&Packet<P>>) -> bool {
        let packets = self.packets.len() + usize::from(serving.is_some());
        let bytes = self.packets.bytes().saturating_add(serving.map_or(0, |serving| serving.bytes));
        self.mark_above.is_some_and(|threshold| !threshold.allows(packets, bytes))
    }
}

impl<P> Discipline<P> for DropTail<P> {
    fn new(limit: Limit, marking: Marking) -> DropTail<P> {
        DropTail { packets: Fifo::new(), limit, mark_above: marking.above, dropped: 0 }
    }

    fn offer(&mut self, mut packet: Packet<P>, serving: Option<&Packet<P>>) {
        let stays = !self.is_above(serving) || packet.ecn.mark();
        if !stays || !self.packets.offer(packet, serving, self.limit) {
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
