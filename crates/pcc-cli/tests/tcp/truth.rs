//! Monitor intervals against what the path did to every single segment.

use crate::path::{Hosts, link};
use crate::support::loaded;
use pcc_lab::link::PathConfig;
use pcc_tcp::kernel::{Interval, Record, Watch};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// The bound is far below what is reached, 0.95 and more, because a busy machine delivers late, and what comes late may count
/// as lost.
#[test]
fn most_intervals_lost_exactly_what_the_link_dropped() {
    let Some(_loaded) = loaded() else { return };
    let mut watch = Watch::begin(true).expect("a watch");
    let hosts = Hosts::new("pcc_vivace", PathConfig { loss: 0.01.into(), ..link(100.0, 30 * MS) });
    let mut connection = hosts.connect();
    let local = connection.stream.local_addr().expect("an address");
    // How many segments had been sent when an interval that began at this time began.
    let mut sent = HashMap::new();
    let mut intervals = Vec::<Interval>::new();
    let start = Instant::now();
    while start.elapsed() < 10_000 * MS {
        connection.send_for(20 * MS);
        for record in watch.poll().expect("records") {
            match record {
                Record::Event(event) if event.connection.local == local => {
                    sent.insert(event.ack.now.max(event.ack.next_send), event.ack.sent);
                }
                Record::Interval(interval) if interval.connection.local == local => intervals.push(interval),
                _ => {}
            }
        }
    }
    connection.finish();
    if watch.dropped().expect("a counter") > 0 {
        return println!("skipped: the machine was too busy to read all that the kernel told");
    }
    let report = hosts.stop();
    let arrived = &report.segments[0];
    let (mut exact, mut claimed, mut dropped, mut packets) = (0, 0, 0, 0);
    for interval in &intervals {
        let result = interval.result;
        let begin = sent[&result.start.as_nanos()] as usize;
        let lost = arrived[begin..][..result.packets_sent as usize].iter().filter(|arrived| !**arrived).count() as u64;
        exact += usize::from(lost == result.packets_lost);
        claimed += result.packets_lost;
        dropped += lost;
        packets += result.packets_sent;
    }
    let share = exact as f64 / intervals.len() as f64;
    println!(
        "{exact} of {} intervals exact ({:.1} %); of {packets} segments {dropped} dropped, {claimed} counted as lost",
        intervals.len(),
        share * 100.0
    );
    assert!(intervals.len() > 20 && share > 0.5, "{share}");
}
