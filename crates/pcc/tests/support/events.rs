//! Arbitrary sequences of events, and what turns them into calls of a controller: for all tests that drive controllers so.

use pcc::{AckedPacket, CongestionControl, LostPacket, SentPacket, Time};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::time::Duration;

/// What may happen. An outstanding packet is named by a number that picks one of them.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// So many packets after the highest number so far, each with a gap before it.
    Send {
        packets: u8,
        gap: u64,
        bytes: u64,
    },
    /// A number that was used before.
    SendAgain {
        number: u64,
        bytes: u64,
    },
    Ack {
        pick: usize,
        rtt: Duration,
        /// It comes back marked (ECN).
        marked: bool,
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
    /// Outcomes of a number that may never have been sent, or had its outcome already.
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

/// The longest time that a packet keeps the next from leaving.
const LONGEST_GAP: Duration = Duration::from_secs(3600);

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0..100u64).prop_map(Duration::from_millis),
        2 => (0..5_000u64).prop_map(Duration::from_micros),
        1 => Just(Duration::ZERO),
        1 => (1..100u64).prop_map(|hours| Duration::from_secs(3600 * hours)),
        1 => Just(Duration::MAX),
    ]
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![40 => Just(1200u64), 10 => 1..1500u64, 5 => Just(0u64), 5 => Just(65_535u64), 1 => Just(u64::MAX)]
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..200u64, 1 => any::<u64>()]
}

pub fn ops() -> impl Strategy<Value = Op> {
    // Waiting `Duration::MAX` ends time, so it is rare.
    let waits =
        prop_oneof![30 => durations().prop_filter("not for ever", |d| *d < Duration::MAX), 1 => Just(Duration::MAX)];
    let gaps = prop_oneof![20 => Just(0u64), 3 => 0..100u64, 1 => 0..u64::MAX / 64];
    prop_oneof![
        8 => (1..30u8, gaps, sizes()).prop_map(|(packets, gap, bytes)| Op::Send { packets, gap, bytes }),
        1 => (numbers(), sizes()).prop_map(|(number, bytes)| Op::SendAgain { number, bytes }),
        4 => (any::<usize>(), durations(), any::<bool>()).prop_map(|(pick, rtt, marked)| Op::Ack { pick, rtt, marked }),
        6 => (1..40u8).prop_map(|packets| Op::AckOldest { packets }),
        3 => any::<usize>().prop_map(|pick| Op::Lose { pick }),
        1 => any::<usize>().prop_map(|pick| Op::Discard { pick }),
        1 => (numbers(), 0..3u8).prop_map(|(number, kind)| Op::Stray { number, kind }),
        8 => Just(Op::BatchEnd),
        3 => Just(Op::Deadline),
        1 => Just(Op::AppLimited),
        1 => prop_oneof![Just(0u64), Just(1200), Just(1452), Just(9000), any::<u64>()].prop_map(Op::Mtu),
        6 => waits.prop_map(Op::Wait),
        1 => durations().prop_map(Op::StepBack),
    ]
}

/// A packet without an outcome, as the model sees it.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    pub number: u64,
    pub sent: Time,
    pub bytes: u64,
}

/// Time, numbers and outstanding packets: turns operations into calls.
#[derive(Debug, Default)]
pub struct Driver {
    pub now: Time,
    next: Option<u64>,
    pub outstanding: VecDeque<Outstanding>,
    /// Packets with rising numbers that were sent.
    pub accepted: u64,
}

impl Driver {
    pub fn new() -> Driver {
        Driver { now: Time::from_nanos(1_000_000_000), ..Driver::default() }
    }

    pub fn send(&mut self, target: &mut dyn CongestionControl, number: u64, bytes: u64) {
        target.on_packet_sent(&SentPacket { time: self.now, number, bytes });
        if self.next.is_none_or(|next| number >= next) {
            self.outstanding.push_back(Outstanding { number, sent: self.now, bytes });
            self.next = number.checked_add(1);
            self.accepted += 1;
        }
    }

    fn ack(&self, target: &mut dyn CongestionControl, packet: Outstanding, rtt: Duration, marked: bool) {
        let Outstanding { number, sent, bytes } = packet;
        let packet = AckedPacket { time: self.now, number, sent, bytes, rtt };
        if marked { target.on_packet_marked(&packet) } else { target.on_packet_acked(&packet) }
    }

    fn lose(&self, target: &mut dyn CongestionControl, packet: Outstanding) {
        let Outstanding { number, sent, bytes } = packet;
        target.on_packet_lost(&LostPacket { time: self.now, number, sent, bytes });
    }

    fn pick(&mut self, pick: usize) -> Option<Outstanding> {
        let index = pick.checked_rem(self.outstanding.len())?;
        self.outstanding.remove(index)
    }

    pub fn run(&mut self, target: &mut dyn CongestionControl, op: Op) {
        match op {
            Op::Send { packets, gap, bytes } => {
                for _ in 0..packets {
                    let Some(number) = self.next.unwrap_or(0).checked_add(gap).filter(|n| *n < u64::MAX) else {
                        return;
                    };
                    self.send(target, number, bytes);
                    // Packets of one call are spaced as asked for, but the largest ones don't end time.
                    if let Some(rate) = target.pacing_rate() {
                        self.now += rate.time_for(bytes).min(LONGEST_GAP);
                    }
                }
            }
            Op::SendAgain { number, bytes } => {
                if self.next.is_some_and(|next| number < next) {
                    self.send(target, number, bytes);
                }
            }
            Op::Ack { pick, rtt, marked } => {
                if let Some(packet) = self.pick(pick) {
                    self.ack(target, packet, rtt, marked);
                }
            }
            Op::AckOldest { packets } => {
                for _ in 0..packets {
                    let Some(packet) = self.outstanding.pop_front() else { return };
                    self.ack(target, packet, self.now.since(packet.sent), false);
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
                let packet = Outstanding { number, sent: self.now, bytes: 1200 };
                if self.outstanding.iter().any(|packet| packet.number == number) {
                    return;
                }
                match kind {
                    0 => self.ack(target, packet, Duration::from_millis(1), number % 2 == 0),
                    1 => self.lose(target, packet),
                    _ => target.on_packet_discarded(number),
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
