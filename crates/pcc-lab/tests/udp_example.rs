//! The example transport of `pcc` in virtual time over the path model: everything arrives, at the rate of the path.

#[path = "../../pcc/examples/udp.rs"]
#[allow(dead_code, reason = "its `main` uses real sockets")]
mod udp;

use pcc::{Profile, Rate, Time, profiles};
use pcc_lab::link::{Path, PathConfig, Reordering};
use std::time::Duration;
use udp::{DATAGRAM, PIECE, Receiver, Sender};

const TOKEN: u64 = 0x1234_5678_9abc_def0;
/// Headers of IPv4 and UDP.
const IP_UDP: u64 = 28;

/// What the world does to datagrams beyond what the path model does.
#[derive(Clone, Copy, Default)]
struct Mischief {
    /// The share of datagrams that arrive twice.
    duplicated: f64,
    /// Datagrams of garbage for each genuine one, to both ends.
    garbage: f64,
}

/// Two ends, a path between them in each direction, and a clock.
struct World {
    sender: Sender,
    receiver: Receiver,
    forth: Path<Vec<u8>>,
    back: Path<Vec<u8>>,
    rng: fastrand::Rng,
    mischief: Mischief,
    now: Time,
    /// When each megabyte had arrived.
    megabytes: Vec<Time>,
}

impl World {
    fn new(profile: &Profile, data: &[u8], [forth, back]: [&PathConfig; 2], seed: u64) -> World {
        World {
            sender: Sender::new(TOKEN, data.to_vec(), Box::new(profile.build(seed))),
            receiver: Receiver::new(TOKEN),
            forth: Path::new(forth, seed.wrapping_add(1)),
            back: Path::new(back, seed.wrapping_add(2)),
            rng: fastrand::Rng::with_seed(seed),
            mischief: Mischief::default(),
            now: Time::ZERO,
            megabytes: vec![Time::ZERO],
        }
    }

    /// Runs until the sender knows that everything has arrived; at most for `limit`.
    fn run(&mut self, limit: Duration) {
        while !self.sender.is_done() {
            assert!(self.now < Time::ZERO + limit, "{} bytes after {limit:?}", self.receiver.data.len());
            while let Some(datagram) = self.sender.poll_transmit(self.now) {
                assert!(datagram.len() <= DATAGRAM);
                put(&mut self.forth, self.now, datagram);
            }
            let next = [self.sender.next_timeout(), self.forth.next_event(), self.back.next_event()];
            self.now = self.now.max(next.into_iter().flatten().min().expect("something is always due"));
            while let Some(packet) = self.forth.poll(self.now) {
                for _ in 0..self.copies() {
                    if let Some(ack) = self.receiver.on_datagram(&packet.payload) {
                        put(&mut self.back, self.now, ack);
                    }
                }
                self.pester(&packet.payload);
                while self.receiver.data.len() >= self.megabytes.len() * 1_000_000 {
                    self.megabytes.push(self.now);
                }
            }
            while let Some(packet) = self.back.poll(self.now) {
                for _ in 0..self.copies() {
                    self.sender.on_datagram(self.now, &packet.payload);
                }
                self.pester(&packet.payload);
            }
        }
    }

    fn copies(&mut self) -> usize {
        if self.rng.f64() < self.mischief.duplicated { 2 } else { 1 }
    }

    /// Sends both ends garbage without the token, and pieces of genuine datagrams.
    fn pester(&mut self, genuine: &[u8]) {
        if self.rng.f64() >= self.mischief.garbage {
            return;
        }
        let mut garbage: Vec<u8> = (0..self.rng.usize(..2000)).map(|_| self.rng.u8(..)).collect();
        if self.rng.bool() {
            garbage = genuine.to_vec();
            let flipped = self.rng.usize(..8);
            garbage[flipped] ^= 1 << self.rng.u8(..8);
        } else if self.rng.bool() {
            garbage = genuine[..self.rng.usize(..24)].to_vec();
        }
        self.receiver.on_datagram(&garbage);
        self.sender.on_datagram(self.now, &garbage);
    }

    /// Goodput from the arrival of one megabyte to that of a later one, the first from the start on.
    fn goodput(&self, from: usize, to: usize) -> Rate {
        Rate::from_bytes_over((to - from) as u64 * 1_000_000, self.megabytes[to].since(self.megabytes[from]))
    }
}

fn put(path: &mut Path<Vec<u8>>, now: Time, datagram: Vec<u8>) {
    let bytes = datagram.len() as u64 + IP_UDP;
    path.enqueue(now, 0, datagram, bytes);
}

/// Data in which no piece looks like another.
fn data(bytes: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(9);
    (0..bytes).map(|_| rng.u8(..)).collect()
}

/// 50 Mbit/s, 40 ms, 1 % loss, a queue of one bandwidth-delay product; acknowledgements only take time.
fn lossy() -> [PathConfig; 2] {
    let delay = Duration::from_millis(20);
    let rate = Rate::from_mbps(50.0);
    let forth = PathConfig {
        capacity: rate.into(),
        queue: rate.bytes_in(2 * delay).into(),
        loss: 0.01.into(),
        ..PathConfig::delay_only(delay)
    };
    [forth, PathConfig::delay_only(delay)]
}

