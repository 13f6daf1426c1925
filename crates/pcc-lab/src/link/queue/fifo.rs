//! Packets in a row, which all disciplines are made of.

use super::limit::Limit;
use crate::link::packet::Packet;
use std::collections::VecDeque;

/// First in, first out.
#[derive(Clone, Debug)]
pub(super) struct Fifo<P> {
    packets: VecDeque<Packet<P>>,
    bytes: u64,
}

impl<P> Fifo<P> {
    pub(super) fn new() -> Fifo<P> {
        Fifo { packets: VecDeque::new(), bytes: 0 }
    }

    /// Appends a packet if it fits behind the others and those in `serving`; whether it did.
    pub(super) fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>, limit: Limit) -> bool {
        let packets = self.len() + 1 + usize::from(serving.is_some());
        let before = self.bytes.saturating_add(serving.map_or(0, |serving| serving.bytes));
        let fits = before.checked_add(packet.bytes).is_some_and(|bytes| limit.allows(packets, bytes));
        if fits {
            self.push(packet);
        }
        fits
    }

    /// Appends a packet.
    pub(super) fn push(&mut self, packet: Packet<P>) {
        self.bytes += packet.bytes;
        self.packets.push_back(packet);
    }

    /// Takes the oldest packet.
    pub(super) fn pop(&mut self) -> Option<Packet<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes;
        Some(packet)
    }

    /// The oldest packet.
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
