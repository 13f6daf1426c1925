//! Segments of one super-packet that are delivered together stay together: the kernel takes them as one.

use super::frame::Frame;
use super::network::Arrival;
use super::side::Side;
use pcc::Time;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// Consecutive segments of a super-packet.
#[derive(Debug)]
pub(super) struct Run {
    pub to: Side,
    pub frame: Rc<Frame>,
    flow: usize,
    first: u32,
    /// When each packet was due.
    pub due: Vec<Time>,
}

impl Run {
    pub fn segments(&self) -> Range<u32> {
        self.first..self.first + self.due.len() as u32
    }

    /// Whether a packet is the next segment, and due no later than `quantum` after the first.
    fn continues(&self, next: &Arrival, quantum: Duration) -> bool {
        let first = self.due.first().copied().unwrap_or_default();
        Rc::ptr_eq(&self.frame, &next.frame) && next.segment == self.segments().end && next.due.since(first) <= quantum
    }
}

/// What is to be delivered, in runs of segments that are due within a quantum.
#[derive(Debug)]
pub(super) struct Outbox {
    quantum: Duration,
    runs: Vec<Run>,
}

impl Outbox {
    pub fn new(quantum: Duration) -> Outbox {
        Outbox { quantum, runs: Vec::new() }
    }

    pub fn push(&mut self, next: Arrival) {
        // Other flows may come in between, but nothing of this flow is overtaken.
        let last = self.runs.iter_mut().rev().find(|run| run.flow == next.flow && run.to == next.to);
        match last.filter(|run| run.continues(&next, self.quantum)) {
            Some(run) => run.due.push(next.due),
            None => {
                let Arrival { to, flow, due, frame, segment } = next;
                self.runs.push(Run { to, frame, flow, first: segment, due: vec![due] });
            }
        }
    }

    /// Until when to wait for what may go along, if something else happens by `next`. What is due alone doesn't wait.
    pub fn deadline(&self, next: Option<Time>) -> Option<Time> {
        let first = *self.runs.first()?.due.first()?;
        let end = first + self.quantum;
        Some(if next.is_some_and(|next| next <= end) { end } else { first })
    }

    /// Takes all runs out, in order.
    pub fn take(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.runs)
    }
}
