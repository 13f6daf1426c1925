//! What theory says of the window-based controllers on simple links.

use super::{link, rate, settled, simulation, single};
use pcc::Time;
use pcc_lab::sim::{PACKET_BYTES, Simulation};
use std::time::Duration;

const WINDOW_BASED: [&str; 15] = [
    "bic",
    "compound",
    "cubic",
    "cubic-hystart",
    "fast",
    "htcp",
    "hybla",
    "illinois",
    "ledbat",
    "newreno",
    "newreno-paced",
    "scalable",
    "vegas",
    "veno",
    "westwood",
];

/// A window in packets as a rate in Mbit/s.
fn window_rate(packets: f64, rtt_ms: u64) -> f64 {
    packets * f64::from(PACKET_BYTES * 8) / rtt_ms as f64 * 1e-3
}

#[test]
fn newreno_follows_the_square_root_of_loss() {
    for name in ["newreno", "newreno-paced"] {
        for loss in [0.001, 0.003, 0.01_f64] {
            let mathis = window_rate((1.5 / loss).sqrt(), 30);
            let settled = settled(name, &link(1000.0, 30, loss, 10_000_000), 400);
            assert!(
                (0.85..1.15).contains(&(settled / mathis)),
                "{name}, loss {loss}: {settled} instead of {mathis} Mbit/s"
            );
        }
    }
}

/// The average window of RFC 9438, section 5, where it is far above NewReno's.
#[test]
fn cubic_follows_its_response_function() {
    for loss in [1e-4, 3e-4_f64] {
        let path = link(1000.0, 200, loss, 50_000_000);
        let factor = (0.4 * 3.7 / 1.2_f64).sqrt().sqrt();
        let expected = window_rate(factor * (0.2 / loss).powf(0.75), 200);
        let (rate, newreno) = (settled("cubic", &path, 400), settled("newreno", &path, 400));
        assert!((0.85..1.15).contains(&(rate / expected)), "loss {loss}: {rate} instead of {expected} Mbit/s");
        assert!(rate > 1.5 * newreno, "loss {loss}: {rate} Mbit/s, NewReno has {newreno}");
    }
}

/// A packet adds 0.01 and a loss takes ln(8/7) in logarithms, so that the mean window is ln(1.01) / (p ln(8/7)), whatever the round trip.
#[test]
fn scalable_follows_its_response_function() {
    for (loss, rtt_ms) in [(1e-4, 50), (1e-4, 100), (3e-4_f64, 100)] {
        let expected = window_rate(1.01_f64.ln() / (loss * (8.0 / 7.0_f64).ln()), rtt_ms);
        let rate = settled("scalable", &link(1000.0, rtt_ms, loss, 50_000_000), 400);
        assert!((0.85..1.15).contains(&(rate / expected)), "loss {loss}: {rate} instead of {expected} Mbit/s");
    }
}

/// Without a queue a loss takes a fifth: the square root of (2 - b) / (2 b p) with b = 0.2.
#[test]
fn veno_follows_the_square_root_of_random_loss() {
    for loss in [0.001, 0.01_f64] {
        let expected = window_rate((1.8 / (0.4 * loss)).sqrt(), 30);
        let rate = settled("veno", &link(1000.0, 30, loss, 10_000_000), 400);
        assert!((0.85..1.15).contains(&(rate / expected)), "loss {loss}: {rate} instead of {expected} Mbit/s");
    }
}

/// H-TCP's loss leaves what the path holds: half a bandwidth-delay product of buffer is enough, which it isn't for NewReno.
#[test]
fn htcp_backs_off_to_what_the_path_holds() {
    let path = link(20.0, 80, 0.0, 100_000);
    let (htcp, newreno) = (settled("htcp", &path, 120), settled("newreno", &path, 120));
    assert!(htcp > 0.98 * 20.0 && newreno < 0.97 * 20.0, "H-TCP {htcp} Mbit/s, NewReno {newreno}");
}