/// What could arrive at most: 50 Mbit/s less the headers of full packets. Loss costs nothing here: the path model loses
/// packets before the bottleneck, so that a sender that is 1 % faster fills it all the same.
fn limit() -> Rate {
    Rate::from_mbps(50.0) * (PIECE as f64 / (DATAGRAM as u64 + IP_UDP) as f64)
}

/// Moves 20 MB over the lossy path, and returns how it went.
fn transfer(profile: &Profile, seed: u64) -> World {
    let data = data(20_000_000);
    let [forth, back] = lossy();
    let mut world = World::new(profile, &data, [&forth, &back], seed);
    world.run(Duration::from_secs(20));
    assert!(world.receiver.done && world.receiver.data == data, "{}, seed {seed}", profile.name);
    world
}

#[test]
fn a_known_path_is_filled_to_nine_tenths_start_up_included() {
    let profile = profiles::vivace_latency().with_first_rate(Rate::from_mbps(20.0));
    for seed in 1..=3 {
        let share = transfer(&profile, seed).goodput(0, 20) / limit();
        assert!(share > 0.9, "seed {seed}: {share}");
    }
}

/// From the profile's own first rate, 1.6 Mbit/s, start-up and what it leaves behind cost some 0.9 s of 4.4 s: it awaits
/// the result of each doubling. So the whole gets three quarters, and the second half nine tenths.
#[test]
fn an_unknown_path_is_filled_to_nine_tenths_after_start_up() {
    for seed in 1..=3 {
        let world = transfer(&profiles::vivace_latency(), seed);
        let (whole, half) = (world.goodput(0, 20) / limit(), world.goodput(10, 20) / limit());
        assert!(whole > 0.7 && half > 0.9, "seed {seed}: {whole}, {half}");
    }
}

/// The numbers of `docs/embedding.md`: shares of the limit, and the share of packets that repeat data.
#[test]
fn table() {
    let mut table = String::new();
    for profile in [profiles::vivace_latency(), profiles::vivace_loss()] {
        for first in [None, Some(10.0), Some(20.0), Some(40.0)] {
            let begun = first.map_or(profile.clone(), |mbps| profile.clone().with_first_rate(Rate::from_mbps(mbps)));
            for seed in 1..=5 {
                let world = transfer(&begun, seed);
                let percent = |from| 100.0 * (world.goodput(from, 20) / limit());
                let (pieces, sent) = (20_000_000_u64.div_ceil(PIECE as u64), world.sender.next_number);
                let again = 100.0 * (sent - pieces) as f64 / sent as f64;
                let first = first.map_or("own".to_owned(), |mbps| format!("{mbps} Mbit/s"));
                let [whole, half] = [percent(0), percent(10)];
                let row = format!("{:<15} {first:<9} {seed}  {whole:5.1} %  {half:5.1} %  {again:4.1} %", profile.name);
                table.push_str(row.trim_end());
                table.push('\n');
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn everything_arrives_whatever_the_path_does() {
    let delay = Duration::from_millis(20);
    let path = PathConfig {
        capacity: Rate::from_mbps(20.0).into(),
        queue: 30_000.into(),
        loss: 0.2.into(),
        jitter: Duration::from_millis(5),
        reordering: Some(Reordering { probability: 0.1, delay: Duration::from_millis(15) }),
        ..PathConfig::delay_only(delay)
    };
    let back = PathConfig { loss: 0.2.into(), ..path.clone() };
    // The last packet, too, may be lost, and the acknowledgement of it; one piece, a full one, one more byte, many.
    for (seed, bytes) in [0, 1, PIECE, PIECE + 1, 100 * PIECE, 1_000_000].into_iter().enumerate() {
        for profile in profiles::all() {
            let data = data(bytes);
            let mut world = World::new(&profile, &data, [&path, &back], seed as u64);
            world.mischief = Mischief { duplicated: 0.2, garbage: 0.5 };
            world.run(Duration::from_secs(600));
            assert!(world.receiver.done && world.receiver.data == data, "{} of {bytes} bytes", profile.name);
        }
    }
}

/// Somebody who knows the token can spoil a transfer, but no more: nothing panics, nothing grows without bound.
#[test]
fn no_datagram_makes_an_end_panic() {
    let mut rng = fastrand::Rng::with_seed(5);
    let control = profiles::vivace_latency().build(1);
    let mut sender = Sender::new(TOKEN, data(3_000_000), Box::new(control));
    let mut receiver = Receiver::new(TOKEN);
    let mut now = Time::ZERO;
    for _ in 0..200_000 {
        now += Duration::from_micros(rng.u64(..500));
        while sender.poll_transmit(now).is_some() {}
        let mut datagram = TOKEN.to_be_bytes().to_vec();
        // Numbers of every size, the extremes among them.
        while datagram.len() < 44 {
            datagram.extend((rng.u64(..) >> rng.u32(..64)).to_be_bytes());
        }
        datagram.truncate(if rng.bool() { 24 } else { rng.usize(..=44) });
        sender.on_datagram(now, &datagram);
        receiver.on_datagram(&datagram);
    }
    assert!(receiver.data.len() < 20 * 20_000, "{} bytes", receiver.data.len());
}
