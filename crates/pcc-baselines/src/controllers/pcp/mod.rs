//! PCP, the Probe Control Protocol: Anderson, Collins, Krishnamurthy, Zahorjan, "PCP: Efficient Endpoint Congestion
//! Control", NSDI 2006, whose sections are cited.
//!
//! Round-trip times stand for the one-way delays that PCP's receiver reports. Left out: the memory of rates that earlier
//! connections found (section 3.4). The paper names mechanisms, but not all of their constants: those marked "ours" aren't
//! from it, nor is the reaction to losses, which PCP means to avoid.

mod probe;

use crate::limits::{INITIAL_MTU, MIN_RATE, usable_mtu, usable_rtt};
use crate::parts::windowed_filter::WindowedMax;
use core::cmp::Reverse;
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};
use probe::Probe;
use std::time::Duration;

/// The round-trip time before there is a sample (ours).
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// The first and the minimum rate to test: so many packets in a round trip (section 3.3).
const MIN_PACKETS: u64 = 2;
/// How long a minimum of the delay counts (ours).
const MIN_DELAY_WINDOW: Duration = Duration::from_secs(10);
/// The part of the round-trip time below which a queue is taken for noise (ours).
const QUEUE_NOISE: f64 = 0.01;
/// Compensations in turn without effect after which the queue is taken to be another's (ours).
const INEFFECTIVE: u32 = 3;
/// How much less is compensated then (section 3.5).
const TIT_FOR_TAT: f64 = 0.1;
/// The part of a round trip's packets that may be lost before the rate is cut by it (ours).
const TOLERATED_LOSS: f64 = 0.1;
/// Packets that may be in flight at any rate (ours).
const CAP_PACKETS: u64 = 10;
/// Doublings of the time between probes at the minimum rate that fail (ours).
const MAX_BACKOFF: u32 = 6;

/// What came in a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Time,
    acked: u64,
    lost: u64,
    min_delay: Option<Duration>,
}

/// Tests rates by short trains of packets before it sends at them.
#[derive(Debug)]
pub(crate) struct Pcp {
    rng: fastrand::Rng,
    mtu: u64,
    /// The rate that is known to fit, `None` before the first round-trip time.
    base: Option<Rate>,
    increase: Rate,
    probe: Option<Probe>,
    next_probe: Time,
    failures: u32,
    min_delay: WindowedMax<Reverse<Duration>>,
    rtt: Duration,
    round: Round,
    /// When the newest of the acknowledged packets was sent.
    newest_sent: Time,
    /// The queueing delay that the last round trip was compensated for.
    compensated: Option<Duration>,
    ineffective: u32,
}

impl Pcp {
    pub fn new(seed: u64) -> Pcp {
        Pcp {
            rng: fastrand::Rng::with_seed(seed),
            mtu: INITIAL_MTU,
            base: None,
            increase: Rate::ZERO,
            probe: None,
            next_probe: Time::ZERO,
            failures: 0,
            min_delay: WindowedMax::default(),
            rtt: INITIAL_RTT,
            round: Round::default(),
            newest_sent: Time::ZERO,
            compensated: None,
            ineffective: 0,
        }
    }

    /// The minimum rate, to test and to send at.
    fn min_rate(&self) -> Rate {
        Rate::from_bytes_over(MIN_PACKETS * self.mtu, self.rtt.max(Duration::from_micros(1)))
    }

    /// The rate now: the base rate, and what a probe that is being sent adds.
    fn rate(&self) -> Rate {
        let base = self.base.unwrap_or_else(|| self.min_rate());
        self.probe.as_ref().filter(|probe| probe.sending).map_or(base, |probe| base + probe.increase)
    }

    /// Section 3.3: exponential increase after success and decrease after failure.
    fn end_probe(&mut self, now: Time, base: Rate, probe: &Probe) {
        self.next_probe = now;
        if probe.succeeded(self.rng.f64()) {
            self.base = Some(base + probe.increase);
            self.increase = probe.increase * 2.0;
            self.failures = 0;
        } else if probe.increase > self.min_rate() {
            self.increase = probe.increase * 0.5;
        } else {
            // Less and less often, and not at the same time as others.
            self.next_probe += self.rtt.mul_f64(f64::from(1 << self.failures) * (0.5 + self.rng.f64()));
            self.failures = (self.failures + 1).min(MAX_BACKOFF);
        }
    }

