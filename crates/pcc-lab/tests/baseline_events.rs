//! No sequence of events, however odd, breaks a baseline.

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
    Discard {
        pick: usize,
    },
    /// A number that may never have been sent, or had its fate already.
    Stray {
        number: u64,
        kind: u8,
    },
    BatchEnd,
    Deadline,
    AppLimited,
    Mtu(u64),
    /// Time stands still, goes on, or steps back.
    Wait(Duration),
    StepBack(Duration),
}

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        6 => (0..100u64).prop_map(Duration::from_millis),
        3 => (0..5_000u64).prop_map(Duration::from_micros),
        1 => Just(Duration::ZERO),
        1 => (1..100u64).prop_map(|hours| Duration::from_secs(3600 * hours)),
        1 => Just(Duration::MAX),
    ]
}

fn ops() -> impl Strategy<Value = Op> {
    let sizes = prop_oneof![8 => Just(1200u64), 2 => 1..1500u64, 1 => Just(0u64), 1 => Just(65_535u64)];
    let gaps = prop_oneof![20 => Just(0u64), 3 => 0..100u64, 1 => 0..u64::MAX / 64];
    let numbers = prop_oneof![4 => 0..200u64, 1 => any::<u64>()];
    prop_oneof![
        8 => (1..30u8, gaps, sizes).prop_map(|(packets, gap, bytes)| Op::Send { packets, gap, bytes }),
        4 => (any::<usize>(), durations()).prop_map(|(pick, rtt)| Op::Ack { pick, rtt }),
        8 => (1..40u8).prop_map(|packets| Op::AckOldest { packets }),
        3 => any::<usize>().prop_map(|pick| Op::Lose { pick }),
        1 => any::<usize>().prop_map(|pick| Op::Discard { pick }),
        1 => (numbers, 0..4u8).prop_map(|(number, kind)| Op::Stray { number, kind }),
        8 => Just(Op::BatchEnd),
        3 => Just(Op::Deadline),
        1 => Just(Op::AppLimited),
        1 => prop_oneof![Just(0u64), Just(1200), Just(1452), Just(9000), any::<u64>()].prop_map(Op::Mtu),
        6 => durations().prop_map(Op::Wait),
        1 => durations().prop_map(Op::StepBack),
    ]
}

/// A packet without a fate.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    sent: Time,
    bytes: u64,
}

/// Time, numbers and outstanding packets: turns operations into calls.
#[derive(Debug)]
struct Driver {
    now: Time,
    next: u64,
    outstanding: VecDeque<Packet>,
}

impl Driver {
    fn new() -> Driver {
        Driver { now: Time::from_nanos(1_000_000_000), next: 0, outstanding: VecDeque::new() }
    }

    fn pick(&mut self, pick: usize) -> Option<Packet> {
        let index = pick.checked_rem(self.outstanding.len())?;
        self.outstanding.remove(index)
    }

    fn ack(&self, target: &mut dyn CongestionControl, packet: Packet, rtt: Duration) {
        let Packet { number, sent, bytes } = packet;
        target.on_packet_acked(&AckedPacket { time: self.now, number, sent, bytes, rtt });
    }

    fn lose(&self, target: &mut dyn CongestionControl, packet: Packet) {
        let Packet { number, sent, bytes } = packet;
        target.on_packet_lost(&LostPacket { time: self.now, number, sent, bytes });
    }

    fn send(&mut self, target: &mut dyn CongestionControl, gap: u64, bytes: u64) {
        let Some(number) = self.next.checked_add(gap).filter(|number| *number < u64::MAX) else { return };
        target.on_packet_sent(&SentPacket { time: self.now, number, bytes });
        self.outstanding.push_back(Packet { number, sent: self.now, bytes });
        self.next = number + 1;
        // Packets of one call are spaced as asked for.
        if let Some(rate) = target.pacing_rate() {
            self.now += rate.time_for(bytes).min(Duration::from_secs(1));
        }
    }

    fn run(&mut self, target: &mut dyn CongestionControl, op: Op) {
        match op {
            Op::Send { packets, gap, bytes } => (0..packets).for_each(|_| self.send(target, gap, bytes)),
            Op::Ack { pick, rtt } => {
                if let Some(packet) = self.pick(pick) {
                    self.ack(target, packet, rtt);
                }
            }
            Op::AckOldest { packets } => {
                for packet in self.outstanding.drain(..self.outstanding.len().min(packets.into())).collect::<Vec<_>>() {
                    self.ack(target, packet, self.now.since(packet.sent));
                }
            }
            Op::Lose { pick } => {
                if let Some(packet) = self.pick(pick) {
                    self.lose(target, packet);
                }
            }
            Op::Discard { pick } => {
                if let Some(packet) = self.pick(pick) {
                    target.on_packet_discarded(packet.number);
                }
            }
            Op::Stray { number, kind } => {
                let packet = Packet { number, sent: self.now, bytes: 1200 };
                if self.outstanding.iter().any(|packet| packet.number == number) {
                    return;
                }
                match kind {
                    0 => self.ack(target, packet, Duration::from_millis(1)),
                    1 => self.lose(target, packet),
                    2 => target.on_packet_discarded(number),
                    _ if number < self.next => {
                        target.on_packet_sent(&SentPacket { time: self.now, number, bytes: 1200 });
                    }
                    _ => {}
                }
            }
            Op::BatchEnd => target.on_batch_end(self.now),
            Op::Deadline => target.on_deadline(target.deadline().unwrap_or(self.now).max(self.now)),
            Op::AppLimited => target.on_app_limited(self.now),
            Op::Mtu(mtu) => target.on_mtu_change(mtu),
            Op::Wait(time) => self.now += time,
            Op::StepBack(time) => self.now = self.now - time,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// After any event the rate is finite and there is room for a packet.
    #[test]
    fn no_events_break_a_baseline(ops in prop::collection::vec(ops(), 1..150)) {
        for name in baselines::NAMES {
            let mut control = baselines::build(name, 1).unwrap();
            let (mut driver, mut mtu) = (Driver::new(), 1200);
            for &op in &ops {
                driver.run(&mut *control, op);
                if let Op::Mtu(size) = op {
                    mtu = size.clamp(1, 65_535);
                }
                let rate = control.pacing_rate().map_or(0.0, |rate| rate.bits_per_sec());
                prop_assert!(rate.is_finite(), "{}: {} bit/s", name, rate);
                let cap = control.in_flight_cap();
                prop_assert!((mtu..1 << 62).contains(&cap), "{}: {} bytes, packets of {}", name, cap, mtu);
            }
        }
    }

    /// After any events but those that end time, a path that works again gets at least a packet a minute.
    #[test]
    fn every_baseline_recovers(ops in prop::collection::vec(ops().prop_filter("time goes on", |op| {
        !matches!(op, Op::Wait(Duration::MAX) | Op::StepBack(_) | Op::Mtu(_))
    }), 1..60)) {
        for name in baselines::NAMES {
            let mut control = baselines::build(name, 1).unwrap();
            let mut driver = Driver::new();
            for &op in &ops {
                driver.run(&mut *control, op);
            }
            driver.run(&mut *control, Op::AckOldest { packets: u8::MAX });
            for _ in 0..200 {
                driver.send(&mut *control, 0, 1200);
                driver.now += Duration::from_millis(50);
                driver.run(&mut *control, Op::AckOldest { packets: 1 });
                driver.run(&mut *control, Op::BatchEnd);
            }
            if let Some(rate) = control.pacing_rate() {
                prop_assert!(rate.time_for(1200) < Duration::from_secs(60), "{}: {}", name, rate);
            }
        }
    }
}
