//! What a packet costs: one sent, one acknowledged or lost, one batch ended, with 1000 packets in flight, 1 % lost and
//! the rate and the window read. The controllers of noq-proto get the same events.

mod noq;

use criterion::{Criterion, criterion_group, criterion_main};
use pcc::{AckedPacket, CongestionControl, LostPacket, Pcc, SentPacket, Time, profiles};
use std::hint::black_box;
use std::time::Duration;

const BYTES: u64 = 1200;
const IN_FLIGHT: u64 = 1000;
const RTT: Duration = Duration::from_millis(100);
/// 96 Mbit/s.
const SPACING: Duration = Duration::from_micros(100);
/// Every so many packets one is lost.
const LOST: u64 = 100;
/// Packets after which a controller has settled.
const WARM_UP: u64 = 50_000;

/// Whatever takes the events of one more packet.
trait Subject {
    fn packet(&mut self);
}

/// Numbers and times of an endless flow.
#[derive(Default)]
struct Flow {
    next: u64,
}

impl Flow {
    /// Send time of a packet since the beginning.
    fn sent(number: u64) -> Duration {
        SPACING * u32::try_from(number).expect("benches are short")
    }

    /// The packet to send, and the one whose outcome is known then, with its loss.
    fn advance(&mut self) -> (u64, Option<(u64, bool)>) {
        let number = self.next;
        self.next += 1;
        (number, number.checked_sub(IN_FLIGHT).map(|old| (old, old % LOST == 0)))
    }
}

struct Own {
    flow: Flow,
    controller: Pcc,
}

impl Subject for Own {
    fn packet(&mut self) {
        let (number, outcome) = self.flow.advance();
        let time = Time::ZERO + Flow::sent(number);
        let controller = &mut self.controller;
        controller.on_packet_sent(&SentPacket { time, number, bytes: BYTES });
        if let Some((number, lost)) = outcome {
            let (sent, bytes) = (Time::ZERO + Flow::sent(number), BYTES);
            if lost {
                controller.on_packet_lost(&LostPacket { time, number, sent, bytes });
            } else {
                controller.on_packet_acked(&AckedPacket { time, number, sent, bytes, rtt: RTT });
            }
            controller.on_batch_end(time);
        }
        black_box((controller.pacing_rate(), controller.in_flight_cap(), controller.deadline()));
    }
}

fn per_packet(c: &mut Criterion) {
    let mut group = c.benchmark_group("per packet");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    let own = profiles::LIST.iter().map(|entry| {
        let subject = Own { flow: Flow::default(), controller: entry.profile().build(1) };
        (entry.name, Box::new(subject) as Box<dyn Subject>)
    });
    for (name, mut subject) in own.chain(noq::subjects()) {
        (0..WARM_UP).for_each(|_| subject.packet());
        group.bench_function(name, |b| b.iter(|| subject.packet()));
    }
}

criterion_group!(benches, per_packet);
criterion_main!(benches);
