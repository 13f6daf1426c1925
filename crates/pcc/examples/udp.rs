//! A small reliable transfer over UDP, to show how PCC goes into a transport of your own. `docs/embedding.md` has the rules.
//!
//! `cargo run --release -p pcc --example udp -- [MEGABYTES] [PROFILE] [FIRST-RATE]` sends that much (default 100) from one
//! thread to another over loopback, with a profile of `pcc::profiles::all()` (default `vivace-latency`), and prints how it
//! went. A transport that remembers a path may begin at a known rate, such as `20mbit`, instead of the profile's.
//!
//! [`Sender`] and [`Receiver`] read no clock and own no socket: time and datagrams are passed in. The data is cut into
//! numbered pieces, one in each packet. Every datagram begins with a token that only the two ends know; a real transport
//! encrypts and authenticates. All integers are big-endian:
//!
//! ```text
//! data  token u64, packet number u64, piece u64, last u8 (0 or 1), up to 1175 bytes
//! ack   token u64, newest packet u64, its delay in us u32, packets received u128 (bit i: newest - i), complete u64:
//!       all pieces below this one have arrived
//! ```

use pcc::profiles;
use pcc::{AckedPacket, CongestionControl, LostPacket, PacketTable, Rate, SentPacket, Time};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

/// The largest datagram: every path of QUIC carries it (RFC 9000, section 14).
pub const DATAGRAM: usize = 1200;
const DATA_HEADER: usize = 25;
/// Bytes of data in a full packet.
pub const PIECE: usize = DATAGRAM - DATA_HEADER;
const ACK_SIZE: usize = 44;
/// Pieces that the sender may be ahead of what is complete: what the receiver must hold, some 19 MB.
const WINDOW: u64 = 16_384;
/// So many packets sent later must have arrived before one counts as lost (RFC 9002, section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// The least time that timers count with (RFC 9002, section 6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// The round-trip time that is assumed before the first sample (RFC 9002, section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// What the receiver may hold an acknowledgement back for.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// A pacer that comes late makes up for this much, so that a late wake-up costs no rate. More would be a burst.
const MAX_LATENESS: Duration = Duration::from_millis(1);
/// How long `main` sleeps before it looks for acknowledgements again. It must be well below [`MAX_LATENESS`].
const MAX_SLEEP: Duration = Duration::from_micros(200);

/// The round-trip time of a path (RFC 9002, section 5).
#[derive(Clone, Copy, Debug, Default)]
struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    latest: Duration,
}

impl Rtt {
    fn add(&mut self, sample: Duration) {
        self.latest = sample;
        let smoothed = self.smoothed.unwrap_or(sample);
        let deviation = smoothed.abs_diff(sample);
        self.variation = self.smoothed.map_or(sample / 2, |_| (self.variation * 3 + deviation) / 4);
        self.smoothed = Some((smoothed * 7 + sample) / 8);
    }

    /// RFC 9002, section 6.1.2: a packet that others overtook counts as lost after 9/8 of a round trip.
    fn loss_delay(&self) -> Duration {
        (self.latest.max(self.smoothed.unwrap_or(INITIAL_RTT)) * 9 / 8).max(GRANULARITY)
    }

    /// RFC 9002, section 6.2.1: without news for this long something is sent to learn more.
    fn probe_timeout(&self) -> Duration {
        let smoothed = self.smoothed.unwrap_or(INITIAL_RTT);
        let variation = self.smoothed.map_or(INITIAL_RTT / 2, |_| self.variation);
        smoothed + (variation * 4).max(GRANULARITY) + MAX_ACK_DELAY
    }
}

/// A packet whose outcome is open.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    sent: Time,
    bytes: u64,
    piece: u64,
}

/// The sending end.
#[derive(Debug)]
pub struct Sender {
    token: u64,
    data: Vec<u8>,
    control: Box<dyn CongestionControl>,
    /// All pieces below this one have arrived.
    complete: u64,
    /// The first piece that was never sent.
    next_piece: u64,
    /// Pieces to send again.
    lost: VecDeque<u64>,
    outstanding: PacketTable<Outstanding>,
    in_flight: u64,
    next_number: u64,
    largest_acked: Option<u64>,
    rtt: Rtt,
    last_sent: Time,
    /// Probe timeouts in a row, and whether a probe is due.
    timeouts: u32,
    probe: bool,
    /// The pacer lets the next packet go at this time.
    next_send: Time,
    packets_lost: u64,
}

