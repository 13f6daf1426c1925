//! Real packets. Where there is no TUN, or this isn't root, nothing can be tested.

use crate::emulator::*;
use crate::error::EmulatorError;
use crate::host::{Namespace, To};
use crate::testing::receive;
use nix::sys::socket::{setsockopt, sockopt};
use pcc::Rate;
use pcc_lab::link::{Loss, PathConfig};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, SystemTime};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const LEFT: Ipv4Addr = Ipv4Addr::new(10, 77, 1, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 77, 2, 1);
const ADDRESSING: Addressing =
    Addressing::ByHost { left: Ipv4Addr::new(10, 77, 1, 0), right: Ipv4Addr::new(10, 77, 2, 0) };

/// A host on each side.
struct Hosts {
    left: Namespace,
    right: Namespace,
    emulator: Emulator,
}

/// `None` where the test is to be skipped.
fn hosts(offload: bool, link: PathConfig, reverse_delay: Duration) -> Option<Hosts> {
    let host = |name: &'static str, address: Ipv4Addr| {
        let namespace = Namespace::new()?;
        let tun = namespace.run(|| Tun::open(name, offload))?;
        namespace.attach(name, &[address], &[To::ANYWHERE])?;
        Ok::<_, EmulatorError>((namespace, tun))
    };
    let hosts = host("pccl", LEFT).and_then(|left| Ok((left, host("pccr", RIGHT)?)));
    let ((left, left_tun), (right, right_tun)) = match hosts {
        Ok(hosts) => hosts,
        Err(error) => {
            println!("skipped: {error}");
            return None;
        }
    };
    assert_eq!(left_tun.offloads(), offload);
    let config = EmulatorConfig {
        links: vec![link],
        routes: vec![Route { forward: vec![0], reverse_delay, ..Route::default() }],
        addressing: ADDRESSING,
        duration: 1000 * SECOND,
        measure_from: Duration::ZERO,
        seed: 1,
        record: true,
    };
    Some(Hosts { left, right, emulator: Emulator::start(left_tun, right_tun, config).unwrap() })
}

fn udp(host: &Namespace, address: Ipv4Addr) -> UdpSocket {
    let socket = host.run(|| Ok(UdpSocket::bind((address, 5000)).unwrap())).unwrap();
    socket.set_read_timeout(Some(20 * SECOND)).unwrap();
    socket
}

#[test]
fn datagrams_arrive_after_the_delay_in_order() {
    for offload in [false, true] {
        let rate = Rate::from_mbps(100.0);
        let link = PathConfig { capacity: rate.into(), queue: 100_000.into(), ..PathConfig::delay_only(15 * MS) };
        let Some(Hosts { left, right, emulator }) = hosts(offload, link, 7 * MS) else { return };
        let (sender, receiver) = (udp(&left, LEFT), udp(&right, RIGHT));
        setsockopt(&receiver, sockopt::ReceiveTimestampns, &true).unwrap();
        let (origin, origin_of_kernel) = (Instant::now(), SystemTime::now());
        let sending = std::thread::spawn(move || {
            for number in 0..100u64 {
                let mut datagram = [0; 972];
                datagram[..8].copy_from_slice(&number.to_ne_bytes());
                datagram[8..16].copy_from_slice(&(origin.elapsed().as_nanos() as u64).to_ne_bytes());
                sender.send_to(&datagram, (RIGHT, 5000)).unwrap();
                std::thread::sleep(MS);
            }
        });
        let expected = 15 * MS + rate.time_for(1000);
        let mut buffer = [0; 972];
        let mut errors = Vec::new();
        for number in 0..100 {
            let came = receive(&receiver, &mut buffer).duration_since(origin_of_kernel).unwrap();
            assert_eq!(u64::from_ne_bytes(buffer[..8].try_into().unwrap()), number);
            let sent = Duration::from_nanos(u64::from_ne_bytes(buffer[8..16].try_into().unwrap()));
            assert!(origin.elapsed() - sent >= expected);
            errors.push(came.saturating_sub(sent + expected));
        }
        sending.join().unwrap();
        let report = emulator.stop().unwrap();
        let flow = &report.outcome.flows[0];
        assert_eq!((flow.sent, flow.lost, flow.delivered_bytes), (100, 0, 100_000));
        assert!(flow.rtt.quantile(0.0) >= 22 * MS);
        assert_eq!((report.undelivered, report.stray, report.interface_drops), (0, 0, 0));
        assert_eq!(report.outcome.links[0].counters.delivered, 100);
        errors.sort_unstable();
        // Without real-time priority, the thread may be late on a busy machine.
        if report.lateness.p99 < MS {
            assert!(errors[50] < 2 * MS, "{errors:?} {report:?}");
        } else {
            println!("skipped: this machine woke the emulator too late to judge its accuracy ({:?})", report.lateness);
        }
    }
}

