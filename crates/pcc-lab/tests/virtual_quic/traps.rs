//! What noq does not tell a controller, or tells it wrong.

use crate::controllers::{Fixed, Outcome, recorded};
use pcc::{Rate, profiles};
use pcc_lab::link::PathConfig;
use pcc_lab::virtual_quic::Bulk;
use pcc_quic::Transport;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn path(mbps: f64, rtt: Duration, queue: u64, loss: f64) -> PathConfig {
    let (capacity, queue, loss) = (Rate::from_mbps(mbps).into(), queue.into(), loss.into());
    PathConfig { capacity, queue, loss, ..PathConfig::delay_only(rtt / 2) }
}

#[test]
fn every_packet_gets_exactly_one_fate() {
    for seed in 0..4 {
        let (factory, ledger) = recorded(move |_| Box::new(profiles::vivace_2018_loss().build(seed)));
        let lossy = Bulk {
            duration: 5000 * MS,
            seed,
            // With a search for the MTU, probes get lost too.
            mtu: None,
            path_mtu: 1400,
            ..Bulk::over(path(20.0, 40 * MS, 50_000, 0.02))
        };
        let report = lossy.run_with(Transport::config_with(factory));
        let ledger = ledger.lock().expect("the run is over").clone();
        assert_eq!(ledger.errors, [""; 0]);
        assert_eq!(report.closed, None);

        let (acked, lost) = (ledger.count(Some(Outcome::Acked)), ledger.count(Some(Outcome::Lost)));
        assert!(acked > 5000 && lost > 100, "{acked} acknowledged, {lost} lost");
        let open: Vec<_> = ledger.sent.values().filter(|(_, outcome)| outcome.is_none()).collect();
        let newest = ledger.sent.values().last().expect("packets").0.time;
        assert!(open.iter().all(|(packet, _)| newest.since(packet.time) < 200 * MS), "without outcome: {open:?}");
        assert!(ledger.sent.values().all(|(packet, _)| packet.bytes <= report.mtu.into()), "a probe was reported");
    }
}

#[test]
fn lost_mtu_probes_are_not_losses() {
    let (factory, ledger) = recorded(|_| Box::new(Fixed(Rate::from_mbps(10.0))));
    let bulk = Bulk { duration: 3000 * MS, mtu: None, path_mtu: 1300, ..Bulk::over(path(20.0, 40 * MS, 50_000, 0.0)) };
    let report = bulk.run_with(Transport::config_with(factory));
    assert!((1250..=1300).contains(&report.mtu), "{}", report.mtu);
    assert!(report.departures.iter().any(|departure| departure.bytes > 1300), "no probe was lost");
    assert_eq!(ledger.lock().expect("the run is over").count(Some(Outcome::Lost)), 0);
}

#[test]
fn an_ordered_stream_survives_loss_on_a_long_path() {
    let bulk = Bulk {
        duration: Duration::from_secs(12),
        stream_bytes: u64::MAX,
        ordered: true,
        ..Bulk::over(path(42.0, 800 * MS, 1_000_000, 0.0074))
    };
    let report = bulk.run_with(Transport::config_with(Fixed::factory(40.0)));
    assert_eq!(report.closed, None);
    assert!(report.delivered_bytes() > 5_000_000, "{}", report.delivered_bytes());
}

#[test]
fn reordering_is_not_loss() {
    let bulk = Bulk { duration: 3000 * MS, reordering: 2 * MS, ..Bulk::over(path(100.0, 30 * MS, 100_000, 0.0)) };
    let mut config = Transport::config_with(Fixed::factory(50.0));
    let lost = bulk.run_with(config).lost_packets;
    // Until the round-trip time is known well, one may come later than 9/8 of it.
    assert!(lost <= 2, "{lost}");

    config = Transport::config_with(Fixed::factory(50.0));
    config.packet_threshold(3);
    let lost = bulk.run_with(config).lost_packets;
    assert!(lost > 1000, "the path must reorder, or this shows nothing: {lost}");
}

#[test]
fn an_outage_is_survived_in_silence() {
    let secs = Duration::from_secs;
    let bulk = Bulk { duration: secs(65), outage: secs(5)..secs(45), ..Bulk::over(path(20.0, 50 * MS, 100_000, 0.0)) };
    let report = bulk.run(&Transport::default());
    assert_eq!(report.closed, None);
    assert!(report.goodput(secs(3), secs(5)).mbps() > 15.0);
    let blasted = report.sent_rate(secs(7), secs(45));
    assert!(blasted.mbps() < 0.1, "{blasted} into the dark");
    assert!(report.goodput(secs(55), secs(65)).mbps() > 15.0, "{}", report.goodput(secs(55), secs(65)));
}

#[test]
fn two_runs_are_the_same() {
    let jittery = PathConfig { jitter: 3 * MS, ..path(50.0, 40 * MS, 100_000, 0.01) };
    let bulk =
        Bulk { duration: 3000 * MS, mtu: None, reordering: MS, stall: MS, stall_every: 30 * MS, ..Bulk::over(jittery) };
    let first = bulk.run(&Transport::default());
    assert!(first.delivered_bytes() > 1_000_000);
    assert_eq!(first, bulk.run(&Transport::default()));
    assert_ne!(first, Bulk { seed: 2, ..bulk.clone() }.run(&Transport::default()));
}
