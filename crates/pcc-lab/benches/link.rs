//! What a packet costs on a path: one enters, and those that are due come out.

use criterion::{Criterion, criterion_group, criterion_main};
use pcc::{Rate, Time};
use pcc_lab::link::{Capacity, Limit, Path, PathConfig, QueueConfig, QueueKind, Trace};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const BYTES: u64 = 1500;
/// 100 Mbit/s arrive; the bottlenecks have 96 Mbit/s, so that their queues are never empty.
const SPACING: Duration = Duration::from_micros(120);
const RATE: Rate = Rate::from_mbps(96.0);
/// Flows that share the path.
const FLOWS: u32 = 8;

fn per_packet(criterion: &mut Criterion) {
    let delay = || PathConfig::delay_only(Duration::from_millis(15));
    let bottleneck = |queue| PathConfig { capacity: RATE.into(), queue, ..delay() };
    let queue = |kind, limit| bottleneck(QueueConfig::new(kind, limit));
    let trace = || Capacity::Trace(Arc::new(Trace::lte(1, RATE, Duration::from_secs(60))));
    let paths = [
        ("delay only", delay()),
        ("drop-tail bottleneck", bottleneck(QueueConfig::from(375_000))),
        ("CoDel bottleneck", queue(QueueKind::CoDel, Limit::Bytes(375_000))),
        ("DRR bottleneck", queue(QueueKind::Drr, Limit::Bytes(375_000))),
        ("FQ-CoDel bottleneck", queue(QueueKind::FqCoDel, Limit::Packets(10_240))),
        ("trace", PathConfig { capacity: trace(), ..bottleneck(QueueConfig::from(375_000)) }),
    ];
    for (name, config) in paths {
        let mut path = Path::new(&config, 1);
        let (mut now, mut number) = (Time::ZERO, 0u32);
        criterion.bench_function(name, |bench| {
            bench.iter(|| {
                now += SPACING;
                number = number.wrapping_add(1);
                path.enqueue(now, number % FLOWS, number, BYTES);
                while let Some(delivered) = path.poll(now) {
                    black_box(delivered);
                }
                path.next_event()
            });
        });
    }
}

criterion_group!(benches, per_packet);
criterion_main!(benches);
