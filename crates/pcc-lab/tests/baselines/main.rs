//! The controllers to compare with: any events, and what theory says of them on simple links.

mod any_events;
mod models;
mod windows;

use pcc::Rate;
use pcc_baselines as baselines;
use pcc_lab::link::PathConfig;
use pcc_lab::sim::{FlowConfig, FlowOutcome, Simulation};
use std::time::Duration;

fn link(mbps: f64, rtt_ms: u64, loss: f64, queue: u64) -> PathConfig {
    PathConfig {
        capacity: Rate::from_mbps(mbps).into(),
        queue: queue.into(),
        loss: loss.into(),
        ..PathConfig::delay_only(Duration::from_millis(rtt_ms / 2))
    }
}

fn simulation(names: &[&str], path: &PathConfig, seconds: u64) -> Simulation {
    let flow = |name: &&str| FlowConfig::bulk(baselines::build(name, 1).expect("a known name"), path.delay);
    let flows = names.iter().map(flow).collect();
    Simulation::dumbbell(path.clone(), flows, Duration::from_secs(seconds), 1)
}

fn single(name: &str, path: &PathConfig, seconds: u64) -> FlowOutcome {
    simulation(&[name], path, seconds).run().flows.remove(0)
}

fn rate(flow: &FlowOutcome, from: u64, to: u64) -> f64 {
    flow.goodput_between(Duration::from_secs(from), Duration::from_secs(to)).mbps()
}

/// The rate of the second half, in Mbit/s.
fn settled(name: &str, path: &PathConfig, seconds: u64) -> f64 {
    rate(&single(name, path, seconds), seconds / 2, seconds)
}
