//! A UDP socket that is read less often than packets come.
//!
//! tokio wakes a task for each packet that arrives, and for each that leaves the socket's buffer. Here nobody is woken for
//! the latter, except when the buffer was full. And while packets come fast, the socket isn't watched but read every so
//! often: each wake-up takes several packets, which then share one acknowledgement. The controllers say how long packets may lie in
//! the socket (`waits`). One socket serves all connections of an endpoint, so packets lie there for the shortest time that any of
//! them allows (`common_wait`). If none allows any, each packet wakes, as it does where packets are rare.

use crate::common_wait::{CommonWait, OwnWait};
use crate::precise::Timer;
use crate::waits::Waits;
use noq::udp::{RecvMeta, Transmit, UdpSocketState};
use noq::{AsyncUdpSocket, UdpSender};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A wait ends when this many packets should be there, because their acknowledgement lets the sender go on.
const MOST_GATHERED: u32 = 32;

#[derive(Debug)]
struct Shared {
    socket: UdpSocket,
    state: UdpSocketState,
    /// How long packets may stay here.
    gather: Arc<CommonWait>,
}

impl Shared {
    fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match self.state.try_send((&self.socket).into(), transmit) {
            // Packets leave from the address that the peer's packets came to. If this machine has lost it, the kernel picks another
            // one, and QUIC migrates the connection to it.
            Err(error) if transmit.src_ip.is_some() && is_source_gone(&error) => {
                self.state.try_send((&self.socket).into(), &Transmit { src_ip: None, ..transmit.clone() })
            }
            sent => sent,
        }
    }
}

/// Whether the error may mean that this machine doesn't have the address to send from any more.
fn is_source_gone(error: &io::Error) -> bool {
    // Which of these Linux returns depends on its version and on that of IP.
    matches!(error.kind(), ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable | ErrorKind::InvalidInput)
}

/// Watches a socket while it exists.
// The replacement of `with_interest` is `unsafe`, for types that could hand out a descriptor they don't own. These can't.
#[allow(deprecated)]
fn watch(socket: &UdpSocket, interest: Interest) -> io::Result<AsyncFd<UdpSocket>> {
    // A descriptor can be watched only once, so reading and writing are watched on two copies of it.
    AsyncFd::with_interest(socket.try_clone()?, interest)
}

/// Receives, and makes the senders of connections.
#[derive(Debug)]
pub(crate) struct GatheringSocket {
    shared: Arc<Shared>,
    /// `None` while the timer decides when to read.
    watched: Option<AsyncFd<UdpSocket>>,
    timer: Timer,
    arrivals: Arrivals,
}

impl GatheringSocket {
    pub(crate) fn new(socket: UdpSocket) -> io::Result<GatheringSocket> {
        let state = UdpSocketState::new((&socket).into())?;
        let watched = Some(watch(&socket, Interest::READABLE)?);
        let shared = Arc::new(Shared { socket, state, gather: Arc::default() });
        Ok(GatheringSocket { shared, watched, timer: Timer::new()?, arrivals: Arrivals::default() })
    }

    /// Reads, when the time has come.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let Shared { socket, state, .. } = &*self.shared;
        let Some(watched) = &self.watched else {
            ready!(self.timer.poll_expired(cx));
            return Poll::Ready(state.recv(socket.into(), bufs, meta));
        };
        let mut guard = ready!(watched.poll_read_ready(cx))?;
        let read = state.recv(socket.into(), bufs, meta);
        let emptied = match &read {
            Ok(read) => *read < bufs.len(),
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        if emptied {
            // The next packet to arrive wakes anew.
            guard.clear_ready();
        }
        Poll::Ready(read)
    }

    /// Decides when to read next, after a read that found so many `packets`.
    fn plan(&mut self, packets: u32, emptied: bool) -> io::Result<()> {
        let now = Instant::now();
        match self.arrivals.next_read(now, packets, self.shared.gather.shortest()) {
            Some(wait) => {
                self.watched = None;
                self.timer.reset(if emptied { now + wait } else { now });
            }
            None => self.watch_again()?,
        }
        Ok(())
    }

