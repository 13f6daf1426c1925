//! The rate- and model-based baselines on the links that their originals were measured on: goodput of kernel BBR, UDT4 and
//! noq's BBRv3 through an emulator, in Mbit/s, beside each bound.

use pcc::{Rate, Time};
use pcc_lab::baselines;
use pcc_lab::link::PathConfig;
use pcc_lab::sim::{Dumbbell, Flow, FlowResult, run};
use std::time::Duration;

fn link(mbps: f64, rtt_ms: u64, loss: f64, queue: u64) -> Dumbbell {
    let delay = Duration::from_millis(rtt_ms / 2);
    let rate = Some(Rate::from_mbps(mbps));
    Dumbbell { forward: PathConfig { rate, delay, queue, loss, jitter: Duration::ZERO }, reverse_delay: delay }
}

fn flow(name: &str, start: u64, seed: u64) -> Flow {
    let control = baselines::build(name, seed).unwrap();
    Flow { control, start: Time::ZERO + Duration::from_secs(start) }
}

fn single(name: &str, dumbbell: &Dumbbell, seconds: u64) -> FlowResult {
    run(dumbbell, vec![flow(name, 0, 1)], Duration::from_secs(seconds), 1).remove(0)
}

fn clean() -> Dumbbell {
    link(100.0, 30, 0.0, 75_000)
}

fn lossy() -> Dumbbell {
    link(100.0, 30, 0.01, 75_000)
}

fn satellite() -> Dumbbell {
    link(42.0, 800, 0.0074, 1_000_000)
}

/// The mean rate in Mbit/s is in the range.
fn check(name: &str, dumbbell: &Dumbbell, seconds: u64, range: std::ops::Range<f64>) {
    let mbps = single(name, dumbbell, seconds).rate(0, seconds as usize).mbps();
    assert!(range.contains(&mbps), "{name}: {mbps}");
}

/// The queueing delay in milliseconds that so many percent of the packets don't exceed.
fn queueing(result: &FlowResult, rtt_ms: u64, percent: usize) -> f64 {
    let mut rtts = result.rtts_us.clone();
    rtts.sort_unstable();
    f64::from(rtts[rtts.len() * percent / 100]) / 1e3 - rtt_ms as f64
}

#[test]
fn bbr1_reaches_what_the_kernel_reaches() {
    check("bbr1", &clean(), 20, 90.0..100.0); // 93
    check("bbr1", &lossy(), 20, 90.0..100.0); // 92
    check("bbr1", &satellite(), 60, 27.0..38.0); // 27, of which the first half is slow
    check("bbr1", &link(100.0, 30, 0.0, 9_000), 20, 83.0..100.0); // 83 to 85, with bursts
}

#[test]
fn bbr3_yields_to_losses() {
    check("bbr3", &clean(), 20, 90.0..100.0);
    check("bbr3", &lossy(), 20, 60.0..95.0);
    check("bbr3", &satellite(), 60, 25.0..34.0); // 30
    let shallow = link(100.0, 30, 0.0, 9_000);
    let lost = |name| single(name, &shallow, 20).lost;
    assert!(lost("bbr3") * 4 < lost("bbr1"), "its aim over version 1");
}

#[test]
fn copa_keeps_a_few_packets_in_the_queue() {
    let deep = link(100.0, 30, 0.0, 375_000);
    let result = single("copa", &deep, 20);
    assert!(result.rate(5, 20).mbps() > 97.0);
    // 1/delta packets are 0.24 ms, twice that is the amplitude (section 3 of the paper).
    assert!(queueing(&result, 30, 50) < 1.0, "{}", queueing(&result, 30, 50));
    check("copa", &lossy(), 20, 90.0..100.0);
}

#[test]
fn udt_grows_slowly_and_dislikes_losses() {
    check("udt", &clean(), 30, 63.0..95.0); // 63
    check("udt", &lossy(), 30, 7.0..12.0); // 8.6
    check("udt", &satellite(), 60, 2.0..5.0); // 3.0
    check("udt", &link(800.0, 20, 0.0, 64_000), 60, 450.0..700.0); // SABUL in 100 s: 563 to 700 (PCC, NSDI 2015, table 1)
}

#[test]
fn pcp_fills_the_link_without_filling_the_queue() {
    check("pcp", &satellite(), 60, 20.0..42.0);
    let result = single("pcp", &clean(), 20);
    assert!(result.rate(5, 20).mbps() > 95.0);
    assert!(result.lost * 1000 < result.sent, "negligible loss is its aim");
    assert!(queueing(&result, 30, 95) < 2.0);
}

#[test]
fn two_flows_share() {
    let deep = link(100.0, 30, 0.0, 375_000);
    for name in ["bbr1", "bbr3", "copa", "pcp", "udt"] {
        let results = run(&deep, vec![flow(name, 0, 1), flow(name, 5, 2)], Duration::from_secs(60), 1);
        let (a, b) = (results[0].rate(30, 60).mbps(), results[1].rate(30, 60).mbps());
        let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
        assert!(jain > 0.95 && a + b > 85.0, "{name}: {a} and {b}");
    }
}

#[test]
fn a_seed_gives_the_same_run() {
    for name in baselines::NAMES {
        assert_eq!(single(name, &lossy(), 3), single(name, &lossy(), 3), "{name}");
    }
}