#[test]
fn the_queue_has_room_for_so_many_bytes_and_no_more() {
    // Serving a packet takes ten seconds.
    let rate = Rate::from_bits_per_sec(800.0);
    let link = PathConfig { capacity: rate.into(), queue: 10_999.into(), ..PathConfig::delay_only(MS) };
    let Some(Hosts { left, right, emulator }) = hosts(true, link, MS) else { return };
    let (sender, receiver) = (udp(&left, LEFT), udp(&right, RIGHT));
    let began = Instant::now();
    for _ in 0..50 {
        sender.send_to(&[0; 972], (RIGHT, 5000)).unwrap();
    }
    // Each time that the emulator reads on the right it has read on the left.
    for _ in 0..50 {
        receiver.send_to(b"read", (LEFT, 5000)).unwrap();
        sender.recv(&mut [0; 4]).unwrap();
    }
    let took = began.elapsed();
    let report = emulator.stop().unwrap();
    let counters = report.outcome.links[0].counters;
    assert_eq!(counters.enqueued, 50);
    assert_eq!((report.outcome.flows[0].sent, report.outcome.flows[0].lost), (50, counters.dropped));
    if took < 10 * SECOND {
        assert_eq!((counters.dropped, counters.delivered), (40, 0));
    } else {
        println!("skipped: the burst took {took:?} on this machine");
    }
}

#[test]
fn tcp_gets_through_loss_unharmed() {
    const BYTES: usize = 20_000_000;
    for offload in [true, false] {
        let link = PathConfig {
            capacity: Rate::from_mbps(400.0).into(),
            queue: 500_000.into(),
            loss: Loss::from(0.0005),
            ..PathConfig::delay_only(5 * MS)
        };
        let Some(Hosts { left, right, emulator }) = hosts(offload, link, 5 * MS) else { return };
        let mut random = fastrand::Rng::with_seed(7);
        let content: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(BYTES).collect();
        let listener = right.run(|| Ok(TcpListener::bind((RIGHT, 5001)).unwrap())).unwrap();
        let mut received = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                left.run(|| {
                    let mut stream = TcpStream::connect((RIGHT, 5001)).unwrap();
                    stream.write_all(&content).unwrap();
                    Ok(())
                })
                .unwrap();
            });
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(60 * SECOND)).unwrap();
            stream.read_to_end(&mut received).unwrap();
        });
        assert!(received == content);
        let report = emulator.stop().unwrap();
        let flow = &report.outcome.flows[0];
        assert!(flow.lost > 0 && flow.sent > flow.lost);
        // Each byte of the content counts once, with its headers.
        let headers = flow.delivered_bytes - BYTES as u64;
        assert!((BYTES as u64 / 1500 * 40..BYTES as u64 / 1448 * 80).contains(&headers), "{headers}");
        assert_eq!((report.undelivered, report.interface_drops), (0, 0), "{report:?}");
    }
}
