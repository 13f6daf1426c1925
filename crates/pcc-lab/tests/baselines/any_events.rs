//! No sequence of events, however odd, breaks a controller.

use pcc::{AckedPacket, CongestionControl, LostPacket, SentPacket, Time};
use pcc_lab::baselines;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

/// What may happen. An outstanding packet is named by a number that picks one of them.
#[derive(Clone, Copy, Debug)]
enum Op {
    Send {
        packets: u8,
        gap: u64,
        bytes: u64,
    },
    /// With a round-trip time of its own, which need not fit the clock.
    Ack {
        pick: usize,
        rtt: Duration,
    },
    /// The oldest outstanding packets in order, as a well-behaved path has it.
    AckOldest {
        packets: u8,
    },
    Lose {
        pick: usize,
    },
    LoseOldest {
        packets: u8,
    },
    Discard {
        pick: usize,
    },
    /// A fate of a number that may never have been sent, or had its fate already.
    Stray {
        number: u64,
        kind: u8,
    },
    BatchEnd,
    Deadline,
    AppLimited,
    Mtu(u64),
    Wait(Duration),
    StepBack(Duration),
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        6 => (0..100u64).prop_map(Duration::from_millis),
        1 => Just(Duration::ZERO),
        1 => (1..100u64).prop_map(|hours| Duration::from_secs(3600 * hours)),
    ]
}

fn ops() -> impl Strategy<Value = Op> {
    let gaps = prop_oneof![20 => Just(0u64), 1 => 0..u64::MAX / 64];
    let sizes = prop_oneof![8 => Just(1200u64), 2 => 1..1500u64, 1 => Just(0u64), 1 => any::<u64>()];
    let numbers = prop_oneof![4 => 0..200u64, 1 => any::<u64>()];
    let rtts = prop_oneof![9 => durations(), 1 => Just(Duration::MAX)];
    prop_oneof![
        8 => (1..60u8, gaps, sizes).prop_map(|(packets, gap, bytes)| Op::Send { packets, gap, bytes }),
        4 => (any::<usize>(), rtts).prop_map(|(pick, rtt)| Op::Ack { pick, rtt }),
        8 => (1..60u8).prop_map(|packets| Op::AckOldest { packets }),
        2 => any::<usize>().prop_map(|pick| Op::Lose { pick }),
        1 => (1..60u8).prop_map(|packets| Op::LoseOldest { packets }),
        1 => any::<usize>().prop_map(|pick| Op::Discard { pick }),
        1 => (numbers, 0..3u8).prop_map(|(number, kind)| Op::Stray { number, kind }),
        8 => Just(Op::BatchEnd),
        2 => Just(Op::Deadline),
        1 => Just(Op::AppLimited),
        1 => prop_oneof![Just(0u64), Just(1452), Just(9000), any::<u64>()].prop_map(Op::Mtu),
        6 => durations().prop_map(Op::Wait),
        1 => durations().prop_map(Op::StepBack),
    ]
}

/// Turns operations into calls.
struct Driver {
    control: Box<dyn CongestionControl>,
    now: Time,
    mtu: u64,
    next: u64,
    outstanding: VecDeque<SentPacket>,
}

impl Driver {
    fn new(name: &str) -> Driver {
        let mut control = baselines::build(name, 7).expect("a known name");
        let mtu = 1200;
        control.on_mtu_change(mtu);
        Driver { control, now: Time::from_nanos(1_000_000_000), mtu, next: 0, outstanding: VecDeque::new() }
    }

    fn ack(&mut self, SentPacket { number, time: sent, bytes }: SentPacket, rtt: Duration) {
        self.control.on_packet_acked(&AckedPacket { time: self.now, number, sent, bytes, rtt });
    }

    fn lose(&mut self, SentPacket { number, time: sent, bytes }: SentPacket) {
        self.control.on_packet_lost(&LostPacket { time: self.now, number, sent, bytes });
    }

