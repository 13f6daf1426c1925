//! Namespaces that go while connections are at full speed.

use crate::connection::Connection;
use crate::path::{Hosts, link};
use crate::support::{Complaints, loaded};
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn namespaces_may_go_under_full_traffic() {
    let Some(loaded) = loaded() else { return };
    let mut complaints = Complaints::from_now_on();
    let hosts = Hosts::new("pcc_vivaceloss", link(100.0, 20 * MS));
    let mut all: Vec<Connection> = (0..10).map(|_| hosts.connect()).collect();
    thread::scope(|scope| {
        all.iter_mut().for_each(|connection| drop(scope.spawn(|| connection.send_for(1000 * MS))));
        thread::sleep(500 * MS);
        let known = loaded.connections();
        assert!(known.is_none_or(|known| known == 10), "{known:?}");
        // The devices go; the namespaces live until the last socket is closed.
        drop(hosts);
    });
    all.into_iter().for_each(Connection::abandon);
    assert_eq!(complaints.heard(), [""; 0]);
}