    /// Lets the next packet wake, or one that is there already.
    fn watch_again(&mut self) -> io::Result<()> {
        if self.watched.is_none() {
            self.watched = Some(watch(&self.shared.socket, Interest::READABLE)?);
        }
        Ok(())
    }
}

impl AsyncUdpSocket for GatheringSocket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        let allowed = OwnWait::new(self.shared.gather.clone());
        Box::pin(Sender { shared: self.shared.clone(), allowed, full: None })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            match ready!(self.poll_read(cx, bufs, meta)) {
                Ok(read) => {
                    let packets = meta[..read].iter().map(|meta| meta.len.div_ceil(meta.stride.max(1)) as u32).sum();
                    self.plan(packets, read < bufs.len())?;
                    return Poll::Ready(Ok(read));
                }
                Err(error) => {
                    self.watch_again()?;
                    if error.kind() != ErrorKind::WouldBlock {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.socket.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.shared.state.may_fragment()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.shared.state.gro_segments()
    }
}

/// Sends for one connection.
#[derive(Debug)]
struct Sender {
    shared: Arc<Shared>,
    /// How long packets for this connection may stay in the socket.
    allowed: OwnWait,
    /// Watched while the socket's buffer is full.
    full: Option<AsyncFd<UdpSocket>>,
}

impl UdpSender for Sender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(waits) = Waits::said() {
            self.allowed.allow(waits.gather);
        }
        loop {
            if let Some(full) = &self.full {
                ready!(full.poll_write_ready(cx))?.clear_ready();
            }
            match self.shared.send(transmit) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.full.is_none() {
                        self.full = Some(watch(&self.shared.socket, Interest::WRITABLE)?);
                    }
                }
                sent => {
                    self.full = None;
                    // QUIC repairs what gets lost, here too: a probe for a larger MTU, or a network that is gone for a while.
                    if let Err(error) = sent {
                        tracing::debug!(%error, destination = %transmit.destination, "can't send");
                    }
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.shared.state.max_gso_segments()
    }
}

/// How fast packets come.
#[derive(Debug, Default)]
struct Arrivals {
    last_read: Option<Instant>,
    /// The time between two packets, smoothed.
    gap: Option<Duration>,
}

