//! Packets on the links, without a kernel.

use super::packets::{Sample, datagram};
use crate::emulator::frame::Frame;
use crate::emulator::network::Network;
use crate::emulator::side::Side;
use crate::emulator::{Addressing, EmulatorConfig, Route};
use pcc::{Rate, Time};
use pcc_lab::link::{Loss, PathConfig};
use pcc_lab::sim::Outcome;
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms as u32
}

fn config(links: Vec<PathConfig>, routes: Vec<Route>) -> EmulatorConfig {
    EmulatorConfig {
        links,
        routes,
        addressing: Addressing::ByHost { left: Ipv4Addr::new(10, 77, 1, 0), right: Ipv4Addr::new(10, 77, 2, 0) },
        duration: 1000 * MS,
        measure_from: Duration::ZERO,
        seed: 1,
        record: true,
    }
}

fn route(forward: &[usize]) -> Route {
    Route { forward: forward.to_vec(), reverse_delay: 5 * MS, ..Route::default() }
}

fn frame(sample: &Sample) -> Frame {
    Frame::parse(&sample.frame(), true).unwrap()
}

/// What a datagram of this flow says.
fn of_flow(flow: u8, bytes: usize) -> Sample {
    let sample = datagram(bytes);
    Sample { source: Ipv4Addr::new(10, 77, 1, 1 + flow), destination: Ipv4Addr::new(10, 77, 2, 1 + flow), ..sample }
}

fn back(sample: &Sample) -> Sample {
    Sample { source: sample.destination, destination: sample.source, ..sample.clone() }
}

fn outcome(mut network: Network, ms: u64) -> Outcome {
    network.outcome(at(ms)).0
}

proptest! {
    /// Packets go from link to link in virtual time, whenever the thread looks.
    #[test]
    fn it_does_not_matter_how_late_the_thread_is(looks in prop::collection::vec(0..300u64, 0..30)) {
        // 1 ms per packet of 1000 bytes, then 2 ms.
        let link = |mbps| PathConfig {
            capacity: Rate::from_mbps(mbps).into(),
            queue: 1_000_000.into(),
            ..PathConfig::delay_only(10 * MS)
        };
        let mut network = Network::new(config(vec![link(8.0), link(4.0)], vec![route(&[0, 1]), route(&[1])]));
        prop_assert!(network.enter(at(0), Side::Left, frame(&of_flow(0, 2972 - 28))));
        prop_assert!(network.enter(at(12), Side::Left, frame(&of_flow(1, 972))));
        let mut looks = looks;
        looks.sort_unstable();
        looks.iter().for_each(|ms| network.advance(at(12 + ms)));
        network.advance(at(400));
        let mut arrivals = std::iter::from_fn(|| network.pop()).map(|arrival| (arrival.flow, arrival.segment, arrival.due));
        let first = frame(&of_flow(0, 2972 - 28));
        prop_assert_eq!(first.segments(), 3);
        // The first segment enters the second link at 11.028 ms and takes 2.056 ms there; then comes what entered at 12 ms.
        prop_assert_eq!(arrivals.next(), Some((0, 0, Time::from_nanos(23_084_000))));
        prop_assert_eq!(arrivals.next(), Some((1, 0, Time::from_nanos(25_084_000))));
        prop_assert_eq!(arrivals.next(), Some((0, 1, Time::from_nanos(27_140_000))));
        prop_assert_eq!(arrivals.next().map(|(flow, segment, _)| (flow, segment)), Some((0, 2)));
        prop_assert_eq!(arrivals.next(), None);
    }
}

