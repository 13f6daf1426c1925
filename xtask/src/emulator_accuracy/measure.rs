//! What is measured.

use super::LatenessUs;
use super::hosts::Hosts;
use super::traffic::{PACKET, PAYLOAD, Received, blast, probe, receive};
use pcc_emulator::EmulatorError;
use pcc_emulator::emulator::EmulationReport;
use pcc_lab::link::PathConfig;
use pcc_lab::sim::BIN;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The most datagrams in a super-packet: one of 64 KiB.
const SEGMENTS: usize = 44;

/// How much longer than it should a sparse packet takes, from the call of the sender to the receiving kernel's stamp.
#[derive(serde::Serialize)]
pub struct Delay {
    pub ms: u128,
    /// Threads that do nothing but take processor time.
    pub burners: usize,
    pub error_p50_us: f64,
    pub error_p99_us: f64,
    pub lateness_us: LatenessUs,
}

pub fn delay(delay: Duration, burners: usize) -> Result<Delay, EmulatorError> {
    let hosts = Hosts::new(PathConfig::delay_only(delay))?;
    let over = AtomicBool::new(false);
    let mut errors = Vec::new();
    let report = std::thread::scope(|scope| {
        for _ in 0..burners {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let report = run(
            hosts,
            |sender| probe(sender, 3000),
            |received| {
                let took = received.at.as_nanos() as f64 - received.stamp as f64;
                errors.push((took - delay.as_nanos() as f64) / 1000.0);
            },
        );
        over.store(true, Ordering::Relaxed);
        report
    })?;
    errors.sort_unstable_by(f64::total_cmp);
    let at = |percent: usize| errors.get(errors.len() * percent / 100).copied().unwrap_or(f64::NAN);
    Ok(Delay {
        ms: delay.as_millis(),
        burners,
        error_p50_us: at(50),
        error_p99_us: at(99),
        lateness_us: report.lateness.into(),
    })
}

/// The rate at which datagrams come out of a link whose queue is never empty.
#[derive(serde::Serialize)]
pub struct Rate {
    pub mbps: f64,
    pub measured_mbps: f64,
    pub error_percent: f64,
    pub lateness_us: LatenessUs,
    /// Processor time of the emulator.
    pub cpu_percent: f64,
    pub interface_drops: u64,
    /// How often, of once in 100 ms, the queue was found empty: then the rate is the sender's, and the row says nothing.
    pub found_empty: usize,
}

pub fn rate(mbps: f64) -> Result<Rate, EmulatorError> {
    const SENDING: Duration = Duration::from_secs(6);
    const FILLING: Duration = Duration::from_secs(1);
    let rate = pcc::Rate::from_mbps(mbps);
    // What the link carries in 100 ms, and at least three super-packets: a sender that is late doesn't leave it empty.
    let queue = rate.bytes_in(Duration::from_millis(100)).max(3 * SEGMENTS as u64 * PACKET);
    let delay = Duration::from_millis(15);
    let link = PathConfig { capacity: rate.into(), queue: queue.into(), ..PathConfig::delay_only(delay) };
    let hosts = Hosts::new(link)?;
    let packets = (rate * 1.2).bytes_in(SENDING) / PACKET;
    let origin = super::traffic::wall_clock();
    let (mut first, mut last, mut bytes) = (None, Duration::ZERO, 0);
    let report = run(
        hosts,
        |sender| blast(sender, rate * 1.2, SEGMENTS, packets),
        |received| {
            let at = received.at.saturating_sub(origin);
            if at < FILLING || at > SENDING {
                return;
            }
            // The first is where time begins.
            if first.is_none() {
                first = Some(at);
            } else {
                last = at;
                bytes += received.bytes / PAYLOAD as u64 * PACKET;
            }
        },
    )?;
    let bins = |time: Duration| (time.as_millis() / BIN.as_millis()) as usize;
    let queue = report.outcome.links.iter().flat_map(|link| &link.queue).take(bins(SENDING)).skip(bins(FILLING));
    let measured = pcc::Rate::from_bytes_over(bytes, last.saturating_sub(first.unwrap_or_default()));
    Ok(Rate {
        mbps,
        measured_mbps: measured.mbps(),
        error_percent: (measured / rate - 1.0) * 100.0,
        cpu_percent: report.cpu.as_secs_f64() / SENDING.as_secs_f64() * 100.0,
        interface_drops: report.interface_drops,
        found_empty: queue.filter(|bytes| **bytes == 0).count(),
        lateness_us: report.lateness.into(),
    })
}

/// How many packets of a burst a queue before a link that is next to nothing takes.
#[derive(serde::Serialize)]
pub struct Queue {
    pub limit: u64,
    /// Datagrams in a super-packet.
    pub segments: usize,
    pub sent: u64,
    pub queued: u64,
    pub expected: u64,
}

pub fn queue(limit: u64, segments: usize) -> Result<Queue, EmulatorError> {
    // A packet takes 12 s.
    let rate = pcc::Rate::from_bits_per_sec(1000.0);
    let link = PathConfig { capacity: rate.into(), queue: limit.into(), ..PathConfig::delay_only(Duration::ZERO) };
    let packets = limit / PACKET * 2;
    let burst = pcc::Rate::from_mbps(100.0);
    let report = run(Hosts::new(link)?, |sender| blast(sender, burst, segments, packets), |_| ())?;
    let sent: u64 = report.outcome.flows.iter().map(|flow| flow.sent).sum();
    let lost: u64 = report.outcome.flows.iter().map(|flow| flow.lost).sum();
    Ok(Queue { limit, segments, sent, queued: sent - lost, expected: limit / PACKET })
}

/// How many packets are lost at random.
#[derive(serde::Serialize)]
pub struct Loss {
    pub probability: f64,
    pub sent: u64,
    pub lost: u64,
    /// The difference from what is to be expected, in standard deviations.
    pub deviations: f64,
    /// Packets that are missing though they weren't lost.
    pub missing: i64,
}

pub fn loss(probability: f64) -> Result<Loss, EmulatorError> {
    let delay = Duration::from_millis(15);
    let link = PathConfig { loss: probability.into(), ..PathConfig::delay_only(delay) };
    let (rate, packets) = (pcc::Rate::from_mbps(400.0), 100_000);
    let mut received = 0;
    let report = run(
        Hosts::new(link)?,
        |sender| blast(sender, rate, SEGMENTS, packets),
        |some| {
            received += some.bytes / PAYLOAD as u64;
        },
    )?;
    let sent: u64 = report.outcome.flows.iter().map(|flow| flow.sent).sum();
    let lost: u64 = report.outcome.flows.iter().map(|flow| flow.lost).sum();
    let mean = sent as f64 * probability;
    Ok(Loss {
        probability,
        sent,
        lost,
        deviations: (lost as f64 - mean) / (mean * (1.0 - probability)).sqrt(),
        missing: (sent - lost) as i64 - received as i64,
    })
}

/// Sends and receives until all has come.
fn run(
    hosts: Hosts,
    send: impl FnOnce(&UdpSocket) -> io::Result<()> + Send,
    each: impl FnMut(Received) + Send,
) -> Result<EmulationReport, EmulatorError> {
    let Hosts { sender, receiver, emulator } = hosts;
    let ended = AtomicBool::new(false);
    let failed = |error| EmulatorError::System { doing: "sending and receiving datagrams", error };
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, &ended, each));
        let sent = send(&sender);
        ended.store(true, Ordering::Relaxed);
        let received = receiving.join().unwrap_or_else(|_| Err(io::Error::other("the receiver panicked")));
        sent.and(received)
    })
    .map_err(failed)?;
    emulator.stop()
}
