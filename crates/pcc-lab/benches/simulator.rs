//! Data packets that the simulator takes through a bottleneck in a second of one core: for one flow and many, for short runs and long ones.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pcc::Rate;
use pcc_lab::controller::ControllerConfig;
use pcc_lab::link::PathConfig;
use pcc_lab::sim::{FlowConfig, Simulation};
use std::time::Duration;

/// Full packets of 1500 bytes that 100 Mbit/s carry in a second.
const PACKETS_PER_SECOND: u64 = 8333;

fn simulation(controller: &str, flows: u64, seconds: u64) -> Simulation {
    let delay = Duration::from_millis(15);
    let path =
        PathConfig { capacity: Rate::from_mbps(100.0).into(), queue: 375_000.into(), ..PathConfig::delay_only(delay) };
    let flow = |seed| FlowConfig::bulk(ControllerConfig::named(controller).build(seed).expect("a known name"), delay);
    Simulation::dumbbell(path, (0..flows).map(flow).collect(), Duration::from_secs(seconds), 1)
}

fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packets");
    group.sample_size(10);
    let cases =
        [("newreno", 1, 10), ("newreno", 1, 100), ("newreno", 10, 10), ("newreno", 100, 10), ("newreno", 1000, 10)];
    let cases = cases.into_iter().chain(["cubic", "bbr1", "vivace-latency", "allegro-2015"].map(|name| (name, 1, 10)));
    for (controller, flows, seconds) in cases {
        group.throughput(Throughput::Elements(PACKETS_PER_SECOND * seconds));
        let id = BenchmarkId::new(controller, format!("{flows} flows, {seconds} s"));
        group.bench_function(id, |bencher| {
            bencher.iter_batched(|| simulation(controller, flows, seconds), Simulation::run, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
