//! A probe: a short train of packets at a test rate (section 3.1).

use pcc::{AckedPacket, Rate, Regression, Time};
use std::time::Duration;

/// Packets that a probe adds to what is sent anyway, whatever its rate.
const EXTRA_PACKETS: u64 = 5;

/// One test of whether the path has `increase` to spare.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub increase: Rate,
    base: Rate,
    start: Time,
    length: Duration,
    /// Whether its packets are still being sent.
    pub sending: bool,
    sent: u64,
    /// The numbers of its first and last packet.
    first: Option<u64>,
    last: u64,
    resolved: u64,
    delays: Regression,
}

impl Probe {
    pub fn new(base: Rate, increase: Rate, start: Time, mtu: u64) -> Probe {
        let length = increase.time_for(EXTRA_PACKETS * mtu);
        Probe {
            increase,
            base,
            start,
            length,
            sending: true,
            sent: 0,
            first: None,
            last: 0,
            resolved: 0,
            delays: Regression::default(),
        }
    }

    /// Whether all of it has been sent and its outcome is known.
    pub fn is_over(&self) -> bool {
        !self.sending && self.resolved >= self.sent
    }

    pub fn on_sent(&mut self, number: u64, now: Time) {
        if self.sending {
            self.first.get_or_insert(number);
            self.last = number;
            self.sent += 1;
            self.sending = self.sent < EXTRA_PACKETS || now.since(self.start) < self.length;
        }
    }

    fn contains(&self, number: u64) -> bool {
        self.first.is_some_and(|first| (first..=self.last).contains(&number))
    }

    pub fn on_acked(&mut self, packet: &AckedPacket) {
        if self.contains(packet.number) {
            self.resolved += 1;
            self.delays.add(packet.sent.since(self.start).as_secs_f64(), packet.rtt.as_secs_f64());
        }
    }

    /// A packet gets no acknowledgement.
    pub fn on_gone(&mut self, number: u64) {
        if self.contains(number) {
            self.resolved += 1;
        }
    }

    /// Whether the path carries the increase: the delays don't grow, and at least half of the increase arrived. Their
    /// slope is known up to an error only; `draw`, of `0.0..1.0`, picks a place in that range.
    pub fn succeeded(&self, draw: f64) -> bool {
        let error = self.delays.gradient_error();
        let slope = self.delays.gradient() + (2.0 * draw - 1.0) * error;
        let arrived = (self.base + self.increase) * (self.delays.samples() as f64 / self.sent as f64);
        error.is_finite() && slope <= 0.0 && arrived >= self.base + self.increase * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A probe of 10 Mbit/s beside 20, with delays in microseconds for each packet; `None` is a loss.
    fn probe(delays: impl Iterator<Item = Option<u64>>) -> Probe {
        let mut probe = Probe::new(Rate::from_mbps(20.0), Rate::from_mbps(10.0), Time::ZERO, 1250);
        for (number, delay) in delays.enumerate() {
            let (number, sent) = (number as u64, Time::ZERO + Duration::from_micros(number as u64 * 334));
            assert!(probe.sending, "5 packets at 10 Mbit/s are 5 ms");
            probe.on_sent(number, sent);
            match delay.map(Duration::from_micros) {
                Some(rtt) => {
                    probe.on_acked(&AckedPacket { time: sent + rtt, number, sent, bytes: 1250, rtt });
                }
                None => probe.on_gone(number),
            }
        }
        assert!(probe.is_over());
        probe
    }

    #[test]
    fn a_probe_fails_if_delays_grow_or_packets_are_lost() {
        assert!(probe((0..16).map(|_| Some(30_000))).succeeded(0.5));
        assert!(probe((0..16).map(|i| Some(30_000 - i))).succeeded(1.0));
        assert!(!probe((0..16).map(|i| Some(30_000 + 50 * i))).succeeded(0.0));
        // 20 + 10 / 2 of 30 are five sixths, of 16 packets 13.3.
        assert!(probe((0..16).map(|i| (i > 1).then_some(30_000))).succeeded(0.5));
        assert!(!probe((0..16).map(|i| (i > 2).then_some(30_000))).succeeded(0.5));
        assert!(!probe((0..16).map(|i| (i < 2).then_some(30_000))).succeeded(0.5), "too few to fit a line");
    }

    #[test]
    fn noise_makes_the_answer_random() {
        let noisy = probe((0..16).map(|i| Some(30_000 + 100 * (i % 2))));
        assert!(noisy.succeeded(0.0) && !noisy.succeeded(1.0));
    }
}