#[test]
fn what_links_drop_is_lost_and_what_came_through_is_delivered() {
    let lossy = PathConfig { loss: Loss::from(0.3), ..PathConfig::delay_only(10 * MS) };
    let mut network = Network::new(config(vec![lossy], vec![route(&[0]), route(&[])]));
    for ms in 0..100 {
        assert!(network.enter(at(ms), Side::Left, frame(&of_flow(0, 972))));
    }
    assert!(network.enter(at(100), Side::Left, frame(&of_flow(1, 972))));
    assert!(network.enter(at(105), Side::Right, frame(&back(&of_flow(0, 10)))));
    network.advance(at(105));
    // What is still on its way isn't lost.
    let Outcome { flows, links } = outcome(network, 105);
    assert_eq!(flows[0].sent, 100);
    assert_eq!(flows[0].lost, links[0].counters.lost);
    assert!((10..60).contains(&flows[0].lost));
    assert_eq!(flows[0].delivered_bytes, links[0].counters.delivered * 1000);
    assert!(links[0].counters.delivered + flows[0].lost < 100);
    assert_eq!(flows[0].delivered_bytes, flows[0].bins.iter().sum::<u64>());
    assert_eq!((flows[1].sent, flows[1].delivered_bytes), (1, 1000));
    assert_eq!(flows[0].rtt.mean(), 15 * MS);
    assert_eq!((flows[0].samples[0].rtt_ms, links[0].queue.len()), (15.0, 1));
}

#[test]
fn strays_are_of_no_flow() {
    let mut network = Network::new(config(vec![], vec![route(&[])]));
    let sample = of_flow(0, 10);
    assert!(!network.enter(at(0), Side::Right, frame(&sample)));
    assert!(!network.enter(at(0), Side::Left, frame(&back(&sample))));
    assert!(!network.enter(at(0), Side::Left, frame(&of_flow(1, 10))));
    assert!(!network.enter(at(0), Side::Left, frame(&Sample { destination: Ipv4Addr::LOCALHOST, ..sample.clone() })));
    assert!(!network.enter(at(0), Side::Left, Frame::parse(&[0x60; 60], false).unwrap()));
    assert!(network.enter(at(0), Side::Left, frame(&sample)));
    assert_eq!(network.pop().map(|arrival| arrival.to), Some(Side::Right));
}

#[test]
fn data_of_tcp_counts_once_and_only_while_it_is_measured() {
    let measured = EmulatorConfig { measure_from: 100 * MS, duration: 300 * MS, ..config(vec![], vec![route(&[])]) };
    let mut network = Network::new(measured);
    let segment = |sequence| frame(&Sample { sequence: Some(sequence), flags: 0x10, ..of_flow(0, 1000) });
    for (ms, sequence) in [(50, 0), (150, 1000), (160, 1000), (170, 1500), (299, 0), (300, 9000), (400, 10_000)] {
        network.enter(at(ms), Side::Left, segment(sequence));
    }
    let flow = outcome(network, 500).flows.remove(0);
    // 1000 new bytes, then 500, each time with 40 bytes of headers.
    assert_eq!((flow.sent, flow.delivered_bytes), (4, 1040 + 540));
    assert_eq!(flow.bins, [1040, 1580, 0]);
    assert_eq!(flow.end, at(300));
}

#[test]
fn the_fate_of_each_segment_with_data_is_kept() {
    let lossy = PathConfig { loss: Loss::from(0.3), ..PathConfig::delay_only(10 * MS) };
    let mut network = Network::new(config(vec![lossy], vec![route(&[0])]));
    for number in 0..100 {
        let sample = Sample { sequence: Some(number * 1000), flags: 0x10, ..of_flow(0, 1000) };
        assert!(network.enter(at(number.into()), Side::Left, frame(&sample)));
        // Acknowledgements alone aren't segments.
        assert!(network.enter(at(number.into()), Side::Left, frame(&Sample { payload: Vec::new(), ..sample })));
    }
    network.advance(at(500));
    let data = std::iter::from_fn(|| network.pop()).filter_map(|arrival| arrival.frame.tcp_data(arrival.segment));
    let arrived: Vec<u32> = data.filter(|data| data.bytes > 0).map(|data| data.sequence / 1000).collect();
    let kept: Vec<bool> = (0..100).map(|number| arrived.contains(&number)).collect();
    assert!((10..90).contains(&arrived.len()));
    assert_eq!(network.segments(), [kept]);
}