    /// Section 3.2: what would drain the queue in a round trip is taken off the rate. Its effect shows only after another.
    fn compensate(&mut self, base: Rate, delay: Duration, min: Duration) -> Rate {
        let queue = delay.saturating_sub(min);
        if let Some(before) = self.compensated.take() {
            self.ineffective = if queue >= before { self.ineffective + 1 } else { 0 };
            return base;
        }
        let part = queue.as_secs_f64() / delay.as_secs_f64();
        if queue.is_zero() || part < QUEUE_NOISE {
            return base;
        }
        self.compensated = Some(queue);
        let part = if self.ineffective >= INEFFECTIVE { part * TIT_FOR_TAT } else { part };
        base * (1.0 - part)
    }

    fn end_round(&mut self, now: Time, base: Rate) {
        let round = core::mem::replace(&mut self.round, Round { start: now, ..Round::default() });
        let mut rate = base;
        if let (Some(delay), Some(Reverse(min))) = (round.min_delay, self.min_delay.get()) {
            rate = self.compensate(rate, delay, min);
        }
        let lost = round.lost as f64 / (round.acked + round.lost).max(1) as f64;
        if lost > TOLERATED_LOSS {
            rate = rate * (1.0 - lost);
        }
        self.base = Some(rate.max(self.min_rate()));
    }
}

impl CongestionControl for Pcp {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        if let Some(probe) = &mut self.probe {
            probe.on_sent(packet.number, packet.time);
        }
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        let rtt = usable_rtt(packet.rtt);
        self.min_delay.update(packet.time.as_nanos(), Reverse(rtt), MIN_DELAY_WINDOW.as_nanos() as u64);
        self.rtt = if self.base.is_none() { rtt } else { self.rtt / 8 * 7 + rtt / 8 };
        if self.base.is_none() {
            self.base = Some(self.min_rate());
            self.increase = self.min_rate();
        }
        self.newest_sent = self.newest_sent.max(packet.sent);
        self.round.acked += 1;
        self.round.min_delay = Some(self.round.min_delay.map_or(rtt, |min| min.min(rtt)));
        if let Some(probe) = &mut self.probe {
            probe.on_acked(packet);
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.round.lost += 1;
        self.on_packet_discarded(packet.number);
    }

    fn on_packet_discarded(&mut self, number: u64) {
        if let Some(probe) = &mut self.probe {
            probe.on_gone(number);
        }
    }

    fn on_batch_end(&mut self, now: Time) {
        let Some(base) = self.base else { return };
        if let Some(probe) = self.probe.take_if(|probe| probe.is_over()) {
            self.end_probe(now, base, &probe);
        }
        if self.newest_sent >= self.round.start {
            self.end_round(now, self.base.unwrap_or(base));
        }
        if let Some(base) = self.base
            && self.probe.is_none()
            && now >= self.next_probe
        {
            self.probe = Some(Probe::new(base, self.increase.max(self.min_rate()), now, self.mtu));
        }
    }

    /// A probe without enough to send tests nothing.
    fn on_app_limited(&mut self, _now: Time) {
        self.probe = None;
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = usable_mtu(mtu);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate().max(MIN_RATE))
    }

    /// Twice what the rate needs: PCP has no window, but must not send on when nothing comes back.
    fn in_flight_cap(&self) -> u64 {
        self.rate().bytes_in(self.rtt * 2).saturating_add(CAP_PACKETS * self.mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_queue_is_drained_in_a_round_trip_and_waited_for() {
        let mut pcp = Pcp::new(1);
        let base = Rate::from_mbps(100.0);
        assert_eq!(pcp.compensate(base, ms(100), ms(100)), base);
        assert_eq!(pcp.compensate(base, ms(125), ms(100)).mbps(), 80.0);
        assert_eq!(pcp.compensate(base, ms(125), ms(100)), base, "sent before the compensation");
    }

    #[test]
    fn compensates_a_tenth_when_it_is_of_no_use() {
        let mut pcp = Pcp::new(1);
        let base = Rate::from_mbps(100.0);
        for _ in 0..2 * INEFFECTIVE {
            pcp.compensate(base, ms(125), ms(100));
        }
        assert_eq!(pcp.compensate(base, ms(125), ms(100)).mbps(), 98.0);
    }

    #[test]
    fn a_round_trip_of_losses_cuts_the_rate_by_them() {
        let mut pcp = Pcp::new(1);
        pcp.round = Round { acked: 60, lost: 40, ..Round::default() };
        pcp.end_round(Time::ZERO, Rate::from_mbps(100.0));
        assert_eq!(pcp.base.map(Rate::mbps), Some(60.0));
        pcp.round = Round { acked: 90, lost: 10, ..Round::default() };
        pcp.end_round(Time::ZERO, Rate::from_mbps(100.0));
        assert_eq!(pcp.base.map(Rate::mbps), Some(100.0));
    }
}