    fn pick(&mut self, pick: usize) -> Option<SentPacket> {
        self.outstanding.remove(pick.checked_rem(self.outstanding.len())?)
    }

    fn oldest(&mut self, packets: u8) -> Vec<SentPacket> {
        let count = self.outstanding.len().min(packets.into());
        self.outstanding.drain(..count).collect()
    }

    fn send(&mut self, gap: u64, bytes: u64) {
        let Some(number) = self.next.checked_add(gap).filter(|number| *number < u64::MAX) else { return };
        let packet = SentPacket { time: self.now, number, bytes };
        self.control.on_packet_sent(&packet);
        self.outstanding.push_back(packet);
        self.next = number + 1;
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Send { packets, gap, bytes } => (0..packets).for_each(|_| self.send(gap, bytes)),
            Op::Ack { pick, rtt } => {
                if let Some(packet) = self.pick(pick) {
                    self.ack(packet, rtt);
                }
            }
            Op::AckOldest { packets } => {
                for packet in self.oldest(packets) {
                    self.ack(packet, self.now.since(packet.time));
                    self.control.on_batch_end(self.now);
                }
            }
            Op::Lose { pick } => {
                if let Some(packet) = self.pick(pick) {
                    self.lose(packet);
                }
            }
            Op::LoseOldest { packets } => self.oldest(packets).into_iter().for_each(|packet| self.lose(packet)),
            Op::Discard { pick } => {
                if let Some(packet) = self.pick(pick) {
                    self.control.on_packet_discarded(packet.number);
                }
            }
            Op::Stray { number, kind } => {
                let packet = SentPacket { time: self.now, number, bytes: 1200 };
                if self.outstanding.iter().any(|packet| packet.number == number) {
                    return;
                }
                match kind {
                    0 => self.ack(packet, Duration::from_millis(1)),
                    1 => self.lose(packet),
                    _ => self.control.on_packet_discarded(number),
                }
            }
            Op::BatchEnd => self.control.on_batch_end(self.now),
            Op::Deadline => self.control.on_deadline(self.control.deadline().unwrap_or(self.now).max(self.now)),
            Op::AppLimited => self.control.on_app_limited(self.now),
            Op::Mtu(mtu) => {
                self.mtu = mtu.max(1);
                self.control.on_mtu_change(mtu);
            }
            Op::Wait(time) => self.now += time,
            Op::StepBack(time) => self.now = self.now - time,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// A sender that may not send a packet, or at no rate, would stand still for ever.
    #[test]
    fn no_events_stop_a_controller(ops in prop::collection::vec(ops(), 1..150)) {
        for name in baselines::NAMES {
            let mut driver = Driver::new(name);
            for &op in &ops {
                driver.run(op);
                let cap = driver.control.in_flight_cap();
                let least = driver.mtu.min(65_535);
                prop_assert!((least..=1 << 62).contains(&cap), "{name}: a cap of {cap} bytes, packets of {least}");
                let rate = driver.control.pacing_rate();
                prop_assert!(rate.is_none_or(|rate| !rate.is_zero()), "{name}: a rate of zero");
            }
        }
    }

    /// After any events but those that end time, a path that works again gets at least a packet a minute.
    #[test]
    fn every_baseline_recovers(ops in prop::collection::vec(ops().prop_filter("time goes on", |op| {
        !matches!(op, Op::Ack { rtt: Duration::MAX, .. } | Op::StepBack(_) | Op::Mtu(_))
    }), 1..60)) {
        for name in baselines::NAMES {
            let mut driver = Driver::new(name);
            ops.iter().for_each(|op| driver.run(*op));
            driver.run(Op::AckOldest { packets: u8::MAX });
            for _ in 0..200 {
                driver.send(0, 1200);
                driver.now += Duration::from_millis(50);
                driver.run(Op::AckOldest { packets: 1 });
            }
            if let Some(rate) = driver.control.pacing_rate() {
                prop_assert!(rate.time_for(1200) < Duration::from_secs(60), "{name}: {rate}");
            }
        }
    }
}
