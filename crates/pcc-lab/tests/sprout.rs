//! Sprout on a cellular link: delivery opportunities that come and go, before them a queue without limit.

use pcc::{AckedPacket, CongestionControl, SentPacket, Time};
use pcc_lab::baselines;
use std::collections::VecDeque;
use std::time::Duration;

const PACKET: u64 = 1500;
/// One way, in milliseconds.
const DELAY: u64 = 20;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// The milliseconds in which a packet can leave, as often as packets can: a Poisson process whose rate wanders as in
/// Sprout's model, with an outage of two seconds in each twenty.
fn schedule(seconds: u64, seed: u64) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut rate: f64 = 400.0;
    let mut opportunities = Vec::new();
    for ms in 0..seconds * 1000 {
        // Of equal chance, 1 ms of 200 packets/s each square root of a second.
        let step = 200.0 * 0.001f64.sqrt();
        rate = (rate + if rng.bool() { step } else { -step }).clamp(50.0, 900.0);
        let outage = ms % 20_000 > 18_000;
        // At most ten packets a millisecond, each with a tenth of the rate.
        let packets = (0..10).filter(|_| rng.f64() < rate / 10_000.0).count();
        opportunities.extend((0..packets).filter(|_| !outage).map(|_| ms));
    }
    opportunities
}

/// The share of the opportunities used, and the delays from sending to arrival in milliseconds, sorted.
fn run(control: &mut dyn CongestionControl, opportunities: &[u64]) -> (f64, Vec<u64>) {
    control.on_mtu_change(PACKET);
    let end = opportunities.last().map_or(0, |last| last + 1);
    // Numbers and times of sending; before them, when the acknowledgement arrives.
    let (mut queue, mut acks) = (VecDeque::<(u64, u64)>::new(), VecDeque::<(u64, u64, u64)>::new());
    let (mut delays, mut in_flight, mut number) = (Vec::new(), 0, 0);
    let mut left = opportunities.iter().copied().peekable();
    for now in 0..end {
        while let Some(&(due, number, sent)) = acks.front().filter(|(due, ..)| *due <= now) {
            acks.pop_front();
            in_flight -= PACKET;
            let rtt = Duration::from_millis(due - sent);
            control.on_packet_acked(&AckedPacket { time: at(now), number, sent: at(sent), bytes: PACKET, rtt });
        }
        control.on_batch_end(at(now));
        if control.deadline().is_some_and(|deadline| deadline <= at(now)) {
            control.on_deadline(at(now));
        }
        while in_flight + PACKET <= control.in_flight_cap() {
            control.on_packet_sent(&SentPacket { time: at(now), number, bytes: PACKET });
            queue.push_back((number, now));
            (in_flight, number) = (in_flight + PACKET, number + 1);
        }
        while left.next_if_eq(&now).is_some() {
            // What was sent less than the delay of the way there ago hasn't reached the queue.
            if let Some(&(number, sent)) = queue.front().filter(|(_, sent)| sent + DELAY <= now) {
                queue.pop_front();
                delays.push(now - sent);
                acks.push_back((now + DELAY, number, sent));
            }
        }
    }
    let used = delays.len() as f64 / opportunities.len() as f64;
    delays.sort_unstable();
    (used, delays)
}

/// Most of the capacity is used, and nearly all packets leave within the 100 ms that Sprout plans for (section 3.3), but for
/// those that an outage catches.
#[test]
fn uses_most_of_a_wandering_link_at_a_low_delay() {
    for seed in 0..3 {
        let mut sprout = baselines::build("sprout", 1).unwrap();
        let (used, delays) = run(&mut *sprout, &schedule(60, seed));
        assert!(used > 0.6, "{used}");
        let p95 = delays[delays.len() * 95 / 100];
        assert!(p95 < DELAY + 100, "{p95}");
    }
}
