//! The relay's thread.

use super::config::{IP_UDP_HEADERS, RelayReport};
use super::sockets;
use crate::realtime::{LatenessHistogram, Stop, thread_cpu};
use pcc::Time;
use pcc_lab::link::Path;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// The most datagrams read from a socket before those that are due are looked at again.
const READS: usize = 32;

/// A datagram can't be larger than this.
const DATAGRAM: usize = 65_535;

/// The number of the only flow: a relay serves one sender.
const FLOW: u32 = 0;

pub(super) struct Worker {
    front: UdpSocket,
    back: UdpSocket,
    forward: Path<Box<[u8]>>,
    reverse: Path<Box<[u8]>>,
    origin: Instant,
    /// The sender's address, known from its first datagram on.
    sender: Option<SocketAddr>,
    lateness: LatenessHistogram,
    unsent: u64,
}

impl Worker {
    pub(super) fn new(front: UdpSocket, back: UdpSocket, forward: Path<Box<[u8]>>, reverse: Path<Box<[u8]>>) -> Worker {
        let origin = Instant::now();
        let lateness = LatenessHistogram::new();
        Worker { front, back, forward, reverse, origin, sender: None, lateness, unsent: 0 }
    }

    /// Relays until it is told to stop.
    pub(super) fn run(mut self, stop: &Stop) -> RelayReport {
        let mut buffer = vec![0; DATAGRAM];
        loop {
            self.deliver();
            match stop.wait(&self.front, &self.back, self.time_left()) {
                Ok(true) => self.receive(&mut buffer),
                Ok(false) | Err(_) => break,
            }
        }
        RelayReport {
            forward: self.forward.counters(),
            reverse: self.reverse.counters(),
            lateness: self.lateness.summary(),
            missed: sockets::dropped_by_kernel(&self.front) + sockets::dropped_by_kernel(&self.back),
            unsent: self.unsent,
            cpu: thread_cpu(),
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.origin.elapsed()
    }

    /// Forwards the datagrams that are due.
    fn deliver(&mut self) {
        while let Some(datagram) = self.forward.poll(self.now()) {
            let sent = self.back.send(&datagram.payload);
            self.account(datagram.due, sent);
        }
        while let Some(datagram) = self.reverse.poll(self.now()) {
            // Nothing comes back before something was sent.
            let Some(sender) = self.sender else { continue };
            let sent = self.front.send_to(&datagram.payload, sender);
            self.account(datagram.due, sent);
        }
    }

    /// After the datagram has left: the time that sending takes is part of how late it is.
    fn account(&mut self, due: Time, sent: io::Result<usize>) {
        self.lateness.record(self.now().since(due));
        if sent.is_err() {
            self.unsent += 1;
        }
    }

    /// How long until something may be due; `None` if nothing is on its way.
    fn time_left(&self) -> Option<Duration> {
        let next = [self.forward.next_event(), self.reverse.next_event()].into_iter().flatten().min();
        next.map(|next| next.since(self.now()))
    }

    /// Puts what has come on its path, each datagram with its own time.
    fn receive(&mut self, buffer: &mut [u8]) {
        // Errors end a turn as an empty socket does: the receiver may not be there yet or no longer (ECONNREFUSED).
        for _ in 0..READS {
            let Ok((bytes, sender)) = self.front.recv_from(buffer) else { break };
            self.sender = Some(sender);
            self.forward.enqueue(self.now(), FLOW, buffer[..bytes].into(), bytes as u64 + IP_UDP_HEADERS);
        }
        for _ in 0..READS {
            let Ok(bytes) = self.back.recv(buffer) else { break };
            self.reverse.enqueue(self.now(), FLOW, buffer[..bytes].into(), bytes as u64 + IP_UDP_HEADERS);
        }
    }
}
