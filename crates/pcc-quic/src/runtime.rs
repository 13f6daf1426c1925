//! A noq runtime with a precise timer.

use crate::buffers::enlarge_buffers;
use crate::precise::Timer;
#[cfg(target_os = "linux")]
use crate::socket::GatheringSocket;
use crate::waits::{MIN_WAIT, Waits};
use noq::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

/// The size of a socket's buffers, in bytes.
const BUFFER: usize = 4 << 20;

/// tokio as noq's runtime, with [`precise::Timer`](crate::precise::Timer) in place of tokio's timer, so that paced
/// packets leave when they are due.
///
/// Pass it to `noq::Endpoint::new`; it must be used inside a tokio runtime. Rates are right without it too, but
/// packets then leave in bursts of a millisecond's worth.
///
/// # Fewer wake-ups
///
/// On Linux it saves wake-ups for connections whose controller comes from a [`Factory`](crate::Factory): packets to send are
/// collected, and packets that arrive stay in the socket.
///
/// - They wait for at most a 64th of the connection's shortest round trip, and for at most half a millisecond. If the path's queue
///   has been seen to hold 1.5 times what arrives meanwhile, they wait up to three times as long.
/// - Nothing waits if no second packet would come in that time, or if the controller doesn't allow it
///   (`CongestionControl::allows_bursts`).
/// - How many packets leave together is learned: up to 32, and fewer where the ends of such bursts get lost, as in a shallow queue.
/// - An endpoint has one socket. Packets stay there for the shortest time that holds for any of its connections, idle ones included; one
///   with several paths counts by the path on which it sent last. A new connection allows no wait until it has measured a round trip.
/// - Connections with noq's own controllers collect nothing. But they don't shorten the wait of an endpoint that has others as well: packets
///   for them may then stay in the socket as long as those for the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreciseRuntime;

impl Runtime for PreciseRuntime {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        match Timer::new() {
            Ok(timer) => {
                let mut timer = PacingTimer { timer, fired: None };
                timer.set(deadline);
                Box::pin(timer)
            }
            Err(error) => {
                tracing::warn!(%error, "no precise timer; pacing is coarse");
                TokioRuntime.new_timer(deadline)
            }
        }
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        enlarge_buffers(&socket, BUFFER);
        #[cfg(target_os = "linux")]
        return Ok(Box::new(GatheringSocket::new(socket)?));
        #[cfg(not(target_os = "linux"))]
        TokioRuntime.wrap_udp_socket(socket)
    }
}

/// A timer that leaves at least [`MIN_WAIT`] between two expiries, and lets packets to send collect for as long as the controller says.
#[derive(Debug)]
struct PacingTimer {
    timer: Timer,
    fired: Option<Instant>,
}

impl PacingTimer {
    fn set(&mut self, deadline: Instant) {
        let collected = Waits::said().map(|waits| waits.sent + waits.collect);
        let earliest = self.fired.map(|fired| fired + MIN_WAIT).max(collected);
        self.timer.reset(earliest.map_or(deadline, |earliest| earliest.max(deadline)));
    }
}

impl AsyncTimer for PacingTimer {
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().set(deadline);
    }

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.timer.poll_expired(cx).map(|()| this.fired = Some(Instant::now()))
    }
}
