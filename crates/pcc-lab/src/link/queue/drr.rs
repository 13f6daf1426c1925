//! Deficit round robin (Shreedhar and Varghese, 1996).

use super::discipline::Discipline;
use super::fifo::Fifo;
use super::limit::Limit;
use super::marking::Marking;
use crate::link::packet::{MTU, Packet};
use pcc::Time;
use std::collections::{BTreeMap, VecDeque};

/// Fair queueing: each flow in turn sends as many bytes as the others, whatever the sizes of its packets.
#[derive(Clone, Debug)]
pub(in crate::link) struct Drr<P> {
    flows: BTreeMap<u32, Flow<P>>,
    /// Those with packets, in the order of their turns.
    active: VecDeque<u32>,
    /// Whether the first one has got the quantum of this turn.
    in_turn: bool,
    limit: Limit,
    bytes: u64,
    len: usize,
    dropped: u64,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    packets: Fifo<P>,
    /// Bytes that it may still send in this turn.
    deficit: u64,
}

impl<P> Discipline<P> for Drr<P> {
    fn new(limit: Limit, _marking: Marking) -> Drr<P> {
        let (flows, active) = (BTreeMap::new(), VecDeque::new());
        Drr { flows, active, in_turn: false, limit, bytes: 0, len: 0, dropped: 0 }
    }

    fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>) {
        let (number, bytes) = (packet.flow, packet.bytes);
        let flow = self.flows.entry(number).or_insert_with(|| Flow { packets: Fifo::new(), deficit: 0 });
        let serving = serving.filter(|serving| serving.flow == number);
        if !flow.packets.offer(packet, serving, self.limit) {
            self.dropped += 1;
            return;
        }
        if flow.packets.len() == 1 {
            self.active.push_back(number);
        }
        self.bytes += bytes;
        self.len += 1;
    }

    fn take(&mut self, _now: Time) -> Option<Packet<P>> {
        loop {
            let number = *self.active.front()?;
            let flow = self.flows.get_mut(&number)?;
            if !self.in_turn {
                flow.deficit = flow.deficit.saturating_add(MTU);
                self.in_turn = true;
            }
            if flow.packets.front()?.bytes > flow.deficit {
                self.active.rotate_left(1);
                self.in_turn = false;
                continue;
            }
            let packet = flow.packets.pop()?;
            flow.deficit -= packet.bytes;
            if flow.packets.len() == 0 {
                flow.deficit = 0;
                self.active.pop_front();
                self.in_turn = false;
            }
            self.bytes -= packet.bytes;
            self.len -= 1;
            return Some(packet);
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn len(&self) -> usize {
        self.len
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }
}