impl Sender {
    /// A sender of `data` with the rates of `control`.
    pub fn new(token: u64, data: Vec<u8>, mut control: Box<dyn CongestionControl>) -> Sender {
        control.on_mtu_change(DATAGRAM as u64);
        Sender {
            token,
            data,
            control,
            complete: 0,
            next_piece: 0,
            lost: VecDeque::new(),
            outstanding: PacketTable::default(),
            in_flight: 0,
            next_number: 0,
            largest_acked: None,
            rtt: Rtt::default(),
            last_sent: Time::ZERO,
            timeouts: 0,
            probe: false,
            next_send: Time::ZERO,
            packets_lost: 0,
        }
    }

    /// Whether all data has arrived.
    pub fn is_done(&self) -> bool {
        self.complete == self.pieces()
    }

    /// Packets sent, packets lost, and the smoothed round-trip time.
    pub fn statistics(&self) -> (u64, u64, Option<Duration>) {
        (self.next_number, self.packets_lost, self.rtt.smoothed)
    }

    /// At least one, to carry the mark of the last.
    fn pieces(&self) -> u64 {
        (self.data.len().div_ceil(PIECE) as u64).max(1)
    }

    /// A datagram arrived.
    pub fn on_datagram(&mut self, now: Time, datagram: &[u8]) {
        let Some(ack) = Ack::parse(self.token, datagram) else { return };
        if ack.newest >= self.next_number || ack.complete > self.next_piece {
            return; // nobody can have received what was never sent
        }
        self.complete = self.complete.max(ack.complete);
        for number in ack.newest.saturating_sub(127)..=ack.newest {
            if ack.received & 1 << (ack.newest - number) == 0 {
                continue;
            }
            // The table gives each packet out once, so that each has one outcome.
            let Some(Outstanding { sent, bytes, .. }) = self.outstanding.take(number) else { continue };
            self.in_flight -= bytes;
            let mut rtt = now.since(sent);
            if self.largest_acked.is_none_or(|largest| number > largest) {
                (self.largest_acked, self.timeouts) = (Some(number), 0);
            }
            if number == ack.newest {
                // Only of this packet is it known how long the receiver took to answer (RFC 9002, section 5.3).
                rtt = rtt.saturating_sub(ack.delay.min(MAX_ACK_DELAY));
                self.rtt.add(rtt);
            }
            self.control.on_packet_acked(&AckedPacket { time: now, number, sent, bytes, rtt });
        }
        self.detect_losses(now);
        // All that this datagram told has been reported.
        self.control.on_batch_end(now);
    }

    /// Lost is what three later packets have overtaken, or a single one if it was sent 9/8 of a round trip ago (RFC 9002,
    /// section 6.1).
    fn detect_losses(&mut self, now: Time) -> bool {
        let Some(largest) = self.largest_acked else { return false };
        let (delay, before) = (self.rtt.loss_delay(), self.packets_lost);
        // Both rules meet older packets first, so the search ends at the first that isn't lost.
        while let Some((number, &Outstanding { sent, bytes, piece })) = self.outstanding.first() {
            if number > largest || (number + PACKET_THRESHOLD > largest && now.since(sent) < delay) {
                break;
            }
            self.outstanding.take(number);
            self.in_flight -= bytes;
            self.packets_lost += 1;
            self.lost.push_back(piece);
            self.control.on_packet_lost(&LostPacket { time: now, number, sent, bytes });
        }
        self.packets_lost > before
    }

    /// For a packet that was overtaken, or else the probe timeout (RFC 9002, section 6.2.1).
    fn loss_timer(&self) -> Option<Time> {
        let (number, oldest) = self.outstanding.first()?;
        let overtaken = self.largest_acked.is_some_and(|acked| acked > number);
        let probe = self.last_sent + self.rtt.probe_timeout() * (1 << self.timeouts.min(6));
        Some(if overtaken { oldest.sent + self.rtt.loss_delay() } else { probe })
    }

    /// When [`on_timeout`](Self::on_timeout), and after it [`poll_transmit`](Self::poll_transmit), want to be called.
    pub fn next_timeout(&self) -> Option<Time> {
        let send = (self.has_data() && self.has_room()).then_some(self.next_send);
        [send, self.loss_timer(), self.control.deadline()].into_iter().flatten().min()
    }

    /// Serves the timers that are due.
    pub fn on_timeout(&mut self, now: Time) {
        if self.loss_timer().is_some_and(|due| due <= now) {
            if self.detect_losses(now) {
                self.control.on_batch_end(now);
            } else {
                // Silence isn't loss (RFC 9002, section 6.2). The controller has a deadline of its own for it.
                (self.timeouts, self.probe) = (self.timeouts + 1, true);
            }
        }
        if self.control.deadline().is_some_and(|due| due <= now) {
            self.control.on_deadline(now);
        }
    }

