//! Paths that lose packets, bring them out of order, and change.

use crate::common::{Pcc, forge};
use crate::support::{Near, connect, data, dial, echo, exchange, serve};
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A UDP relay in front of the far side that loses packets and brings some too late.
struct Path {
    address: SocketAddr,
    /// The socket that the far side sees.
    back: Arc<Mutex<Arc<UdpSocket>>>,
    to: SocketAddr,
    front: Arc<UdpSocket>,
    near: Arc<Mutex<Option<SocketAddr>>>,
    /// Loses all.
    is_cut: Arc<AtomicBool>,
}

/// One packet in so many is lost, and one brought behind the next.
const ODD: u8 = 40;

fn carry(from: impl Fn(&mut [u8]) -> Option<usize>, to: impl Fn(&[u8]), seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut buffer, mut late) = ([0; 2048], None::<Vec<u8>>);
    while let Some(len) = from(&mut buffer) {
        match rng.u8(..ODD) {
            0 => continue,
            1 if late.is_none() => late = Some(buffer[..len].to_vec()),
            _ => {
                to(&buffer[..len]);
                late.take().iter().for_each(|late| to(late));
            }
        }
    }
}

impl Path {
    fn start(to: SocketAddr) -> Path {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let back = Arc::new(Mutex::new(Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap())));
        let path = Path {
            address: front.local_addr().unwrap(),
            back,
            to,
            front,
            near: Arc::default(),
            is_cut: Arc::default(),
        };
        let (front, near, back) = (path.front.clone(), path.near.clone(), path.back.clone());
        let is_cut = path.is_cut.clone();
        thread::spawn(move || {
            let receive = |buffer: &mut [u8]| {
                let (len, from) = front.recv_from(buffer).ok()?;
                *near.lock().unwrap() = Some(from);
                Some(len)
            };
            let send = |packet: &[u8]| {
                if !is_cut.load(Ordering::Relaxed) {
                    drop(back.lock().unwrap().send_to(packet, to));
                }
            };
            carry(receive, send, 1);
        });
        path.listen();
        path
    }

    /// Brings what comes to the present back socket to the near side.
    fn listen(&self) {
        let (front, near, back) = (self.front.clone(), self.near.clone(), self.back.lock().unwrap().clone());
        let is_cut = self.is_cut.clone();
        thread::spawn(move || {
            let send = |packet: &[u8]| {
                let near = *near.lock().unwrap();
                let near = near.filter(|_| !is_cut.load(Ordering::Relaxed));
                near.into_iter().for_each(|near| drop(front.send_to(packet, near)));
            };
            carry(|buffer| back.recv(buffer).ok(), send, 2);
        });
    }

    /// From now on the far side sees another address, as after a change of network.
    fn change(&self) {
        *self.back.lock().unwrap() = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        assert_ne!(self.to, self.address);
        self.listen();
    }
}

/// Both sides with such a path between them.
fn apart() -> (Pcc, Near, Path) {
    let echo = echo();
    let far = serve(&[echo.to_string()], &[]);
    let mut path = None;
    let ticket = forge(&far.ticket(), |(_, _, addresses)| {
        let started = Path::start(addresses[0]);
        *addresses = vec![started.address];
        path = Some(started);
    });
    let near = connect(&ticket, echo, &[]);
    (far, near, path.unwrap())
}

#[test]
fn a_bad_path_that_changes_carries_all() {
    let (_far, near, path) = apart();
    let sent = data(3_000_000, 8);
    assert!(exchange(dial(near.forward), sent.clone()) == sent);
    let open = dial(near.forward);
    path.change();
    assert!(exchange(open, sent.clone()) == sent);
    assert!(near.pcc.events("lost").is_empty(), "it was the same connection all the time");
}

#[test]
fn an_outage_is_waited_for() {
    let (far, near, path) = apart();
    let mut open = dial(near.forward);
    // It is open to the target. The request for that is waited for ten seconds only, and may be sent again later than that after an outage.
    open.write_all(b"?").unwrap();
    open.read_exact(&mut [0]).unwrap();
    path.is_cut.store(true, Ordering::Relaxed);
    let sent = data(300_000, 9);
    let copy = sent.clone();
    let exchanging = thread::spawn(move || exchange(open, copy));
    thread::sleep(Duration::from_secs(4));
    assert!(!exchanging.is_finished(), "the path is not cut");
    path.is_cut.store(false, Ordering::Relaxed);
    assert!(exchanging.join().unwrap() == sent);
    assert!(
        near.pcc.events("lost").is_empty() && far.events("lost").is_empty(),
        "it was the same connection all the time"
    );
}
