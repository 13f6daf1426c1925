//! How exactly the relay does what it should: sends paced and saturating UDP traffic through it and prints rate, delay and lateness.
//!
//! Sender, relay and receiver are three threads of this process, as in `pcc demo`.

use pcc::Rate;
use pcc_emulator::relay::{IP_UDP_HEADERS, Relay, RelayConfig, RelayReport};
use pcc_lab::link::{Capacity, PathConfig};
use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const PAYLOAD: usize = 1452;
const WIRE: u64 = PAYLOAD as u64 + IP_UDP_HEADERS;

/// Measures, and prints a table.
pub fn run() -> io::Result<()> {
    println!(
        "  rate Mbit/s   one way ms |  measured Mbit/s    error |  delay error us p50  p99 |  lateness us p50  p99  max | relay % of a core"
    );
    for (mbps, delay_ms) in [(10.0, 15), (42.0, 400), (100.0, 15), (200.0, 30), (400.0, 15)] {
        let rate = Rate::from_mbps(mbps);
        let delay = PathConfig::delay_only(Duration::from_millis(delay_ms));
        let path = PathConfig { capacity: rate.into(), queue: 375_000.into(), ..delay };
        // 10 % more than the bottleneck carries, to see the rate; 30 %, so that no queue hides the delay.
        let (full, _, report) = measure(&path, rate * 1.1, Duration::from_secs(4))?;
        let (_, mut errors, _) = measure(&path, rate * 0.3, Duration::from_secs(4))?;
        errors.sort_unstable();
        let at = |percent: usize| errors.get(errors.len() * percent / 100).map_or(0, |e| e / 1000);
        println!(
            "{mbps:>13} {delay_ms:>12} | {:>16.3} {:>+7.3}% | {:>18} {:>5} | {:>15} {:>5} {:>5} | {:>5.1}",
            full.mbps(),
            (full / rate - 1.0) * 100.0,
            at(50),
            at(99),
            report.lateness.p50.as_micros(),
            report.lateness.p99.as_micros(),
            report.lateness.max.as_micros(),
            report.cpu.as_secs_f64() / 4.4 * 100.0,
        );
        if report.forward.dropped == 0 {
            println!("              the sender could not fill the bottleneck: the rate measured is the sender's");
        }
        if report.missed + report.unsent > 0 {
            println!("              {} datagrams not read in time, {} not sent", report.missed, report.unsent);
        }
    }
    Ok(())
}

/// Sends at `rate` for `time`; the rate at which datagrams came, how much longer than it should each took in ns, the report.
fn measure(path: &PathConfig, rate: Rate, time: Duration) -> io::Result<(Rate, Vec<i64>, RelayReport)> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    receiver.set_read_timeout(Some(path.delay + Duration::from_millis(300)))?;
    let config = RelayConfig {
        receiver: receiver.local_addr()?,
        forward: path.clone(),
        reverse: PathConfig::delay_only(path.delay),
        seed: 1,
    };
    let relay = Relay::start(&config)?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(relay.addr())?;
    let origin = Instant::now();
    let sending = std::thread::spawn(move || -> io::Result<()> {
        let mut datagram = [0; PAYLOAD];
        let mut sent = 0;
        while origin.elapsed() < time {
            // Always as many as the rate has earned: a late wake-up is made up for.
            while rate.time_for(sent * WIRE) <= origin.elapsed() {
                datagram[..8].copy_from_slice(&(origin.elapsed().as_nanos() as u64).to_le_bytes());
                sender.send(&datagram)?;
                sent += 1;
            }
            std::thread::sleep(rate.time_for(sent * WIRE).saturating_sub(origin.elapsed()));
        }
        Ok(())
    });
    let service = match path.capacity {
        Capacity::Constant(rate) => rate.time_for(WIRE),
        _ => Duration::ZERO,
    };
    let expected = path.delay + service;
    let mut arrivals = Vec::new();
    let mut errors = Vec::new();
    let mut buffer = [0; 2048];
    while receiver.recv(&mut buffer).is_ok() {
        let now = origin.elapsed();
        let stamp = buffer.first_chunk().map_or(0, |stamp| u64::from_le_bytes(*stamp));
        errors.push(now.as_nanos() as i64 - stamp as i64 - expected.as_nanos() as i64);
        arrivals.push(now);
    }
    sending.join().map_err(|_| io::Error::other("the sender panicked"))??;
    // Without the first tenth, in which the queue fills.
    let steady = &arrivals[arrivals.len() / 10..];
    let span = match steady {
        [first, .., last] => *last - *first,
        _ => Duration::ZERO,
    };
    let measured = Rate::from_bytes_over((steady.len() as u64).saturating_sub(1) * WIRE, span);
    Ok((measured, errors, relay.stop()?))
}
