//! Rates are held and bursts are short, also by a sender that stalls.

use crate::controllers::Fixed;
use pcc::Rate;
use pcc_lab::link::PathConfig;
use pcc_lab::virtual_quic::{Bulk, BulkReport};
use pcc_quic::{Algorithm, Transport};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A path that is never the limit, with a round trip of 20 ms.
fn wide() -> Bulk {
    Bulk { duration: 2000 * MS, ..Bulk::over(PathConfig::delay_only(10 * MS)) }
}

fn at_fixed_rate(mbps: f64, bulk: &Bulk) -> BulkReport {
    bulk.run_with(Transport::config_with(Fixed::factory(mbps)))
}

#[test]
fn a_rate_is_held_without_bursts() {
    for mbps in [2.0, 20.0, 100.0, 300.0] {
        let report = at_fixed_rate(mbps, &wide());
        let sent = report.sent_rate(500 * MS, 2000 * MS).mbps();
        assert!((sent / mbps - 1.0).abs() < 0.005, "{mbps} Mbit/s: {sent}");
        assert!(report.longest_burst(Duration::ZERO) <= 2, "{mbps} Mbit/s");
    }
}

#[test]
fn a_stall_costs_neither_rate_nor_a_burst() {
    // noq alone sends 10 to 17 packets in a row after each, at 100 Mbit/s. Here it is what a 64th of the round trip makes necessary,
    // and what 50 us do.
    let us = MS / 1000;
    for (mbps, stall, every, burst) in [
        (2.0, 15 * MS, 200 * MS, 2),
        (10.0, 5 * MS, 50 * MS, 2),
        (100.0, 1500 * us, 20 * MS, 4),
        (100.0, MS, 7 * MS, 4),
        (300.0, 500 * us, 10 * MS, 9),
        (900.0, 500 * us, 10 * MS, 28),
    ] {
        let report = at_fixed_rate(mbps, &Bulk { stall, stall_every: every, ..wide() });
        let sent = report.sent_rate(500 * MS, 2000 * MS).mbps();
        assert!((sent / mbps - 1.0).abs() < 0.01, "{mbps} Mbit/s, {stall:?}: {sent}");
        assert!(report.longest_burst(Duration::ZERO) <= burst, "{mbps} Mbit/s, {stall:?}");
    }
}

#[test]
fn a_debt_that_no_buffer_would_hold_is_dropped() {
    let report = at_fixed_rate(100.0, &Bulk { stall: 100 * MS, stall_every: 500 * MS, ..wide() });
    // 16 packets are made up, at 3/2 of the rate: 4 ms are enough.
    let (soon, later) = (report.sent_rate(600 * MS, 604 * MS).mbps(), report.sent_rate(605 * MS, 700 * MS).mbps());
    assert!((140.0..155.0).contains(&soon), "{soon}");
    assert!((later / 100.0 - 1.0).abs() < 0.005, "{later}");
    assert_eq!(report.longest_burst(Duration::ZERO), 4);
}

#[test]
fn no_algorithm_exceeds_the_largest_rate() {
    let max = Rate::from_mbps(10.0);
    for algorithm in Algorithm::all() {
        let report = wide().run(&Transport { algorithm, max_rate: Some(max), seed: Some(1), ..Transport::default() });
        for begin in (100..1900).step_by(50) {
            let sent = report.sent_rate(begin * MS, (begin + 100) * MS);
            // A burst of noq's own pacer, 10 ms of the rate, is a tenth of what passes in that time.
            assert!(sent.mbps() <= 11.2, "{algorithm}: {sent} at {begin} ms");
        }
        assert!(
            report.goodput(1000 * MS, 2000 * MS).mbps() > 6.0,
            "{algorithm}: {}",
            report.goodput(1000 * MS, 2000 * MS)
        );
    }
}

#[test]
fn acknowledgements_are_not_paced() {
    // The receiver's own controller never got beyond its first rate, at which a packet's credit takes 6 ms.
    let report = at_fixed_rate(100.0, &wide());
    let late: Vec<_> = report.rtt[5..].iter().filter(|rtt| **rtt > 20 * MS + MS / 5).collect();
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn flow_control_is_not_the_limit() {
    let long = PathConfig::delay_only(50 * MS);
    let report = at_fixed_rate(1000.0, &Bulk { duration: 1500 * MS, ..Bulk::over(long) });
    let sent = report.sent_rate(1000 * MS, 1500 * MS).mbps();
    assert!((sent / 1000.0 - 1.0).abs() < 0.01, "{sent}");
}
