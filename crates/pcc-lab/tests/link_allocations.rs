//! A path that has seen its longest queue allocates nothing for a packet.

use allocation_counter::measure;
use pcc::{Rate, Time};
use pcc_lab::link::{Aggregation, Limit, Loss, Path, PathConfig, Policer, QueueConfig, QueueKind, Reordering};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn packets_cost_no_allocation() {
    let limit = Limit::Bytes(100_000);
    for queue in QueueKind::ALL.iter().map(|kind| QueueConfig::new(*kind, limit)) {
        let config = PathConfig {
            capacity: Rate::from_mbps(96.0).into(),
            queue,
            policer: Some(Policer { rate: Rate::from_mbps(110.0), burst: 30_000 }),
            loss: Loss::GilbertElliott { to_bad: 0.01, to_good: 0.1, loss_good: 0.0, loss_bad: 0.5 },
            jitter: MS,
            reordering: Some(Reordering { probability: 0.1, delay: 3 * MS }),
            aggregation: Some(Aggregation { period: 2 * MS }),
            ..PathConfig::delay_only(15 * MS)
        };
        let mut path = Path::new(&config, 1);
        let mut now = Time::ZERO;
        let mut run = |packets: u32| {
            for number in 0..packets {
                now += MS / 10;
                path.enqueue(now, number % 8, number, 1500);
                while path.poll(now).is_some() {}
            }
            path.counters().delivered
        };
        let before = run(100_000);
        let mut after = 0;
        let allocations = measure(|| after = run(10_000)).count_total;
        assert_eq!(allocations, 0, "{queue:?}");
        assert!(after > before + 5_000, "packets came through");
    }
}
