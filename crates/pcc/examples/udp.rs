//! A small reliable transfer over UDP, to show how PCC goes into a transport of your own. The documentation of the trait
//! `CongestionControl` has the rules.
//!
//! `cargo run --release -p pcc --example udp -- [MEGABYTES]` sends that much (default 100) from one socket to another over
//! loopback, and prints how it went.
//!
//! [`Sender`] and [`Receiver`] read no clock and own no socket: time and datagrams are passed in. The data is cut into
//! numbered pieces, one in each packet; the first piece that isn't full is the last. Each packet is acknowledged at once,
//! by a datagram of its own. Integers are big-endian `u64`:
//!
//! ```text
//! data  token, packet number, piece, up to 1176 bytes
//! ack   token, packet number, complete: all pieces below this one have arrived
//! ```
//!
//! What a real transport has in addition: encryption and authentication instead of a token that only the two ends know;
//! acknowledgements that also name earlier packets, so that a lost acknowledgement isn't taken for a lost packet.

use pcc::{AckedPacket, CongestionControl, LostPacket, PacketTable, Rate, SentPacket, Time, profiles};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// The size of a full datagram in bytes: every path of QUIC carries it (RFC 9000, section 14).
pub const DATAGRAM: usize = 1200;
/// Three integers: the header of data, and a whole acknowledgement.
const HEADER: usize = 24;
/// Bytes of data in a full packet.
pub const PIECE: usize = DATAGRAM - HEADER;
/// Pieces that the sender may be ahead of `complete`. The receiver must be able to hold so many, some 19 MB.
const WINDOW: u64 = 16_384;
/// A packet counts as lost when one sent so many packets later has arrived (RFC 9002, section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// How much lateness the pacer makes up for. Without it a late wake-up would cost rate; more would be a burst.
const MAX_LATENESS: Duration = Duration::from_millis(1);
/// How long `main` sleeps before it looks for datagrams again. It must be well below [`MAX_LATENESS`].
const MAX_SLEEP: Duration = Duration::from_micros(200);

fn encode(fields: [u64; 3]) -> Vec<u8> {
    fields.iter().flat_map(|field| field.to_be_bytes()).collect()
}

/// The integers after the token, and what follows them; `None` if the datagram is too short or has another token.
fn decode(token: u64, datagram: &[u8]) -> Option<([u64; 2], &[u8])> {
    let (header, rest) = datagram.split_first_chunk::<HEADER>()?;
    let integer = |i: usize| header[i * 8..][..8].iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    (integer(0) == token).then(|| ([integer(1), integer(2)], rest))
}

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    token: u64,
    data: Vec<u8>,
    control: Box<dyn CongestionControl>,
    /// Pieces to send, or to send again.
    queue: VecDeque<u64>,
    /// All pieces below this one have arrived.
    complete: u64,
    /// The number of the next packet: so many have been sent.
    pub next_number: u64,
    largest_acked: u64,
    /// Packets that are neither acknowledged nor lost yet, and the piece in each.
    outstanding: PacketTable<(SentPacket, u64)>,
    /// Bytes of all outstanding packets.
    in_flight: u64,
    /// The smoothed round-trip time (RFC 9002, section 5.3).
    rtt: Option<Duration>,
    /// Three round trips. After so long without an acknowledgement the oldest packet is sent again, which brings one
    /// (RFC 9002, section 6.2).
    probe_timeout: Duration,
    probe_time: Option<Time>,
    /// The pacer lets the next packet go at this time.
    next_send: Time,
}

impl Sender {
    /// A sender of `data` at the rates of `control`.
    pub fn new(token: u64, data: Vec<u8>, mut control: Box<dyn CongestionControl>) -> Sender {
        control.on_mtu_change(DATAGRAM as u64);
        Sender {
            token,
            queue: (0..=(data.len() / PIECE) as u64).collect(),
            data,
            control,
            complete: 0,
            next_number: 0,
            largest_acked: 0,
            outstanding: PacketTable::default(),
            in_flight: 0,
            rtt: None,
            probe_timeout: Duration::from_secs(1),
            probe_time: None,
            next_send: Time::ZERO,
        }
    }

    /// Whether all data has arrived.
    pub fn is_done(&self) -> bool {
        self.complete > (self.data.len() / PIECE) as u64
    }

    /// Takes an acknowledgement in.
    pub fn on_datagram(&mut self, now: Time, datagram: &[u8]) {
        let Some(([number, complete], [])) = decode(self.token, datagram) else { return };
        // The table hands out each packet that was sent once, so that it has one outcome.
        let Some((SentPacket { time: sent, bytes, .. }, _)) = self.outstanding.take(number) else { return };
        self.in_flight -= bytes;
        self.complete = self.complete.max(complete);
        self.largest_acked = self.largest_acked.max(number);
        let rtt = now.since(sent);
        let smoothed = self.rtt.map_or(rtt, |smoothed| (smoothed * 7 + rtt) / 8);
        (self.rtt, self.probe_timeout) = (Some(smoothed), smoothed * 3);
        self.control.on_packet_acked(&AckedPacket { time: now, number, sent, bytes, rtt });
        self.detect_losses(now, rtt.max(smoothed) * 9 / 8);
        self.probe_time = self.outstanding.first().map(|_| now + self.probe_timeout);
        // All that this datagram told has been reported.
        self.control.on_batch_end(now);
    }

