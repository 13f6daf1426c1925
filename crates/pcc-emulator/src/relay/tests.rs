use super::*;
use crate::testing::receive;
use nix::sys::socket::{setsockopt, sockopt};
use pcc::Rate;
use pcc_lab::link::{Counters, PathConfig};
use std::net::UdpSocket;
use std::time::{Duration, Instant, SystemTime};

const MS: Duration = Duration::from_millis(1);

fn start(forward: PathConfig, reverse: PathConfig) -> (Relay, UdpSocket, UdpSocket) {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let receiver_addr = receiver.local_addr().unwrap();
    let relay = Relay::start(&RelayConfig { receiver: receiver_addr, forward, reverse, seed: 1 }).unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(relay.addr()).unwrap();
    for socket in [&sender, &receiver] {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    (relay, sender, receiver)
}

#[test]
fn relays_both_ways_and_reports() {
    let (relay, sender, receiver) = start(PathConfig::delay_only(5 * MS), PathConfig::delay_only(3 * MS));
    let began = Instant::now();
    let mut buffer = [0; 100];
    sender.send(b"there").unwrap();
    let (bytes, from) = receiver.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..bytes], b"there");
    assert!(began.elapsed() >= 5 * MS);
    receiver.send_to(b"and back", from).unwrap();
    let bytes = sender.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..bytes], b"and back");
    assert!(began.elapsed() >= 8 * MS);
    let report = relay.stop().unwrap();
    let delivered = |bytes| Counters { enqueued: 1, delivered: 1, delivered_bytes: bytes, ..Counters::default() };
    assert_eq!((report.forward, report.reverse), (delivered(33), delivered(36)));
    assert_eq!((report.missed, report.unsent), (0, 0));
}

#[test]
fn goes_on_when_the_receiver_is_not_there() {
    let (relay, sender, receiver) = start(PathConfig::delay_only(MS), PathConfig::delay_only(MS));
    drop(receiver);
    for _ in 0..3 {
        sender.send(b"hello?").unwrap();
        std::thread::sleep(5 * MS);
    }
    assert_eq!(relay.stop().unwrap().forward.enqueued, 3);
}

#[test]
fn ends_at_once_when_dropped() {
    let (relay, sender, _receiver) =
        start(PathConfig::delay_only(Duration::from_secs(1000)), PathConfig::delay_only(MS));
    sender.send(b"on a long way").unwrap();
    std::thread::sleep(5 * MS);
    let began = Instant::now();
    drop(relay);
    assert!(began.elapsed() < Duration::from_secs(100));
}

/// Sends a burst that fills the queue; what the relay made of it: its rate, the median error of the delay beyond the time that sending took, and
/// its report.
fn burst() -> (Rate, Duration, RelayReport) {
    let (rate, packets) = (Rate::from_mbps(20.0), 100u64);
    let path = PathConfig { capacity: rate.into(), queue: (1 << 20).into(), ..PathConfig::delay_only(15 * MS) };
    let (relay, sender, receiver) = start(path, PathConfig::delay_only(15 * MS));
    setsockopt(&receiver, sockopt::ReceiveTimestampns, &true).unwrap();
    let began = SystemTime::now();
    (0..packets).for_each(|_| assert_eq!(sender.send(&[0; 1472]).unwrap(), 1472));
    // A sender that was held up makes a burst with a gap.
    let sending = began.elapsed().unwrap_or_default();
    let mut buffer = [0; 2000];
    let arrivals: Vec<Duration> =
        (0..packets).map(|_| receive(&receiver, &mut buffer).duration_since(began).unwrap_or_default()).collect();
    let mut errors: Vec<Duration> =
        (1..).zip(&arrivals).map(|(i, arrival)| (*arrival).abs_diff(rate.time_for(i * 1500) + 15 * MS)).collect();
    errors.sort_unstable();
    let measured = Rate::from_bytes_over((packets - 1) * 1500, arrivals[packets as usize - 1] - arrivals[0]);
    (measured, errors[errors.len() / 2].saturating_sub(sending), relay.stop().unwrap())
}

/// In real time, and so with forgiveness: on a machine so busy that the relay itself says it was late, nothing can be measured.
#[test]
fn rate_and_delay_are_as_asked() {
    let mut last = None;
    for _ in 0..20 {
        let (rate, error, report) = burst();
        assert_eq!((report.missed, report.unsent, report.forward.delivered), (0, 0, 100));
        if (rate / Rate::from_mbps(20.0) - 1.0).abs() < 0.01 && error < Duration::from_micros(300) {
            return;
        }
        last = Some((rate, error, report.lateness));
    }
    let (rate, error, lateness) = last.unwrap();
    if lateness.p50 < Duration::from_micros(100) && lateness.max < MS {
        panic!("20 Mbit/s and 15 ms became {rate} and {error:?} more, though the relay was on time: {lateness:?}");
    }
    println!("skipped: this machine woke the relay too late in 20 tries ({lateness:?}) to judge its accuracy");
}
