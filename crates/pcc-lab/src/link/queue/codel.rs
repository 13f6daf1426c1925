//! Controlled delay (RFC 8289).

use super::discipline::Discipline;
use super::fifo::Fifo;
use super::limit::Limit;
use super::marking::Marking;
use crate::link::packet::{MTU, Packet};
use pcc::Time;
use std::time::Duration;

/// The time in the queue that is tolerated for longer than an interval (RFC 8289, section 4).
const TARGET: Duration = Duration::from_millis(5);
/// About the longest round trip of those that share the queue (RFC 8289, section 4).
const INTERVAL: Duration = Duration::from_millis(100);

/// A first-in first-out queue that drops, or marks, at its head when packets have waited too long.
#[derive(Clone, Debug)]
pub(in crate::link) struct CoDel<P> {
    packets: Fifo<P>,
    control: Control,
    limit: Limit,
    ecn: bool,
    dropped: u64,
}

impl<P> Discipline<P> for CoDel<P> {
    fn new(limit: Limit, marking: Marking) -> CoDel<P> {
        let (packets, control) = (Fifo::new(), Control::default());
        CoDel { packets, control, limit, ecn: marking.instead_of_drops, dropped: 0 }
    }

    fn offer(&mut self, packet: Packet<P>, serving: Option<&Packet<P>>) {
        if !self.packets.offer(packet, serving, self.limit) {
            self.dropped += 1;
        }
    }

    fn take(&mut self, now: Time) -> Option<Packet<P>> {
        let before = self.packets.len();
        let taken = self.control.take(&mut self.packets, now, self.ecn);
        self.dropped += (before - self.packets.len() - usize::from(taken.is_some())) as u64;
        taken
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

/// The state of the algorithm (RFC 8289, section 5), with the names of its pseudocode.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// When packets will have waited too long for an interval, if they do now.
    first_above: Option<Time>,
    dropping: bool,
    /// The next drop while dropping, or else the one that did not come.
    drop_next: Time,
    /// Drops since dropping began, and what it began with.
    count: u32,
    last_count: u32,
}

impl Control {
    /// Takes the packet to serve next, and drops those before it that the algorithm drops (RFC 8289, section 5). With `ecn`
    /// a packet that can be marked is marked instead, and served.
    ///
    /// The last packet is never dropped.
    pub(super) fn take<P>(&mut self, packets: &mut Fifo<P>, now: Time, ecn: bool) -> Option<Packet<P>> {
        let (mut packet, mut may_drop) = self.pop(packets, now)?;
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if ecn && packet.ecn.mark() {
                    self.drop_next = control_law(self.drop_next, self.count);
                    break;
                }
                (packet, may_drop) = self.pop(packets, now)?;
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = control_law(self.drop_next, self.count);
                }
            }
        } else if may_drop {
            if !(ecn && packet.ecn.mark()) {
                (packet, _) = self.pop(packets, now)?;
            }
            self.dropping = true;
            // Soon after the last time, the rate of drops that was enough then is where to begin.
            let recent = self.count - self.last_count;
            let soon = now.since(self.drop_next) < 16 * INTERVAL;
            self.count = if soon && recent > 1 { recent } else { 1 };
            self.last_count = self.count;
            self.drop_next = control_law(now, self.count);
        }
        Some(packet)
    }

    /// Takes a packet; whether it may be dropped: all have waited for longer than the target for an interval, and what is
    /// left is more than a full packet.
    fn pop<P>(&mut self, packets: &mut Fifo<P>, now: Time) -> Option<(Packet<P>, bool)> {
        let Some(packet) = packets.pop() else {
            self.first_above = None;
            return None;
        };
        if now.since(packet.entered) < TARGET || packets.bytes() <= MTU {
            self.first_above = None;
            return Some((packet, false));
        }
        let first_above = *self.first_above.get_or_insert(now + INTERVAL);
        Some((packet, now >= first_above))
    }
}

/// Drops come in intervals that shrink with the square root of their number, so that TCP's rate falls linearly.
fn control_law(from: Time, count: u32) -> Time {
    from + Duration::from_nanos((INTERVAL.as_nanos() as f64 / f64::from(count).sqrt()) as u64)
}