/// Slow start ends with a loss; NewReno then takes thousands of round trips to fill a path of 16,667 packets.
#[test]
fn htcp_and_compound_and_scalable_fill_a_long_path() {
    let path = link(1000.0, 200, 0.0, 2_500_000);
    let newreno = settled("newreno", &path, 60);
    for name in ["htcp", "compound", "scalable"] {
        let rate = settled(name, &path, 60);
        assert!(rate > 1.3 * newreno, "{name}: {rate} Mbit/s, NewReno has {newreno}");
    }
}

/// Goodput that the stacks of Linux 6.18 reached on such links, 1448 of 1500 bytes being payload.
#[test]
fn cubic_and_newreno_are_as_good_as_those_of_linux() {
    let (clean, lossy) = (link(100.0, 30, 0.0, 75_000), link(100.0, 30, 0.01, 75_000));
    for (name, path, linux) in
        [("cubic", &clean, 93.6), ("newreno", &clean, 80.6), ("cubic", &lossy, 4.0), ("newreno", &lossy, 4.2)]
    {
        let rate = rate(&single(name, path, 30), 0, 30) * 1448.0 / 1500.0;
        assert!((0.9..1.2).contains(&(rate / linux)), "{name}: {rate} instead of {linux} Mbit/s");
    }
}

#[test]
fn a_buffer_of_one_bandwidth_delay_product_is_enough() {
    let path = link(20.0, 40, 0.0, 100_000);
    for name in WINDOW_BASED {
        let rate = settled(name, &path, 60);
        assert!(rate > 0.98 * 20.0, "{name}: {rate} Mbit/s");
    }
}

#[test]
fn hybla_is_as_fast_on_a_long_path() {
    let ratio = |name| {
        let at = |rtt_ms| settled(name, &link(1000.0, rtt_ms, 0.001, 50_000_000), 200);
        at(200) / at(25)
    };
    let (hybla, newreno) = (ratio("hybla"), ratio("newreno"));
    assert!(hybla > 0.8 && newreno < 0.15, "Hybla {hybla}, NewReno {newreno}");
}

#[test]
fn illinois_and_westwood_bear_random_loss() {
    let path = link(100.0, 30, 0.01, 75_000);
    let newreno = settled("newreno", &path, 60);
    for name in ["illinois", "westwood"] {
        let rate = settled(name, &path, 60);
        assert!(rate > 3.0 * newreno, "{name}: {rate} Mbit/s, NewReno has {newreno}");
    }
}

/// 0.6 ms for each packet in the queue.
#[test]
fn delay_based_controllers_keep_their_queue() {
    let path = link(20.0, 40, 0.0, 2_000_000);
    for (name, seconds, queue_ms) in [("vegas", 60, 1.2..3.1), ("fast", 60, 11.4..12.6), ("ledbat", 300, 90.0..110.0)] {
        let simulation = simulation(&[name], &path, seconds);
        let measure_from = simulation.duration * 9 / 10;
        let result = Simulation { measure_from, ..simulation }.run().flows.remove(0);
        let mean = result.queueing.mean().as_secs_f64() * 1e3;
        assert!(queue_ms.contains(&mean), "{name}: {mean} ms in the queue");
        assert_eq!(result.lost, 0, "{name}");
    }
}

#[test]
fn hystart_leaves_slow_start_before_the_queue_is_full() {
    let path = link(20.0, 40, 0.0, 2_000_000);
    let (with, without) = (single("cubic-hystart", &path, 20), single("cubic", &path, 20));
    assert!(with.lost < without.lost / 4, "{} and {} packets lost", with.lost, without.lost);
    assert!(rate(&with, 10, 20) >= rate(&without, 10, 20) * 0.99);
}

#[test]
fn two_flows_share() {
    let path = link(20.0, 40, 0.0, 100_000);
    for name in WINDOW_BASED {
        let mut simulation = simulation(&[name, name], &path, 100);
        simulation.flows[1].start = Time::ZERO + Duration::from_secs(5);
        let rates: Vec<f64> = simulation.run().flows.iter().map(|flow| rate(flow, 50, 100)).collect();
        assert!(rates.iter().all(|rate| *rate > 6.0), "{name}: {rates:?} Mbit/s");
    }
}
