//! What PCC does can be seen.

use crate::common::{Pcc, pcc};
use crate::connection::Connection;
use crate::path::{Hosts, link};
use crate::support::{PATIENCE, listed, loaded};
use pcc::Phase;
use pcc_tcp::kernel::{EventKind, Interval, Record, TcpFlows, Watch};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);
const MBPS: f64 = 20.0;

/// Sends until `see` has something.
fn while_sending<T>(connection: &mut Connection, mut see: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        connection.send_for(50 * MS);
        if let Some(seen) = see() {
            return seen;
        }
        assert!(start.elapsed() < PATIENCE, "nothing is seen");
    }
}

#[test]
fn a_watcher_sees_intervals_and_events_from_the_beginning_on() {
    let Some(_loaded) = loaded() else { return };
    let mut watch = Watch::begin(true).expect("a watch");
    let hosts = Hosts::new("pcc_allegro", link(MBPS, RTT));
    let mut connection = hosts.connect();
    let local = connection.stream.local_addr().expect("an address");
    let (mut events, mut intervals) = (Vec::new(), Vec::<Interval>::new());
    while_sending(&mut connection, || {
        for record in watch.poll().expect("records") {
            match record {
                Record::Event(event) if event.connection.local == local => events.push(event),
                Record::Interval(interval) if interval.connection.local == local => intervals.push(interval),
                // The other end, and connections of others.
                _ => {}
            }
        }
        (intervals.len() >= 10).then_some(())
    });
    assert_eq!(events[0].connection.remote, connection.stream.peer_addr().expect("an address"));
    assert!(matches!(events[0].kind, EventKind::Init { .. }) && events[0].ack.bytes_sent == 0);
    assert!(events[1..].iter().all(|event| !matches!(event.kind, EventKind::Init { .. })));
    assert!(events.windows(2).all(|pair| pair[0].ack.now <= pair[1].ack.now));
    for interval in &intervals {
        let result = interval.result;
        assert!(interval.time >= result.start && result.packets_sent > 0 && result.packets_lost <= result.packets_sent);
        assert!(result.min_rtt > 0.9 * RTT.as_secs_f64(), "{result:?}");
        assert!(events.iter().any(|event| event.ack.now == interval.time.as_nanos()), "an acknowledgement closes it");
    }
    connection.finish();
}

#[test]
fn connections_are_listed_with_what_became_of_them() {
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_vivace", link(MBPS, RTT));
    let mut connection = hosts.connect();
    let local = connection.stream.local_addr().expect("an address");
    let mut flows = TcpFlows::default();
    if listed(&mut flows).is_none() {
        return connection.finish();
    }
    let mut find = || {
        let flows = flows.list().expect("a list");
        flows.into_iter().find(|flow| flow.connection.local == local).expect("the connection")
    };
    let first = find();
    // The SYN counts.
    assert!(first.bytes_acked <= 1 && first.phase == Phase::Starting && first.last.is_none(), "{first:?}");
    let flow = while_sending(&mut connection, || Some(find()).filter(|flow| flow.last.is_some()));
    let info = connection.info();
    assert_eq!(flow.connection.began, first.connection.began);
    assert!(flow.time > first.time && flow.bytes_sent >= flow.bytes_acked && flow.bytes_acked > 0);
    assert!(flow.bytes_acked <= info.tcpi_bytes_acked && flow.segments_sent <= info.tcpi_data_segs_out);
    assert!(flow.rtt > RTT * 9 / 10 && flow.min_rtt > RTT * 9 / 10 && flow.window > 0);
    connection.finish();
    let start = Instant::now();
    while TcpFlows::default().list().is_ok_and(|flows| flows.iter().any(|flow| flow.connection.local == local)) {
        assert!(start.elapsed() < PATIENCE, "it is listed after its end");
        thread::sleep(10 * MS);
    }
}

#[test]
fn an_end_at_an_ipv6_address_is_shown() {
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::loopback("pcc_vivace", std::net::Ipv6Addr::LOCALHOST);
    let connection = hosts.connect();
    let (local, remote) = (connection.stream.local_addr().expect("one"), connection.stream.peer_addr().expect("one"));
    let Some(flows) = listed(&mut TcpFlows::default()) else { return connection.finish() };
    assert!(flows.iter().any(|flow| (flow.connection.local, flow.connection.remote) == (local, remote)), "{flows:?}");
    connection.finish();
}

/// `pcc tcp top --json`, once it has written a line.
fn top(connection: &mut Connection) -> Pcc {
    let top = pcc(&["tcp", "top", "--json"]);
    while_sending(connection, || (!top.lines().is_empty()).then_some(()));
    top
}

#[test]
fn intervals_are_lines_of_json_for_one_viewer_at_a_time() {
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_vivaceloss", link(MBPS, RTT));
    let mut connection = hosts.connect();
    let mut first = top(&mut connection);
    let mut second = pcc(&["tcp", "top", "--json"]);
    second.exits(1);
    assert!(second.stderr().contains("watches the controllers already"), "{}", second.stderr());
    first.interrupt();
    first.exits(0);
    let lines = first.lines();
    let line: serde_json::Value = serde_json::from_str(&lines[0]).expect("JSON");
    assert_eq!(line["local"], connection.stream.local_addr().expect("an address").to_string());
    assert_eq!(line["controller"], "pcc_vivaceloss");
    assert!(line["rate_mbps"].as_f64() > Some(0.0) && line["min_rtt_ms"].as_f64() > Some(18.0), "{line}");
    assert!(line["packets"].as_u64() >= line["lost"].as_u64(), "{line}");
    // As soon as it has ended another may watch, and one that was killed holds nobody up for long.
    top(&mut connection).kill();
    let start = Instant::now();
    while Watch::begin(false).is_err() {
        assert!(start.elapsed() < PATIENCE, "still watched");
        thread::sleep(100 * MS);
    }
    connection.finish();
}

#[test]
fn without_a_terminal_the_lines_are_recommended() {
    let mut top = pcc(&["tcp", "top"]);
    top.exits(1);
    assert!(top.stderr().contains("pcc tcp top --json"), "{}", top.stderr());
}
