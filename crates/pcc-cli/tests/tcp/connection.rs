//! A TCP connection whose receiver knows what it has to get.

use blake3::{Hash, Hasher};
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
use pcc::Rate;
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

sockopt_impl!(
    /// What the kernel knows of a connection.
    TcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, libc::tcp_info);
sockopt_impl!(
    /// The most that a connection may be paced at, in bytes/s.
    MaxPacingRate, SetOnly, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, u64);

/// Bytes that are written or read at once.
const BUFFER: usize = 64 * 1024;
/// What is sent: pieces of this.
static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut content = vec![0; 2 * BUFFER];
    fastrand::Rng::with_seed(1).fill(&mut content);
    content
});
/// Nothing takes that long, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a sender looks at the time.
const TICK: Duration = Duration::from_millis(20);

/// A connection with its sender; the receiver has a thread of its own.
pub struct Connection {
    pub stream: TcpStream,
    random: fastrand::Rng,
    sent: Hasher,
    received: Arc<AtomicU64>,
    far_end: TcpStream,
    receiver: JoinHandle<Hash>,
}

impl Connection {
    pub fn new(sender: TcpStream, receiver: TcpStream) -> Connection {
        receiver.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        sender.set_write_timeout(Some(TICK)).expect("a timeout");
        let received = Arc::<AtomicU64>::default();
        let (counter, far_end) = (received.clone(), receiver.try_clone().expect("a descriptor"));
        let receiver = std::thread::spawn(move || receive(receiver, &counter));
        let random = fastrand::Rng::with_seed(1);
        Connection { stream: sender, random, sent: Hasher::new(), received, far_end, receiver }
    }

    /// The name of its controller.
    pub fn controller(&self) -> String {
        tcp_congestion(&self.stream).expect("a controller")
    }

    pub fn set_controller(&self, name: &str) {
        set_tcp_congestion(&self.stream, name).expect(name);
    }

    /// Lets the kernel send at most at this rate.
    pub fn limit(&self, rate: Rate) {
        setsockopt(&self.stream, MaxPacingRate, &(rate.bits_per_sec() as u64 / 8)).expect("a limit");
    }

    /// What the kernel knows of it.
    pub fn info(&self) -> libc::tcp_info {
        getsockopt(&self.stream, TcpInfo).expect("TCP_INFO")
    }

    /// The rate at which the kernel paces it.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_sec(self.info().tcpi_pacing_rate as f64 * 8.0)
    }

    /// How many bytes have arrived.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Sends this many bytes.
    pub fn send(&mut self, bytes: u64) {
        let (mut left, start) = (bytes, Instant::now());
        while left > 0 {
            assert!(start.elapsed() < PATIENCE, "{left} bytes of {bytes} couldn't be sent");
            left -= self.write(left);
        }
    }

    /// Sends as much as goes in this time.
    pub fn send_for(&mut self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            self.write(u64::MAX);
        }
    }

    /// Sends until data arrives at this rate; a busy machine may take its time.
    pub fn reach(&mut self, rate: Rate) {
        let (start, mut best) = (Instant::now(), Rate::from_mbps(0.0));
        while best < rate {
            assert!(start.elapsed() < PATIENCE, "{rate} is never reached, only {best}");
            best = best.max(self.goodput());
        }
    }

    /// Sends until this much more has arrived.
    pub fn deliver(&mut self, bytes: u64) {
        let (start, before) = (Instant::now(), self.received());
        while self.received() - before < bytes {
            assert!(start.elapsed() < PATIENCE, "{} bytes of {bytes} arrived", self.received() - before);
            self.send_for(TICK);
        }
    }

    /// Sends for a second; the rate at which data arrived in it.
    fn goodput(&mut self) -> Rate {
        let (start, before) = (Instant::now(), self.received());
        self.send_for(Duration::from_secs(1));
        Rate::from_bits_per_sec((self.received() - before) as f64 * 8.0 / start.elapsed().as_secs_f64())
    }

    /// Writes at most this many bytes.
    fn write(&mut self, most: u64) -> u64 {
        let start = self.random.usize(..BUFFER);
        let piece = &CONTENT[start..][..BUFFER.min(most.try_into().unwrap_or(BUFFER))];
        match self.stream.write(piece) {
            Ok(bytes) => {
                self.sent.update(&piece[..bytes]);
                bytes as u64
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => panic!("{error}"),
        }
    }

    /// Ends it when everything has arrived as it was sent.
    pub fn finish(mut self) {
        self.stream.shutdown(Shutdown::Write).expect("a connection");
        let received = self.receiver.join().expect("the receiver");
        assert_eq!(received, self.sent.finalize());
        // The other side has closed; nothing waits for an acknowledgement any more.
        assert_eq!(self.stream.read(&mut [0]).expect("the end"), 0);
    }

    /// Closes both ends with whatever is on its way.
    pub fn abandon(self) {
        drop(self.stream);
        self.far_end.shutdown(Shutdown::Both).expect("a connection");
        drop(self.receiver.join());
    }
}

/// Receives until the other side has no more.
fn receive(mut stream: TcpStream, counter: &AtomicU64) -> Hash {
    let (mut buffer, mut hasher) = (vec![0; BUFFER], Hasher::new());
    loop {
        let got = stream.read(&mut buffer).expect("data, or the end");
        if got == 0 {
            // Fails if it has been ended from elsewhere.
            let _ = stream.shutdown(Shutdown::Both);
            return hasher.finalize();
        }
        hasher.update(&buffer[..got]);
        counter.fetch_add(got as u64, Ordering::Relaxed);
    }
}
