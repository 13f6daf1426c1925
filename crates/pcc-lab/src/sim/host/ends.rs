//! The hosts of a flow's two ends.

use super::super::wire::Departure;
use super::thread::Thread;
use super::{HostThread, ReceiverHost, SenderHost};
use fastrand::Rng;
use pcc::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A packet that has arrived and waits to be taken.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Arrival {
    pub time: Time,
    pub packet: Departure,
    pub queued: Duration,
}

/// The hosts of both ends, if one of them isn't perfect.
#[derive(Debug)]
pub(in super::super) struct Hosts {
    sender: Thread,
    /// Whether the sender runs at this instant.
    sends: bool,
    receiver: Thread,
    bundle: Duration,
    pub hides_delay: bool,
    pub inbox: VecDeque<Arrival>,
}

impl Hosts {
    /// `None` for perfect hosts, which draw nothing from `rng`.
    pub fn new(sender: &SenderHost, receiver: &ReceiverHost, rng: &mut Rng) -> Option<Box<Hosts>> {
        if sender.thread == HostThread::default() && receiver.is_exact() {
            return None;
        }
        Some(Box::new(Hosts {
            sender: Thread::new(&sender.thread, rng.fork()),
            sends: false,
            receiver: Thread::new(&receiver.thread, rng.fork()),
            bundle: receiver.bundle,
            hides_delay: receiver.hides_delay,
            inbox: VecDeque::new(),
        }))
    }

    /// When one of the ends runs next: the sender for its timer or for what came to it, the receiver for its timer or for packets.
    pub fn next_run(
        &mut self,
        now: Time,
        sender: Option<Time>,
        came: Option<Time>,
        receiver: Option<Time>,
    ) -> Option<Time> {
        let taken = self.taken();
        let runs = [self.sender.next_run(now, sender, came), self.receiver.next_run(now, receiver, taken)];
        runs.into_iter().flatten().min()
    }

    /// When the packets that have arrived are taken.
    fn taken(&self) -> Option<Time> {
        self.inbox.front().map(|arrival| arrival.time + self.bundle)
    }

    /// Whether the sender runs now.
    pub fn sender_runs(&mut self, now: Time, timer: Option<Time>, came: Option<Time>) -> bool {
        self.sends = self.sender.runs(now, timer, came);
        self.sends
    }

    /// The sender has taken so many packets with acknowledgements.
    pub fn sender_took(&mut self, now: Time, packets: u32) {
        self.sender.work(now, packets);
    }

    /// Whether the sender could send a packet at this instant.
    pub fn may_send(&self, now: Time) -> bool {
        self.sends && !self.sender.is_busy(now)
    }

    /// The sender has sent a packet.
    pub fn sender_sent(&mut self, now: Time) {
        self.sender.work(now, 1);
    }

    /// Whether the receiver runs now.
    pub fn receiver_runs(&mut self, now: Time, timer: Option<Time>) -> bool {
        let taken = self.taken();
        self.receiver.runs(now, timer, taken)
    }

    /// The receiver has taken so many packets.
    pub fn receiver_took(&mut self, now: Time, packets: u32) {
        self.receiver.work(now, packets);
    }
}
