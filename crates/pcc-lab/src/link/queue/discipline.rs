//! What every queue can do.

use super::limit::Limit;
use super::marking::Marking;
use crate::link::packet::Packet;
use pcc::Time;

/// A queueing discipline: which packets wait, in which order, and which are dropped.
pub(in crate::link) trait Discipline<P> {
    /// An empty queue that holds at most `limit`.
    fn new(limit: Limit, marking: Marking) -> Self;

    /// Puts a packet into the queue, or drops it, or others so that it fits, while `serving` is in service.
    fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>);

    /// Takes the packet to serve next; there always is one unless the queue is empty.
    fn take(&mut self, now: Time) -> Option<Packet<P>>;

    /// Bytes of the packets that wait.
    fn bytes(&self) -> u64;

    /// The number of packets that wait.
    fn len(&self) -> usize;

    /// Packets dropped so far.
    fn dropped(&self) -> u64;
}
