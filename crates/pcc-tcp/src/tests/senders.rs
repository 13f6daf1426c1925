//! The C sender on a path of its own: counters, brakes, pauses.

use crate::ffi::{Ack, Profile, Sender};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;
const RTT_MS: usize = 30;
const MSS: u64 = 1200;

/// A socket on a path that nothing fills: a millisecond at a time, all that was sent a round trip ago is acknowledged or lost.
struct Socket {
    sender: Sender,
    ack: Ack,
    /// Segments sent in each of the last milliseconds.
    path: VecDeque<u32>,
    credit: u64,
}

impl Socket {
    /// A socket whose counter of segments stands at `sent`.
    fn new(profile: Profile, sent: u32) -> Socket {
        let ack = Ack { now: 1000 * MS, sent, mss: MSS as u32, ..Ack::default() };
        Socket { sender: Sender::new(profile, 1, &ack), ack, path: VecDeque::from([0; RTT_MS]), credit: 0 }
    }

    /// Runs for some milliseconds, of which one in `lossy` loses all its segments.
    fn run(&mut self, milliseconds: usize, lossy: usize) {
        for i in 0..milliseconds {
            let due = self.path.pop_front().unwrap_or(0);
            self.ack.in_flight -= due;
            if due > 0 {
                (self.ack.rtt, self.ack.srtt) = (RTT_MS as u64 * MS, RTT_MS as u64 * MS);
                self.ack.lost = if i % lossy == lossy - 1 { due } else { 0 };
                self.sender.on_ack(&self.ack);
            }
            self.credit += self.sender.rate() / 8000;
            self.send((self.credit / MSS) as u32);
            self.credit %= MSS;
            self.ack.now += MS;
        }
    }

    fn send(&mut self, segments: u32) {
        if self.ack.in_flight == 0 && segments > 0 {
            self.sender.on_first_sent(&self.ack);
        }
        self.ack.sent = self.ack.sent.wrapping_add(segments);
        self.ack.in_flight += segments;
        self.ack.bytes_sent += u64::from(segments) * MSS;
        self.path.push_back(segments);
    }

    fn drain(&mut self) {
        self.ack.now += RTT_MS as u64 * MS;
        self.ack.in_flight = 0;
        self.path = VecDeque::from([0; RTT_MS]);
        self.sender.on_ack(&self.ack);
    }
}

#[test]
fn rises_on_an_empty_path() {
    for profile in [Profile::VivaceLatency, Profile::VivaceLoss, Profile::Allegro2015] {
        let mut socket = Socket::new(profile, 0);
        socket.run(1500, usize::MAX);
        assert!(socket.sender.rate() > 100_000_000, "{profile:?}: {}", socket.sender.rate());
    }
}

#[test]
fn counters_wrap_around() {
    let rates = [0, u32::MAX - 5000].map(|sent| {
        let mut socket = Socket::new(Profile::VivaceLatency, sent);
        socket.run(1500, 100);
        (socket.sender.rate(), socket.ack.sent.wrapping_sub(sent))
    });
    assert!(rates[0].1 > 5000, "it got past the end");
    assert_eq!(rates[0], rates[1]);
}

#[test]
fn an_interval_that_loses_more_than_half_halves_the_rate() {
    let mut socket = Socket::new(Profile::VivaceLoss, 0);
    socket.run(600, usize::MAX);
    let before = socket.sender.rate();
    socket.run(3 * RTT_MS, 1);
    let after = socket.sender.rate() as f64 / before as f64;
    assert!((0.2..0.6).contains(&after), "{after}");
}

#[test]
fn a_timeout_halves_the_rate_and_a_long_silence_starts_anew() {
    let mut socket = Socket::new(Profile::VivaceLatency, 0);
    socket.run(600, usize::MAX);
    let before = socket.sender.rate() as f64;
    socket.ack.now += 250 * MS;
    socket.sender.on_timeout(&socket.ack);
    let after = socket.sender.rate() as f64 / before;
    assert!((0.4..0.6).contains(&after), "a probe around one half, but {after}");
    for _ in 0..20 {
        socket.ack.now += 1000 * MS;
        socket.sender.on_timeout(&socket.ack);
    }
    assert_eq!(socket.sender.rate(), 1_600_000, "the rate of a first start");
}

#[test]
fn after_a_pause_the_rate_is_a_guess() {
    for (pause, halved) in [(500, false), (2000, true)] {
        let mut socket = Socket::new(Profile::VivaceLatency, 0);
        socket.run(600, usize::MAX);
        socket.drain();
        let before = socket.sender.rate() as f64;
        socket.ack.now += pause * MS;
        socket.send(1);
        let after = socket.sender.rate() as f64 / before;
        assert_eq!(after < 0.6, halved, "{after} after {pause} ms");
    }
}