    fn has_data(&self) -> bool {
        !self.lost.is_empty() || (self.next_piece < self.pieces() && self.next_piece < self.complete + WINDOW)
    }

    /// With nothing in flight a packet may always go, or a small cap would stop the connection for ever.
    fn has_room(&self) -> bool {
        self.in_flight == 0 || self.in_flight + DATAGRAM as u64 <= self.control.in_flight_cap()
    }

    /// The next datagram, if one may go now. To be called until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        // A probe waits neither for the pacer nor for the cap (RFC 9002, section 6.2.4).
        let probe = std::mem::take(&mut self.probe);
        if !probe && (now < self.next_send || !self.has_room()) {
            return None;
        }
        // What has arrived since, on another packet or late, needn't go again.
        while self.lost.front().is_some_and(|&piece| piece < self.complete) {
            self.lost.pop_front();
        }
        let new = self.next_piece;
        let piece = if let Some(piece) = self.lost.pop_front() {
            piece
        } else if self.has_data() {
            self.next_piece += 1;
            new
        } else if let (true, Some((_, oldest))) = (probe, self.outstanding.first()) {
            oldest.piece
        } else {
            if new == self.pieces() {
                // Pacer and cap would have let more go, but there is no more.
                self.control.on_app_limited(now);
            }
            return None;
        };
        Some(self.transmit(now, piece))
    }

    fn transmit(&mut self, now: Time, piece: u64) -> Vec<u8> {
        let begin = self.data.len().min(piece as usize * PIECE);
        let payload = &self.data[begin..self.data.len().min(begin + PIECE)];
        let number = self.next_number; // a new one, also for what is sent again
        let mut datagram = Vec::with_capacity(DATAGRAM);
        for field in [self.token, number, piece] {
            datagram.extend(field.to_be_bytes());
        }
        datagram.push((piece + 1 == self.pieces()).into());
        datagram.extend(payload);

        let bytes = datagram.len() as u64;
        self.outstanding.insert(number, Outstanding { sent: now, bytes, piece });
        (self.next_number, self.in_flight, self.last_sent) = (number + 1, self.in_flight + bytes, now);
        self.control.on_packet_sent(&SentPacket { time: now, number, bytes });
        // The rate may change with every event, so it is read anew for every packet.
        let gap = self.control.pacing_rate().map_or(Duration::ZERO, |rate| rate.time_for(bytes));
        self.next_send = self.next_send.max(now - MAX_LATENESS) + gap;
        datagram
    }
}

/// What an acknowledgement says.
struct Ack {
    newest: u64,
    delay: Duration,
    received: u128,
    complete: u64,
}

impl Ack {
    fn parse(token: u64, mut datagram: &[u8]) -> Option<Ack> {
        if datagram.len() != ACK_SIZE || u64::from_be_bytes(take(&mut datagram)?) != token {
            return None;
        }
        Some(Ack {
            newest: u64::from_be_bytes(take(&mut datagram)?),
            delay: Duration::from_micros(u32::from_be_bytes(take(&mut datagram)?).into()),
            received: u128::from_be_bytes(take(&mut datagram)?),
            complete: u64::from_be_bytes(take(&mut datagram)?),
        })
    }
}

/// Cuts the first bytes off.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(*first)
}

/// The receiving end.
#[derive(Debug, Default)]
pub struct Receiver {
    token: u64,
    /// All pieces below this one have arrived.
    complete: u64,
    /// Pieces that wait for one before them.
    early: BTreeMap<u64, (bool, Vec<u8>)>,
    done: bool,
    /// The newest packet and when it arrived, and which of the 128 up to it have.
    newest: Option<(u64, Time)>,
    received: u128,
    ack_due: bool,
}

impl Receiver {
    /// A receiver of what a [`Sender`] with this token sends.
    pub fn new(token: u64) -> Receiver {
        Receiver { token, ..Receiver::default() }
    }

    /// Whether all data has arrived.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// A datagram arrived. Appends to `data` what is there without a gap now.
    pub fn on_datagram(&mut self, now: Time, datagram: &[u8], data: &mut Vec<u8>) {
        self.on_packet(now, datagram, data);
    }

