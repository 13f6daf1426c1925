//! What changes while a connection lives.

use crate::path::{Hosts, link};
use crate::support::loaded;
use pcc::{Rate, Time};
use pcc_lab::link::{Change, PathConfig};
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_connection_may_change_its_controller() {
    let Some(loaded) = loaded() else { return };
    let hosts = Hosts::new("reno", link(50.0, 20 * MS));
    let mut connection = hosts.connect();
    for (controller, known) in [("cubic", 0), ("pcc_vivace", 1), ("pcc_allegro", 1), ("cubic", 0), ("pcc_vivace", 1)] {
        connection.set_controller(controller);
        assert_eq!(connection.controller(), controller);
        let listed = loaded.connections();
        assert!(listed.is_none_or(|listed| listed == known), "{controller}: {listed:?}");
        connection.send(1_000_000);
        connection.reach(Rate::from_mbps(10.0));
    }
    connection.finish();
}

#[test]
fn a_path_that_was_away_for_three_seconds_is_used_again() {
    let Some(_loaded) = loaded() else { return };
    let at = |time, loss| Change { at: Time::ZERO + time, loss: Some(loss), ..Change::default() };
    let away = [at(2 * SECOND, 1.0), at(5 * SECOND, 0.0)];
    let hosts = Hosts::new("pcc_vivace", PathConfig { schedule: away.into(), ..link(50.0, 20 * MS) });
    let mut connection = hosts.connect();
    connection.send_for(5 * SECOND);
    assert!(connection.info().tcpi_total_retrans > 0);
    // The retransmission timer has backed off to some seconds by now.
    connection.reach(Rate::from_mbps(10.0));
    connection.finish();
}

#[test]
fn after_a_pause_a_connection_is_fast_again() {
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_vivace", link(50.0, 20 * MS));
    let mut connection = hosts.connect();
    connection.send_for(2 * SECOND);
    thread::sleep(3 * SECOND);
    connection.reach(Rate::from_mbps(20.0));
    connection.finish();
}

#[test]
fn an_application_that_sends_little_keeps_the_rate_sane() {
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_vivace", link(50.0, 20 * MS));
    let mut connection = hosts.connect();
    let mut rates = Vec::new();
    for _ in 0..30 {
        connection.send(10_000);
        thread::sleep(100 * MS);
        rates.push(connection.rate().mbps());
    }
    // What it sends in a round-trip time is 4 Mbit/s.
    assert!(rates.iter().all(|rate| (0.1..50.0).contains(rate)), "{rates:?}");
    connection.reach(Rate::from_mbps(20.0));
    connection.finish();
}
