//! FQ-CoDel (RFC 8290).

use super::codel::Control;
use super::discipline::Discipline;
use super::fifo::Fifo;
use super::limit::Limit;
use super::marking::Marking;
use crate::link::packet::{MTU, Packet};
use pcc::Time;
use std::collections::VecDeque;

/// How many queues there are (RFC 8290, section 5.2). A flow's queue is its number modulo this.
const QUEUES: u16 = 1024;
/// The most packets that the longest queue loses at once, as in Linux.
const BATCH: usize = 64;

/// Deficit round robin over queues with CoDel, those that have just become active first.
#[derive(Clone, Debug)]
pub(in crate::link) struct FqCoDel<P> {
    queues: Vec<FlowQueue<P>>,
    /// The queues in the order of their turns: those without a full turn yet, and the others.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    limit: Limit,
    ecn: bool,
    bytes: u64,
    len: usize,
    dropped: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    packets: Fifo<P>,
    control: Control,
    /// Bytes that it may still send in this turn.
    credits: i64,
    /// Whether it is in one of the lists.
    active: bool,
}

impl<P> FqCoDel<P> {
    /// Drops half of the longest queue, but not very many packets, from its head. Of queues of packets without bytes that of most packets is the
    /// longest.
    fn shorten_the_longest(&mut self) {
        let queues = &self.queues;
        let active = self.new.iter().chain(&self.old).map(|index| usize::from(*index));
        let length = |index: &usize| (queues[*index].packets.bytes(), queues[*index].packets.len());
        let Some(longest) = active.max_by_key(length) else { return };
        let packets = &mut self.queues[longest].packets;
        let half = packets.bytes() / 2;
        for _ in 0..BATCH {
            let Some(packet) = packets.pop() else { break };
            self.bytes -= packet.bytes;
            self.len -= 1;
            self.dropped += 1;
            if packets.bytes() <= half {
                break;
            }
        }
    }
}

impl<P> Discipline<P> for FqCoDel<P> {
    fn new(limit: Limit, marking: Marking) -> FqCoDel<P> {
        let queue = || FlowQueue { packets: Fifo::new(), control: Control::default(), credits: 0, active: false };
        FqCoDel {
            queues: std::iter::repeat_with(queue).take(QUEUES.into()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            limit,
            ecn: marking.instead_of_drops,
            bytes: 0,
            len: 0,
            dropped: 0,
        }
    }

    /// RFC 8290, section 4.1.
    fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>) {
        let in_service = serving.map_or(0, |serving| serving.bytes);
        if packet.bytes > u64::MAX - self.bytes {
            self.dropped += 1;
            return;
        }
        let index = (packet.flow % self.queues.len() as u32) as u16;
        let queue = &mut self.queues[usize::from(index)];
        self.bytes += packet.bytes;
        self.len += 1;
        queue.packets.push(packet);
        if !queue.active {
            (queue.active, queue.credits) = (true, MTU as i64);
            self.new.push_back(index);
        }
        let within = |fq: &Self| {
            let packets = fq.len + usize::from(serving.is_some());
            fq.limit.allows(packets, fq.bytes.saturating_add(in_service))
        };
        while self.len > 0 && !within(self) {
            self.shorten_the_longest();
        }
    }

    /// RFC 8290, section 4.2.
    fn take(&mut self, now: Time) -> Option<Packet<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[usize::from(index)];
            if queue.credits <= 0 {
                queue.credits += MTU as i64;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let (bytes, len) = (queue.packets.bytes(), queue.packets.len());
            let taken = queue.control.take(&mut queue.packets, now, self.ecn);
            self.bytes -= bytes - queue.packets.bytes();
            self.len -= len - queue.packets.len();
            self.dropped += (len - queue.packets.len() - usize::from(taken.is_some())) as u64;
            if let Some(packet) = taken {
                queue.credits = queue.credits.saturating_sub_unsigned(packet.bytes);
                return Some(packet);
            }
            list.pop_front();
            if is_new {
                // A turn among the old ones, or a flow that stops for a moment would be new again and starve them.
                self.old.push_back(index);
            } else {
                queue.active = false;
            }
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
