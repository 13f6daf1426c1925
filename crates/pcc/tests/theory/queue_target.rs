//! Where the control that holds a number of packets in the queue comes to rest, and that it comes there.

use crate::support::{Flow, Path};
use pcc::utility::{Logarithmic, Utility};
use pcc::{Measurement, Rate, profiles};
use std::time::Duration;

/// What the utility gains by a little more rate at a queueing delay that stays, for packets of 1500 bytes.
fn slope(utility: &Logarithmic, packets_per_second: f64, queueing: f64) -> f64 {
    let worth = |factor: f64| {
        let mut result = Measurement::new(Rate::from_bits_per_sec(packets_per_second * factor * 12_000.0), 100);
        (result.rtt, result.min_rtt) = (0.05 + queueing, 0.05);
        utility.utility(&result)
    };
    worth(1.001) - worth(0.999)
}

/// The optimum of a flow that takes the delay as given is `packets` in the queue beyond the delay that is free, at every rate:
/// shares are equal and unique.
#[test]
fn the_optimum_is_a_number_of_packets_in_the_queue() {
    for packets in [1.0, 3.0, 10.0] {
        let utility = Logarithmic { packets, ..Logarithmic::DEFAULT };
        for rate in [10.0, 1_000.0, 100_000.0] {
            let queueing = utility.free + packets / rate;
            assert!(
                slope(&utility, rate, queueing - 0.01 * packets / rate) > 0.0,
                "{packets} packets at {rate} per second"
            );
            assert!(
                slope(&utility, rate, queueing + 0.01 * packets / rate) < 0.0,
                "{packets} packets at {rate} per second"
            );
        }
    }
}

/// One flow alone fills the path and keeps a queue of some packets, whatever the round-trip time: the loop is stable.
#[test]
fn one_flow_rests_at_a_full_path_and_a_short_queue() {
    for (mbps, rtt) in [(20.0, 10), (20.0, 30), (20.0, 200), (100.0, 100)] {
        let mut flow = Flow::new(profiles::queue_target().build(1), Path::clean(mbps, rtt));
        flow.run(Duration::from_secs(20));
        let (before, srtts) = (flow.arrived, Duration::from_millis(rtt));
        flow.run(Duration::from_secs(20));
        let arrived = (flow.arrived - before) as f64 * 9600e-6 / 20.0;
        assert!(arrived > 0.95 * mbps, "{mbps} Mbit/s, {rtt} ms: {arrived}");
        let queueing = flow.controller.monitor().srtt().unwrap().saturating_sub(srtts);
        let most = Duration::from_millis(10).max(srtts / 4);
        assert!(queueing < most, "{mbps} Mbit/s, {rtt} ms: {queueing:?}");
    }
}

/// Random loss is found to be background, up to a fifth: the path stays full, in the mean over what chance loses.
#[test]
fn random_loss_is_not_the_flows_own() {
    const SEEDS: u64 = 8;
    for loss in [0.01, 0.05, 0.1, 0.2] {
        let arrived = |seed| {
            let mut flow = Flow::new(profiles::queue_target().build(1), Path { loss, ..Path::clean(20.0, 30) });
            flow.rng = fastrand::Rng::with_seed(seed);
            flow.run(Duration::from_secs(20));
            let before = flow.arrived;
            flow.run(Duration::from_secs(20));
            (flow.arrived - before) as f64 * 9600e-6 / 20.0
        };
        let arrived = (0..SEEDS).map(arrived).sum::<f64>() / SEEDS as f64;
        assert!(arrived > 0.9 * 20.0 * (1.0 - loss), "{loss}: {arrived} Mbit/s");
    }
}

/// What a short queue drops is the flow's own, and stays small.
#[test]
fn loss_of_its_own_is_bounded() {
    let path = Path { buffer: Duration::from_millis(2), ..Path::clean(20.0, 30) };
    let mut flow = Flow::new(profiles::queue_target().build(1), path);
    flow.run(Duration::from_secs(20));
    let (sent, arrived) = (flow.sent, flow.arrived);
    flow.run(Duration::from_secs(20));
    let loss = 1.0 - (flow.arrived - arrived) as f64 / (flow.sent - sent) as f64;
    assert!(loss < 0.03, "{loss}");
}

/// A path that becomes longer isn't taken for a queue for long: who yielded to it in vain asks for more.
#[test]
fn a_longer_path_is_no_queue() {
    let mut flow = Flow::new(profiles::queue_target().build(1), Path::clean(20.0, 30));
    flow.run(Duration::from_secs(20));
    flow.path.rtt = Duration::from_millis(60);
    flow.run(Duration::from_secs(3));
    let before = flow.arrived;
    flow.run(Duration::from_secs(3));
    let arrived = (flow.arrived - before) as f64 * 9600e-6 / 3.0;
    assert!(arrived > 0.9 * 20.0, "{arrived} Mbit/s");
}