    /// A packet is lost when one sent three packets later has arrived, or any later one and `delay` has passed since it was
    /// sent (RFC 9002, section 6.1). With no timer for the latter, the last packets wait for the probe timeout.
    fn detect_losses(&mut self, now: Time, delay: Duration) {
        // The oldest packet comes first, so the search ends at the first that isn't lost.
        while let Some((number, &(SentPacket { time: sent, bytes, .. }, piece))) = self.outstanding.first() {
            let late = now.since(sent) >= delay || number + PACKET_THRESHOLD <= self.largest_acked;
            if number > self.largest_acked || !late {
                break;
            }
            self.outstanding.take(number);
            self.in_flight -= bytes;
            self.queue.push_front(piece);
            self.control.on_packet_lost(&LostPacket { time: now, number, sent, bytes });
        }
        // What has arrived on another packet needn't go again.
        while self.queue.front().is_some_and(|&piece| piece < self.complete) {
            self.queue.pop_front();
        }
    }

    /// When a piece may go that isn't too far ahead for the receiver: when the pacer says so, unless too much is in flight.
    /// With nothing in flight a packet may always go, or a small cap would stop the connection for ever.
    fn send_time(&self) -> Option<Time> {
        let ready = self.queue.front().is_some_and(|&piece| piece < self.complete.saturating_add(WINDOW));
        let fits = self.in_flight == 0 || self.in_flight + DATAGRAM as u64 <= self.control.in_flight_cap();
        (ready && fits).then_some(self.next_send)
    }

    /// When [`poll_transmit`](Self::poll_transmit) wants to be called.
    pub fn next_timeout(&self) -> Option<Time> {
        [self.send_time(), self.probe_time, self.control.deadline()].into_iter().flatten().min()
    }

    /// Serves the timers that are due. Returns the next datagram, if one may go now; to be called until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        let is_due = |time: Option<Time>| time.is_some_and(|due| due <= now);
        if is_due(self.control.deadline()) {
            self.control.on_deadline(now);
        }
        let piece = if is_due(self.probe_time) {
            // A probe waits neither for the pacer nor for the cap. The controller isn't told: silence isn't loss.
            self.probe_timeout = (self.probe_timeout * 2).min(Duration::from_secs(60));
            self.outstanding.first()?.1.1
        } else if is_due(self.send_time()) {
            self.queue.pop_front()?
        } else {
            if self.queue.is_empty() {
                self.control.on_app_limited(now);
            }
            return None;
        };

        let number = self.next_number; // a new one, also for what is sent again
        let mut datagram = encode([self.token, number, piece]);
        let begin = piece as usize * PIECE;
        datagram.extend(&self.data[begin..self.data.len().min(begin + PIECE)]);
        let bytes = datagram.len() as u64;
        let packet = SentPacket { time: now, number, bytes };
        self.outstanding.insert(number, (packet, piece));
        (self.next_number, self.in_flight) = (number + 1, self.in_flight + bytes);
        self.probe_time = Some(now + self.probe_timeout);
        self.control.on_packet_sent(&packet);
        // The rate may change with every event, so it is read anew for every packet.
        let gap = self.control.pacing_rate().map_or(Duration::ZERO, |rate| rate.time_for(bytes));
        self.next_send = self.next_send.max(now - MAX_LATENESS) + gap;
        Some(datagram)
    }
}

/// The receiving end.
#[derive(Debug, Default)]
pub struct Receiver {
    token: u64,
    /// What has arrived without a gap.
    pub data: Vec<u8>,
    /// Whether that is all.
    pub done: bool,
    /// All pieces below this one have arrived.
    complete: u64,
    /// Pieces that wait for one before them.
    early: BTreeMap<u64, Vec<u8>>,
}

impl Receiver {
    /// A receiver of what a [`Sender`] with this token sends.
    pub fn new(token: u64) -> Receiver {
        Receiver { token, ..Receiver::default() }
    }

    /// Takes a packet in. Returns the acknowledgement, to be sent at once.
    pub fn on_datagram(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        let ([number, piece], payload) = decode(self.token, datagram)?;
        // What there is no space for isn't acknowledged: it will come again.
        if payload.len() > PIECE || piece >= self.complete.saturating_add(WINDOW) {
            return None;
        }
        if piece >= self.complete {
            self.early.insert(piece, payload.to_vec());
        }
        while let Some(payload) = self.early.remove(&self.complete) {
            self.complete += 1;
            self.done |= payload.len() < PIECE;
            self.data.extend(payload);
        }
        Some(encode([self.token, number, self.complete]))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes: usize = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let data: Vec<u8> = (0..megabytes * 1_000_000).map(|i| (i / 7) as u8).collect();
    let token = RandomState::new().hash_one(0); // random; a real transport has a handshake
    let (socket, peer) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    socket.connect(peer.local_addr()?)?;
    peer.connect(socket.local_addr()?)?;
    socket.set_nonblocking(true)?;
    peer.set_nonblocking(true)?;

    let origin = Instant::now();
    let now = || Time::ZERO + origin.elapsed();
    let mut sender = Sender::new(token, data.clone(), Box::new(profiles::vivace_latency().build(token)));
    let mut receiver = Receiver::new(token);
    let mut buffer = [0; 2048];
    while !sender.is_done() {
        while let Some(datagram) = sender.poll_transmit(now()) {
            let _ = socket.send(&datagram); // what a full socket buffer refuses is a lost packet like any other
        }
        while let Ok(length) = peer.recv(&mut buffer) {
            receiver.on_datagram(&buffer[..length]).map(|ack| peer.send(&ack));
        }
        while let Ok(length) = socket.recv(&mut buffer) {
            sender.on_datagram(now(), &buffer[..length]);
        }
        let wait = sender.next_timeout().map_or(MAX_SLEEP, |due| due.since(now()));
        std::thread::sleep(wait.min(MAX_SLEEP));
    }
    let time = origin.elapsed();
    assert!(receiver.data == data, "what arrived isn't what was sent");
    let rate = Rate::from_bytes_over(data.len() as u64, time);
    println!("{megabytes} MB in {time:.2?}: {rate}, {} packets", sender.next_number);
    Ok(())
}