impl Arrivals {
    /// At `now` so many `packets` were there. Returns how long to wait before the next read, so that it finds several packets, none of
    /// which has waited for longer than `gather`. `None` if fewer than two would come in that time.
    fn next_read(&mut self, now: Instant, packets: u32, gather: Duration) -> Option<Duration> {
        let since = now.saturating_duration_since(self.last_read.replace(now)?);
        // A pause says nothing about the packets after it.
        let gap = (since / packets.max(1)).min(2 * gather);
        let smooth = self.gap.map_or(gap, |smooth| (smooth * 7 + gap) / 8);
        self.gap = Some(smooth);
        let wait = gather.min(smooth * MOST_GATHERED);
        (wait >= 2 * smooth && !wait.is_zero()).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::net::{IpAddr, Ipv4Addr};
    use tokio::time::timeout;

    /// The wait after reads every `every` that found `packets` each.
    fn wait(every: Duration, packets: u32, gather: Duration) -> Option<Duration> {
        let begin = Instant::now();
        let mut arrivals = Arrivals::default();
        (0..100).map(|read| arrivals.next_read(begin + every * read, packets, gather)).last().flatten()
    }

    #[test]
    fn waits_only_where_several_packets_come_meanwhile() {
        let us = Duration::from_micros;
        assert_eq!(wait(us(116), 1, us(500)), Some(us(500)), "100 Mbit/s");
        assert_eq!(wait(us(400), 1, us(500)), None, "one packet would come");
        assert_eq!(wait(us(500), 4, us(500)), Some(us(500)), "and goes on");
        assert_eq!(wait(us(10), 1, us(500)), Some(us(320)), "32 packets are enough");
        assert_eq!(wait(us(116), 1, Duration::ZERO), None, "the controller hasn't said that it may");
    }

    #[test]
    fn a_pause_is_forgotten() {
        let us = Duration::from_micros;
        let mut arrivals = Arrivals::default();
        let mut now = Instant::now();
        let mut read = |after: Duration| {
            now += after;
            arrivals.next_read(now, 1, us(500))
        };
        (0..50).for_each(|_| _ = read(us(100)));
        read(Duration::from_secs(10));
        assert_eq!((0..8).map(|_| read(us(100))).last().flatten(), Some(us(500)));
    }

    /// Sends a packet in a task of its own, whose controller allows this wait if it says anything.
    async fn send(
        mut sender: Pin<Box<dyn UdpSender>>,
        to: SocketAddr,
        gather: Option<Duration>,
    ) -> Pin<Box<dyn UdpSender>> {
        let task = tokio::spawn(async move {
            if let Some(gather) = gather {
                Waits { task: tokio::task::try_id(), sent: Instant::now(), collect: Duration::ZERO, gather }.say();
            }
            let transmit =
                Transmit { destination: to, ecn: None, contents: &[7; 50], segment_size: None, src_ip: None };
            poll_fn(|cx| sender.as_mut().poll_send(&transmit, cx)).await.expect("sent");
            sender
        });
        task.await.expect("no panic")
    }

    #[tokio::test]
    async fn packets_stay_no_longer_than_any_connection_allows() {
        let socket = GatheringSocket::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket"));
        let socket = socket.expect("a socket");
        let to = socket.local_addr().expect("an address");
        let us = Duration::from_micros;
        let shortest = || socket.shared.gather.shortest();
        let far = send(socket.create_sender(), to, Some(us(500))).await;
        let near = send(socket.create_sender(), to, Some(us(80))).await;
        let far = send(far, to, Some(us(500))).await;
        assert_eq!(shortest(), us(80));
        let of_noq = send(socket.create_sender(), to, None).await;
        assert_eq!(shortest(), us(80), "who says nothing doesn't count");
        drop((near, of_noq));
        assert_eq!(shortest(), us(500), "nor does who is gone");
        drop(far);
        assert_eq!(shortest(), Duration::ZERO);
    }

    /// Reads until so many packets have come.
    async fn receive(socket: &mut GatheringSocket, packets: usize) {
        let mut buffers = [[0; 64]; 4];
        let mut meta = [RecvMeta::default(); 4];
        let mut received = 0;
        while received < packets {
            let mut slices = buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
            let read = poll_fn(|cx| socket.poll_recv(cx, &mut slices, &mut meta));
            let read = timeout(Duration::from_secs(60), read).await.expect("more packets").expect("it can be read");
            received += meta[..read].iter().map(|meta| meta.len / meta.stride).sum::<usize>();
        }
    }

    #[tokio::test]
    async fn every_packet_is_read_whether_they_come_fast_or_not() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let mut socket = GatheringSocket::new(socket).expect("a socket");
        let to = socket.local_addr().expect("an address");
        let mut allowed = OwnWait::new(socket.shared.gather.clone());
        allowed.allow(Duration::from_micros(500));
        let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        for packets in [300, 1, 1, 100, 1] {
            // From a thread, so that some come while the socket is being read.
            let from = from.try_clone().expect("the same socket");
            let sender = std::thread::spawn(move || {
                for _ in 0..packets {
                    from.send_to(&[1; 50], to).expect("sent");
                    std::thread::sleep(Duration::from_micros(20));
                }
            });
            receive(&mut socket, packets).await;
            sender.join().expect("it ended");
        }
    }

    /// Sends packets from this address to a socket, which reads them.
    async fn send_from(src_ip: Option<IpAddr>) {
        let bind = || GatheringSocket::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket"));
        let (left, mut right) = (bind().expect("a socket"), bind().expect("a socket"));
        let mut sender = left.create_sender();
        let destination = right.local_addr().expect("an address");
        let transmit = Transmit { destination, ecn: None, contents: &[7; 50], segment_size: None, src_ip };
        for _ in 0..40 {
            poll_fn(|cx| sender.as_mut().poll_send(&transmit, cx)).await.expect("sent");
        }
        receive(&mut right, 40).await;
    }

    #[tokio::test]
    async fn what_is_sent_arrives() {
        send_from(None).await;
    }

    #[tokio::test]
    async fn what_is_sent_from_an_address_that_is_gone_arrives() {
        // For documentation (RFC 5737): no machine has it.
        send_from(Some(Ipv4Addr::new(192, 0, 2, 1).into())).await;
    }
}