    fn on_packet(&mut self, now: Time, mut rest: &[u8], data: &mut Vec<u8>) -> Option<()> {
        if rest.len() > DATAGRAM || u64::from_be_bytes(take(&mut rest)?) != self.token {
            return None;
        }
        let (number, piece) = (u64::from_be_bytes(take(&mut rest)?), u64::from_be_bytes(take(&mut rest)?));
        let [last] = take(&mut rest)?;
        // A packet that there is no room for isn't acknowledged: it will come again.
        if piece >= self.complete.saturating_add(WINDOW) {
            return None;
        }
        let newest = self.newest.map_or(number, |(newest, _)| newest);
        if number >= newest {
            // Without an earlier packet nothing is shifted out; after a jump of 128 or more nothing is left.
            self.received =
                u32::try_from(number - newest).ok().and_then(|by| self.received.checked_shl(by)).unwrap_or(0);
            self.newest = Some((number, now));
        }
        let back = self.newest.map_or(0, |(newest, _)| newest - number);
        self.received |= u32::try_from(back).ok().and_then(|by| 1_u128.checked_shl(by)).unwrap_or(0);
        self.ack_due = true;
        if piece >= self.complete {
            self.early.entry(piece).or_insert_with(|| (last == 1, rest.to_vec()));
        }
        while let Some((last, piece)) = self.early.remove(&self.complete) {
            data.extend(piece);
            self.complete += 1;
            self.done |= last;
        }
        Some(())
    }

    /// The acknowledgement to send now, if any. At once for every packet, each gives the sender a clean sample of the path.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        let (newest, arrived) = self.newest.filter(|_| std::mem::take(&mut self.ack_due))?;
        let delay = u32::try_from(now.since(arrived).as_micros()).unwrap_or(u32::MAX);
        let mut ack = Vec::with_capacity(ACK_SIZE);
        ack.extend(self.token.to_be_bytes());
        ack.extend(newest.to_be_bytes());
        ack.extend(delay.to_be_bytes());
        ack.extend(self.received.to_be_bytes());
        ack.extend(self.complete.to_be_bytes());
        Some(ack)
    }
}

/// Takes data in and acknowledges it. It answers for a second longer, should its last acknowledgement be lost.
fn receive(socket: &UdpSocket, mut receiver: Receiver, origin: Instant) -> std::io::Result<Vec<u8>> {
    let (mut data, mut buffer) = (Vec::new(), [0; 2048]);
    loop {
        let length = match socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(_) if receiver.is_done() => return Ok(data),
            Err(error) => return Err(error),
        };
        let now = Time::ZERO + origin.elapsed();
        receiver.on_datagram(now, &buffer[..length], &mut data);
        if let Some(ack) = receiver.poll_transmit(now) {
            socket.send(&ack)?;
        }
    }
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let megabytes: usize = args.next().map_or(Ok(100), |text| text.parse())?;
    let name = args.next().unwrap_or_else(|| "vivace-latency".to_owned());
    let profile = profiles::all().into_iter().find(|profile| profile.name == name);
    let mut profile = profile.ok_or_else(|| format!("no profile is called {name}"))?;
    if let Some(rate) = args.next() {
        profile = profile.with_first_rate(rate.parse()?);
    }
    let token = RandomState::new().build_hasher().finish(); // random; a real transport has a handshake
    let data: Vec<u8> = (0..megabytes * 1_000_000).map(|i| (i / 7) as u8).collect();
    let (socket, peer) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    socket.connect(peer.local_addr()?)?;
    peer.connect(socket.local_addr()?)?;
    socket.set_nonblocking(true)?;
    peer.set_read_timeout(Some(Duration::from_secs(1)))?;

    let origin = Instant::now();
    let now = || Time::ZERO + origin.elapsed();
    let mut sender = Sender::new(token, data.clone(), Box::new(profile.build(token)));
    let receiving = thread::spawn(move || receive(&peer, Receiver::new(token), origin));
    let mut buffer = [0; 2048];
    while !sender.is_done() {
        while let Ok(length) = socket.recv(&mut buffer) {
            sender.on_datagram(now(), &buffer[..length]);
        }
        sender.on_timeout(now());
        while let Some(datagram) = sender.poll_transmit(now()) {
            // A full socket buffer is a lost packet like any other.
            let _ = socket.send(&datagram);
        }
        let wait = sender.next_timeout().map_or(MAX_SLEEP, |due| due.since(now()));
        thread::sleep(wait.min(MAX_SLEEP));
    }
    let seconds = origin.elapsed().as_secs_f64();
    let received = receiving.join().map_err(|_| "the receiver panicked")??;
    assert!(received == data, "what arrived isn't what was sent");
    let (sent, lost, rtt) = sender.statistics();
    let (goodput, loss) =
        (Rate::from_bytes_over(data.len() as u64, Duration::from_secs_f64(seconds)), lost as f64 / sent as f64);
    println!("{megabytes} MB in {seconds:.2} s: {goodput}, {:.2} % of {sent} packets lost, RTT {rtt:?}", loss * 100.0);
    Ok(())
}
