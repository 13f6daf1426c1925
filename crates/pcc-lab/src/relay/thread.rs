//! The relay's thread.

use super::lateness::LatenessHistogram;
use super::{IP_UDP_HEADERS, RelayReport, sockets};
use crate::link::Path;
use pcc::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thread_priority::{
    RealtimeThreadSchedulePolicy, ScheduleParams, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// The most datagrams read from a socket before those that are due are looked at again.
const READS: usize = 32;

/// A datagram can't be larger than this.
const DATAGRAM: usize = 65_535;

/// A relay serves one sender.
const FLOW: u32 = 0;

pub(super) struct Worker {
    front: UdpSocket,
    back: UdpSocket,
    forward: Path<Box<[u8]>>,
    reverse: Path<Box<[u8]>>,
    stop: Arc<OwnedFd>,
    origin: Instant,
    /// Who sends, once it has.
    sender: Option<SocketAddr>,
    lateness: LatenessHistogram,
    unsent: u64,
}

impl Worker {
    pub(super) fn new(
        front: UdpSocket,
        back: UdpSocket,
        forward: Path<Box<[u8]>>,
        reverse: Path<Box<[u8]>>,
        stop: Arc<OwnedFd>,
    ) -> Worker {
        let origin = Instant::now();
        let lateness = LatenessHistogram::new();
        Worker { front, back, forward, reverse, stop, origin, sender: None, lateness, unsent: 0 }
    }

    /// Relays until it is told to stop.
    pub(super) fn run(mut self) -> RelayReport {
        be_punctual();
        let mut buffer = vec![0; DATAGRAM];
        loop {
            self.deliver();
            match self.wait() {
                Ok(true) => self.receive(&mut buffer),
                Ok(false) | Err(_) => break,
            }
        }
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        RelayReport {
            forward: self.forward.counters(),
            reverse: self.reverse.counters(),
            lateness: self.lateness.summary(),
            missed: sockets::dropped_by_kernel(&self.front) + sockets::dropped_by_kernel(&self.back),
            unsent: self.unsent,
            cpu: Duration::try_from(cpu).unwrap_or_default(),
        }
    }

    fn now(&self) -> Time {
        Time::ZERO + self.origin.elapsed()
    }

    /// Sends on what is due.
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

    /// Waits for the next datagram to come or to be due; whether to go on.
    fn wait(&self) -> rustix::io::Result<bool> {
        let next = [self.forward.next_event(), self.reverse.next_event()].into_iter().flatten().min();
        let timeout = next.map(|next| timespec(step(next.since(self.now()))));
        let mut fds = [
            PollFd::new(&*self.stop, PollFlags::IN),
            PollFd::new(&self.front, PollFlags::IN),
            PollFd::new(&self.back, PollFlags::IN),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => Ok(fds[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error),
        }
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

/// Lets this thread run as soon as it is due, as far as it is allowed to. Where it isn't, the lateness shows it.
fn be_punctual() {
    // The default slack of 50 us would be added to every wait.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // Needs privileges. Without, a busy machine lets the thread wait for the time slice of another, up to 3 ms.
    let _ = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::from_posix(ScheduleParams { sched_priority: 50 }),
        ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo),
    );
}

/// How long to wait at once when `wait` is left.
///
/// The kernel may end a poll late by 0.1 % of its timeout (`fs/select.c`): a long wait stops short of its end by more than that,
/// and the rest is waited for by itself.
fn step(wait: Duration) -> Duration {
    if wait > Duration::from_millis(1) { wait - wait / 500 } else { wait }
}

fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) as _ }
}
