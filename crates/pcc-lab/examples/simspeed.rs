use pcc::{Rate, profiles};
use pcc_lab::link::PathConfig;
use pcc_lab::sim::{Flow, Simulation};
use std::time::{Duration, Instant};

fn main() {
    for (n, secs) in [(1usize, 100u64), (1, 1000), (10, 100), (100, 100), (1000, 100)] {
        let delay = Duration::from_millis(15);
        let path = PathConfig { capacity: Rate::from_mbps(100.0).into(), queue: 375_000.into(), ..PathConfig::delay_only(delay) };
        let flows = (0..n).map(|i| Flow::bulk(Box::new(profiles::vivace_loss().build(i as u64)), delay)).collect();
        let begin = Instant::now();
        let outcome = Simulation::dumbbell(path, flows, Duration::from_secs(secs), 1).run();
        let time = begin.elapsed().as_secs_f64();
        let sent: u64 = outcome.flows.iter().map(|f| f.sent).sum();
        let f = &outcome.flows[0];
        println!("{n} flows {secs} s: {:.2} M packets/s, {:.0} sim s/s; first: {} loss {:.4} rtt {:?} p95 {:?}", sent as f64 / time / 1e6, secs as f64 / time,
            f.goodput_between(Duration::ZERO, Duration::from_secs(secs)), f.loss(), f.rtt.mean(), f.rtt.quantile(0.95));
    }
}
