//! A network that delays and loses packets. Sockets have the addresses of real ones, over which nothing goes.

use super::machine::Process;
use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime, UdpSender};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Connects all sockets of a simulation.
#[derive(Clone, Debug)]
pub struct Network(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    rng: fastrand::Rng,
    delay: Duration,
    loss: f64,
    now: Duration,
    sent: u64,
    /// Tells this run from any other.
    trace: DefaultHasher,
    /// On their way, by when they arrive and by number.
    packets: BTreeMap<(Duration, u64), Packet>,
    inboxes: BTreeMap<SocketAddr, Inbox>,
}

#[derive(Debug)]
struct Packet {
    from: SocketAddr,
    to: SocketAddr,
    data: Vec<u8>,
}

#[derive(Debug, Default)]
struct Inbox {
    packets: VecDeque<Packet>,
    reader: Option<Waker>,
}

impl Network {
    /// One that takes this long, and loses this share of all packets.
    pub fn new(seed: u64, delay: Duration, loss: f64) -> Self {
        let rng = fastrand::Rng::with_seed(seed);
        let (packets, inboxes) = (BTreeMap::new(), BTreeMap::new());
        let (now, sent, trace) = (Duration::ZERO, 0, DefaultHasher::new());
        Self(Arc::new(Mutex::new(State { rng, delay, loss, now, sent, trace, packets, inboxes })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics with it")
    }

    /// Delivers what arrives in this time.
    pub fn step(&self, time: Duration) {
        let mut state = self.state();
        state.now += time;
        let now = state.now;
        let later = state.packets.split_off(&(now, u64::MAX));
        for packet in std::mem::replace(&mut state.packets, later).into_values() {
            if let Some(inbox) = state.inboxes.get_mut(&packet.to) {
                inbox.packets.push_back(packet);
                if let Some(reader) = inbox.reader.take() {
                    reader.wake();
                }
            }
        }
    }

    /// Whether nothing is on its way.
    pub fn is_quiet(&self) -> bool {
        self.state().packets.is_empty()
    }

    /// How many packets were sent so far, and a number that says by whom, when and how long they were.
    pub fn sent(&self) -> (u64, u64) {
        let state = self.state();
        (state.sent, state.trace.finish())
    }

    fn send(&self, who: &Process, from: SocketAddr, to: SocketAddr, data: &[u8]) {
        let mut state = self.state();
        state.sent += 1;
        let what = (who.seed(), state.now, data.len());
        what.hash(&mut state.trace);
        if state.rng.f64() >= state.loss {
            let key = (state.now + state.delay, state.sent);
            state.packets.insert(key, Packet { from, to, data: data.to_vec() });
        }
    }
}

/// tokio as noq's runtime, with the sockets of a [`Network`].
#[derive(Debug)]
pub struct VirtualRuntime {
    pub(super) process: Process,
    pub(super) network: Network,
}

impl Runtime for VirtualRuntime {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(deadline)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, place: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        let address = place.local_addr()?;
        self.network.state().inboxes.insert(address, Inbox::default());
        let place = Arc::new(place);
        Ok(Box::new(Socket { place, address, process: self.process.clone(), network: self.network.clone() }))
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

#[derive(Clone, Debug)]
struct Socket {
    /// Keeps the address.
    place: Arc<UdpSocket>,
    address: SocketAddr,
    process: Process,
    network: Network,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if Arc::strong_count(&self.place) == 1 {
            self.network.state().inboxes.remove(&self.address);
        }
    }
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(self.clone())
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.network.state();
        let Some(inbox) = state.inboxes.get_mut(&self.address) else { return Poll::Pending };
        let Some(Packet { from, data, .. }) = inbox.packets.pop_front() else {
            inbox.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        bufs[0][..data.len()].copy_from_slice(&data);
        (meta[0].addr, meta[0].len, meta[0].stride) = (from, data.len(), data.len());
        Poll::Ready(Ok(1))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }

    fn may_fragment(&self) -> bool {
        false
    }
}

impl UdpSender for Socket {
    fn poll_send(self: Pin<&mut Self>, transmit: &Transmit<'_>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        for data in transmit.contents.chunks(transmit.segment_size.unwrap_or(transmit.contents.len().max(1))) {
            if self.process.acts() {
                self.network.send(&self.process, self.address, transmit.destination, data);
            }
        }
        Poll::Ready(Ok(()))
    }
}
