//! Many connections.

use crate::connection::Connection;
use crate::path::{Hosts, link};
use crate::support::loaded;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn two_hundred_connections_at_once_get_everything_through() {
    const CONNECTIONS: usize = 200;
    let Some(loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_vivace", link(200.0, 20 * MS));
    let (connected, counted) = (Barrier::new(CONNECTIONS + 1), Barrier::new(CONNECTIONS + 1));
    thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let mut connection = hosts.connect();
                assert_eq!(connection.controller(), "pcc_vivace");
                connected.wait();
                counted.wait();
                connection.send(250_000);
                connection.finish();
            });
        }
        connected.wait();
        let known = loaded.connections();
        counted.wait();
        assert!(known.is_none_or(|known| known == CONNECTIONS), "{known:?}");
    });
}

#[test]
fn ten_thousand_short_connections_leave_nothing_behind() {
    const AT_ONCE: usize = 100;
    const EACH: usize = 100;
    const BYTES: usize = 4000;
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_allegro", link(1000.0, 2 * MS));
    let listener = hosts.listen();
    let to = listener.local_addr().expect("an address");
    let served = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| (0..EACH).for_each(|_| assert_eq!(serve(&listener), BYTES)));
            // Threads are on the host of the thread that makes them.
            hosts.on_left(|| {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        ask(TcpStream::connect(to).expect("a connection"), BYTES);
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                });
            });
        }
    });
    assert_eq!(served.into_inner(), AT_ONCE * EACH);
}

/// Sends this much and waits for the other side to close.
fn ask(mut stream: TcpStream, bytes: usize) {
    stream.write_all(&vec![0x5a; bytes]).expect("room");
    stream.shutdown(Shutdown::Write).expect("a connection");
    stream.read_to_end(&mut Vec::new()).expect("the end");
}

/// Takes the next connection, and counts its bytes.
fn serve(listener: &TcpListener) -> usize {
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.read_to_end(&mut Vec::new()).expect("the end")
}

#[test]
fn profiles_live_next_to_each_other() {
    let Some(_loaded) = loaded() else { return };
    let hosts = Hosts::new("pcc_vivace", link(50.0, 20 * MS));
    let mut all: Vec<Connection> = (0..3).map(|_| hosts.connect()).collect();
    all[1].set_controller("pcc_vivaceloss");
    all[2].set_controller("pcc_allegro");
    // The latency profile makes way for what fills queues, but not altogether.
    thread::scope(|scope| all.iter_mut().for_each(|connection| drop(scope.spawn(|| connection.deliver(1_000_000)))));
    all.into_iter().for_each(Connection::finish);
}
