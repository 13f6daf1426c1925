//! UDP: SOCKS5's associations, and forwards.

use crate::common::{PATIENCE, Pcc};
use crate::support::{Near, connect, echo, listening, memory, proxy, serve, socks};
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket
}

/// A target that answers each datagram with its bytes the other way round.
fn mirror() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            buffer[..len].reverse();
            let _ = socket.send_to(&buffer[..len], from);
        }
    });
    address
}

/// Sends a datagram as often as it takes until this comes back.
fn ask(socket: &UdpSocket, to: SocketAddr, datagram: &[u8], answer: &[u8]) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        socket.send_to(datagram, to).unwrap();
        let mut buffer = [0; 65536];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            assert_eq!(from, to);
            if &buffer[..len] == answer {
                return;
            }
        }
    }
    panic!("no answer");
}

/// Asks for an association: where its datagrams go, and the connection that keeps it.
fn associate(near: &Near) -> (SocketAddr, TcpStream) {
    let (reply, stream) = socks(near.socks, 3, "0.0.0.0", 0);
    assert_eq!(reply.code, 0);
    (reply.bound, stream)
}

/// A datagram of RFC 1928, 7.
fn wrapped(fragment: u8, host: &str, port: u16, payload: &[u8]) -> Vec<u8> {
    let address = match host.parse::<Ipv4Addr>() {
        Ok(ip) => [&[1][..], &ip.octets()].concat(),
        Err(_) => [&[3, host.len() as u8][..], host.as_bytes()].concat(),
    };
    [&[0, 0, fragment][..], &address, &port.to_be_bytes(), payload].concat()
}

/// Both sides, with a UDP forward to this target, which is allowed.
fn both(target: SocketAddr) -> (Pcc, Near, SocketAddr) {
    let far = serve(&[format!("localhost:{}", target.port()), target.to_string()], &[]);
    let near = connect(&far.ticket(), echo(), &["--forward", &format!("udp:127.0.0.1:0={target}")]);
    let forward = listening(&near.pcc, "udp-forward");
    (far, near, forward)
}

#[test]
fn an_association_carries_datagrams_to_any_allowed_target() {
    let (one, other) = (mirror(), mirror());
    let far = serve(&[format!("localhost:{}", one.port()), one.to_string(), other.to_string()], &[]);
    let near = connect(&far.ticket(), echo(), &[]);
    let (relay, mut stream) = associate(&near);
    let program = socket();
    for (host, port) in [("127.0.0.1", one.port()), ("localhost", one.port()), ("127.0.0.1", other.port())] {
        ask(&program, relay, &wrapped(0, host, port, b"abc"), &wrapped(0, host, port, b"cba"));
    }
    // Nobody else can use it, and fragments, nonsense and what fits no packet are dropped.
    let (stranger, port) = (socket(), one.port());
    stranger.send_to(&wrapped(0, "127.0.0.1", port, b"stranger"), relay).unwrap();
    for datagram in
        [wrapped(1, "127.0.0.1", port, b"part"), wrapped(0, "a b", port, b"x"), vec![0; 3], vec![], vec![9; 300]]
    {
        program.send_to(&datagram, relay).unwrap();
    }
    program.send_to(&wrapped(0, "127.0.0.1", port, &[1; 1480]), relay).unwrap();
    program.send_to(&wrapped(0, "127.0.0.1", port, &[1; 60_000]), relay).unwrap();
    ask(&program, relay, &wrapped(0, "127.0.0.1", port, b"last"), &wrapped(0, "127.0.0.1", port, b"tsal"));
    assert!(stranger.recv(&mut [0; 100]).is_err(), "a stranger had an answer");
    // It ends with its connection.
    stream.set_nonblocking(true).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(stream);
    assert_eq!(near.pcc.event("disassociated")["dropped"], 6);
    near.pcc.until("all flows to end", || (near.pcc.events("closed").len() == 3).then_some(()));
    let events = near.pcc.events("closed");
    let closed = events.iter().find(|event| event["target"] == one.to_string()).expect("the flow");
    assert_eq!((closed["dropped"].as_u64(), closed["end"].as_str()), (Some(2), Some("closed")), "{closed}");
    assert!(closed["up"].as_u64() >= Some(7) && closed["down"].as_u64() >= Some(7), "{closed}");
    far.until("all flows to end", || (far.events("closed").len() == 3).then_some(()));
}

#[test]
fn a_forward_carries_datagrams_of_many_programs() {
    let (_far, _near, forward) = both(mirror());
    thread::scope(|scope| {
        for n in 0..20 {
            scope.spawn(move || {
                let program = socket();
                for round in 0..5 {
                    let sent: Vec<u8> = (0..=n).chain([round]).collect();
                    let back: Vec<u8> = sent.iter().rev().copied().collect();
                    ask(&program, forward, &sent, &back);
                }
                ask(&program, forward, &[n; 1000], &[n; 1000]);
            });
        }
    });
}

#[test]
fn datagrams_go_to_allowed_targets_only() {
    let (allowed, other) = (mirror(), mirror());
    let (far, near, forward) = both(allowed);
    let (relay, _stream) = associate(&near);
    let program = socket();
    for host in ["127.0.0.1", "localhost"] {
        program.send_to(&wrapped(0, host, other.port(), b"x"), relay).unwrap();
    }
    let denied =
        |pcc: &Pcc| pcc.until("both denied", || (pcc.events("denied").len() == 2).then(|| pcc.events("denied")));
    for event in denied(&near.pcc).iter().chain(&denied(&far)) {
        assert!(event["reason"].as_str().unwrap().contains("--allow"), "{event}");
    }
    assert!(program.recv(&mut [0; 100]).is_err(), "an answer from a target that is not allowed");
    ask(&socket(), forward, b"x", b"x");
}

#[test]
fn a_flood_is_dropped() {
    let (far, near, forward) = both(mirror());
    ask(&socket(), forward, b"x", b"x");
    let before = memory(&far) + memory(&near.pcc);
    // More programs than there can be flows, and more bytes than may wait.
    let programs: Vec<_> = (0..600).map(|_| socket()).collect();
    for round in 0..100 {
        for program in &programs {
            // Where the kernel has no room, it is dropped there.
            let _ = program.send_to(&[round; 1400], forward);
        }
    }
    let grown = (memory(&far) + memory(&near.pcc)).saturating_sub(before);
    assert!(grown < 40_000_000, "{grown} bytes of memory for 84 MB");
    ask(&socket(), forward, b"after", b"retfa");
    println!("{grown} bytes of memory");
}

#[test]
fn after_a_new_connection_datagrams_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let identity = dir.path().join("identity");
    let (target, identity) = (mirror(), identity.to_str().unwrap());
    let far = serve(&[target.to_string()], &["--identity", identity]);
    let listen = far.event("ticket")["addresses"][0].as_str().unwrap().to_owned();
    let near = connect(&far.ticket(), echo(), &["--forward", &format!("udp:127.0.0.1:0={target}")]);
    let (forward, program) = (listening(&near.pcc, "udp-forward"), socket());
    ask(&program, forward, b"ab", b"ba");
    far.kill();
    let again = ["serve", "--json", "--listen", &listen, "--allow", &target.to_string(), "--identity", identity];
    let _again = proxy(&again, None);
    ask(&program, forward, b"cd", b"dc");
}
