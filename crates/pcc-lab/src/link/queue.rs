//! The buffer before the bottleneck.

use std::collections::VecDeque;

/// A packet and its size on the wire.
#[derive(Clone, Debug)]
pub(super) struct Packet<P> {
    pub(super) payload: P,
    pub(super) bytes: u64,
}

/// A first-in first-out queue with a limit in bytes; what does not fit whole is dropped.
///
/// The packet in service counts until its last bit has left, as in dummynet and in Linux `tbf` over `bfifo`: a limit of 1,500
/// bytes is room for one full-sized packet on the wire and none behind it.
#[derive(Clone, Debug)]
pub(super) struct DropTail<P> {
    packets: VecDeque<Packet<P>>,
    bytes: u64,
    limit: u64,
}

impl<P> DropTail<P> {
    pub(super) fn new(limit: u64) -> DropTail<P> {
        DropTail { packets: VecDeque::new(), bytes: 0, limit }
    }

    /// Takes a packet if it fits; whether it did.
    pub(super) fn offer(&mut self, packet: Packet<P>) -> bool {
        match self.bytes.checked_add(packet.bytes) {
            Some(bytes) if bytes <= self.limit => {
                self.bytes = bytes;
                self.packets.push_back(packet);
                true
            }
            _ => false,
        }
    }

    /// Removes the oldest packet: its last bit has left.
    pub(super) fn pop(&mut self) -> Option<Packet<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes;
        Some(packet)
    }

    /// The oldest packet, the one in service.
    pub(super) fn front(&self) -> Option<&Packet<P>> {
        self.packets.front()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}
