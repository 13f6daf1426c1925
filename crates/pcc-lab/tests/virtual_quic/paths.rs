//! The three bad paths, over real QUIC, as snapshots: a change of a controller, of the adapter or of noq shows here.

use pcc::Rate;
use pcc_lab::link::PathConfig;
use pcc_lab::virtual_quic::{Bulk, BulkReport};
use pcc_quic::{Algorithm, Transport};
use std::fmt::Write;
use std::time::Duration;

/// noq's BBRv3 can't be seeded, so it has no place in a snapshot.
const SEEDED: [&str; 6] = ["queue-target", "vivace-latency", "vivace-loss", "allegro-2015", "cubic", "newreno"];

fn table(mbps: f64, rtt_ms: u64, loss: f64, queue: u64, secs: u32) -> String {
    let path = PathConfig {
        capacity: Rate::from_mbps(mbps).into(),
        queue: queue.into(),
        loss: loss.into(),
        ..PathConfig::delay_only(Duration::from_millis(rtt_ms / 2))
    };
    let bulk = Bulk { duration: Duration::from_secs(secs.into()), ..Bulk::over(path) };
    let mut table = String::from("controller       goodput Mbit/s: all  2nd half   sent pkt  lost %  last RTT ms\n");
    for name in SEEDED {
        let algorithm: Algorithm = name.parse().expect("a known name");
        let report = bulk.run(&Transport { algorithm, ..Transport::default() });
        writeln!(table, "{algorithm:16} {}", row(&bulk, &report)).expect("strings take all");
    }
    table
}

fn row(bulk: &Bulk, report: &BulkReport) -> String {
    assert_eq!(report.closed, None);
    let end = bulk.duration;
    let (all, half) = (report.goodput(Duration::ZERO, end), report.goodput(end / 2, end));
    let lost = 100.0 * report.lost_packets as f64 / report.sent_packets as f64;
    let rtt = report.rtt.last().expect("a bin").as_secs_f64() * 1e3;
    format!("{:19.2} {:9.2} {:10} {lost:7.2} {rtt:12.1}", all.mbps(), half.mbps(), report.sent_packets)
}

#[test]
fn satellite() {
    insta::assert_snapshot!(table(42.0, 800, 0.0074, 1_000_000, 25));
}

#[test]
fn lossy() {
    insta::assert_snapshot!(table(100.0, 30, 0.01, 375_000, 8));
}

#[test]
fn shallow() {
    insta::assert_snapshot!(table(100.0, 30, 0.0, 9_000, 8));
}
