//! Marks of queues (ECN) on their way through noq.

use crate::controllers::{Ledger, Outcome, recorded};
use pcc::{CongestionControl, Rate, profiles};
use pcc_lab::link::{Limit, PathConfig, QueueConfig, QueueKind};
use pcc_lab::virtual_quic::{Bulk, BulkReport};
use pcc_quic::{Start, Transport};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// 20 Mbit/s, 40 ms, and CoDel, which marks.
fn bulk() -> Bulk {
    let queue = QueueConfig { ecn: true, ..QueueConfig::new(QueueKind::CoDel, Limit::Packets(1000)) };
    let capacity = Rate::from_mbps(20.0).into();
    let path = PathConfig { capacity, queue, ..PathConfig::delay_only(20 * MS) };
    Bulk { duration: 20_000 * MS, ..Bulk::over(path) }
}

fn run(
    bulk: &Bulk,
    build: impl Fn(&Start) -> Box<dyn CongestionControl> + Send + Sync + 'static,
) -> (BulkReport, Ledger) {
    let (factory, ledger) = recorded(build);
    let report = bulk.run_with(Transport::config_with(factory));
    let ledger = ledger.lock().expect("the run is over").clone();
    assert_eq!((ledger.errors.len(), &report.closed), (0, &None));
    (report, ledger)
}

/// A receiver acknowledges each mark at once, so that the sender hears of all but those on their way when the run ends.
#[test]
fn a_controller_hears_of_every_mark() {
    for (name, least) in [("cubic-paced", 10), ("dctcp-paced", 300)] {
        let (report, ledger) = run(&bulk(), move |_| pcc_baselines::build(name, 1).expect("a known name"));
        let (told, marked) = (ledger.count(Some(Outcome::Marked)) as u64, report.forward.marked);
        assert!(marked > least && (marked - 2..=marked).contains(&told), "{name}: {told} of {marked}");
        assert_eq!((ledger.count(Some(Outcome::Lost)), report.forward.dropped), (0, 0), "{name}");
        let goodput = report.goodput(5000 * MS, 20_000 * MS).mbps();
        assert!(goodput > 17.5, "{name}: {goodput} Mbit/s");
    }
}

/// PCC has no use for marks, but noq sends all packets as capable of ECN.
#[test]
fn a_marked_packet_is_a_lost_one_to_pcc() {
    let (report, ledger) = run(&bulk(), |_| Box::new(profiles::vivace_latency().build(1)));
    let (told, marked) = (ledger.count(Some(Outcome::Lost)) as u64, report.forward.marked);
    assert!(marked > 5 && (marked - 2..=marked).contains(&told), "{told} of {marked}");
    assert_eq!((ledger.count(Some(Outcome::Marked)), report.forward.dropped), (0, 0));
}
