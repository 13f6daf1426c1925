//! Whether a policer limits the rate: a token bucket drops what exceeds its rate without a queue that would tell, and what is delivered while its
//! tokens last says too much (Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016). Two intervals in a row that lose much
//! and deliver the same are taken for one (Linux `net/ipv4/tcp_bbr.c`, "long-term bandwidth"; not in the draft).

use crate::parts::delivery_rate::{DeliveryRate, RateSample};
use pcc::{Rate, Time};
use std::time::Duration;

/// An interval ends with a loss after so many round trips.
const LEAST_ROUNDS: u32 = 4;
/// One that hasn't ended after so many says nothing.
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Lost over delivered: what a policer drops at the least.
const LEAST_LOSS: f64 = 50.0 / 256.0;
/// Two rates are the same if they differ by this part of the first at most, or by this much in bit/s.
const SAME_PART: f64 = 1.0 / 8.0;
const SAME: f64 = 4000.0;
/// The shortest interval: Linux counts milliseconds.
const LEAST_TIME: Duration = Duration::from_millis(1);
/// For so many round trips the rate is that of the policer; then BBR looks again.
const TRUSTED_ROUNDS: u32 = 48;

#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    begun: Time,
    /// Bytes delivered and lost before.
    delivered: u64,
    lost: u64,
    rounds: u32,
}

impl Interval {
    fn new(now: Time, delivery: &DeliveryRate) -> Interval {
        Interval { begun: now, delivered: delivery.delivered(), lost: delivery.lost(), rounds: 0 }
    }

    /// The rate of delivery, if the interval lost as much as with a policer.
    fn policed_rate(&self, now: Time, delivery: &DeliveryRate) -> Option<Rate> {
        let delivered = delivery.delivered() - self.delivered;
        let lost = delivery.lost() - self.lost;
        let time = now.since(self.begun);
        let much = delivered > 0 && lost as f64 >= LEAST_LOSS * delivered as f64;
        (much && time >= LEAST_TIME).then(|| Rate::from_bytes_over(delivered, time))
    }
}

/// Looks for a policer.
#[derive(Debug, Default)]
pub(super) enum Policer {
    /// Nothing was lost so far.
    #[default]
    None,
    /// Since the first loss, with what the interval before delivered.
    Suspected { interval: Interval, before: Option<Rate> },
    /// With the round trips since it was found.
    Found { rate: Rate, rounds: u32 },
}

impl Policer {
    /// The rate to send at, if there is a policer.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Policer::Found { rate, .. } => Some(*rate),
            _ => None,
        }
    }

    /// Takes in a batch. `probing`: whether the bandwidth is being probed; only then does the time of a policer that was found pass. Returns whether
    /// that has passed.
    pub fn on_batch(
        &mut self,
        now: Time,
        sample: &RateSample,
        delivery: &DeliveryRate,
        round_ended: bool,
        probing: bool,
    ) -> bool {
        if let Policer::Found { rounds, .. } = self {
            *rounds += u32::from(round_ended && probing);
            let passed = *rounds >= TRUSTED_ROUNDS;
            if passed {
                *self = Policer::None;
            }
            return passed;
        }
        let lost = sample.newly_lost > 0;
        if let (Policer::None, true) = (&self, lost) {
            *self = Policer::Suspected { interval: Interval::new(now, delivery), before: None };
        }
        let Policer::Suspected { interval, before } = self else { return false };
        interval.rounds += u32::from(round_ended);
        if sample.app_limited || interval.rounds > MOST_ROUNDS {
            *self = Policer::None;
            return false;
        }
        if interval.rounds < LEAST_ROUNDS || !lost {
            return false;
        }
        let Some(rate) = interval.policed_rate(now, delivery) else { return false };
        *self = match *before {
            Some(before) if is_same(rate, before) => Policer::Found { rate: mean(rate, before), rounds: 0 },
            _ => Policer::Suspected { interval: Interval::new(now, delivery), before: Some(rate) },
        };
        false
    }
}

fn is_same(rate: Rate, before: Rate) -> bool {
    let (rate, before) = (rate.bits_per_sec(), before.bits_per_sec());
    let difference = (rate - before).abs();
    difference <= SAME_PART * before || difference <= SAME
}

fn mean(a: Rate, b: Rate) -> Rate {
    Rate::from_bits_per_sec((a.bits_per_sec() + b.bits_per_sec()) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::{AckedPacket, LostPacket, SentPacket};

    /// Feeds round trips of 100 ms in which so many of 100 packets arrive; returns the rate that was found after each.
    fn after(rounds: impl IntoIterator<Item = u64>) -> Vec<Option<Rate>> {
        let (mut policer, mut delivery) = (Policer::default(), DeliveryRate::default());
        let (bytes, mut number) = (1000, 0);
        let mut found = Vec::new();
        for (round, arrive) in rounds.into_iter().enumerate() {
            let sent = Time::ZERO + Duration::from_millis(100) * round as u32;
            let time = sent + Duration::from_millis(100);
            for packet in 0..100 {
                delivery.on_sent(&SentPacket { time: sent, number, bytes });
                if packet < arrive {
                    delivery.on_acked(&AckedPacket { time, number, sent, bytes, rtt: time.since(sent) });
                } else {
                    delivery.on_lost(&LostPacket { time, number, sent, bytes });
                }
                number += 1;
            }
            policer.on_batch(time, &delivery.sample().unwrap(), &delivery, true, true);
            found.push(policer.rate());
        }
        found
    }

    #[test]
    fn two_intervals_that_lose_much_and_deliver_the_same_are_a_policer() {
        let found = after(core::iter::repeat_n(70, 60));
        let first = found.iter().position(Option::is_some).unwrap();
        assert_eq!(first, 7, "two intervals of four round trips, the one with the first loss included");
        let rate = found[first].unwrap().mbps();
        assert!((rate - 5.6).abs() < 0.01, "70 packets in 100 ms: {rate}");
        assert!(found[first..first + 48].iter().all(Option::is_some));
        assert_eq!(found[first + 48], None, "it is looked again after 48 round trips");
    }

    #[test]
    fn little_loss_or_rates_that_differ_are_none() {
        assert!(after(core::iter::repeat_n(90, 60)).iter().all(Option::is_none), "a tenth");
        assert!(after((0..60).map(|round| if round / 4 % 2 == 0 { 40 } else { 70 })).iter().all(Option::is_none));
        assert!(after(core::iter::repeat_n(100, 60)).iter().all(Option::is_none), "no loss");
    }
}
