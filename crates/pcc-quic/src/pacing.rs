//! Keeps noq's pacer from sending bursts, and its rate exact all the same.
//!
//! noq paces with a token bucket of 10 packets or 2 ms of the rate, whichever is more. When the sending task was held
//! up, a full bucket leaves back to back: 17 packets at 100 Mbit/s, more than a shallow buffer holds. And what the
//! task missed beyond the bucket's depth is never made up. Two measures, both through the one thing noq asks for
//! before each packet, the pacing rate:
//!
//! * **Trim.** When the bucket's depth changes with the rate, noq cuts the credit down to the new depth. The rate that
//!   belongs to a depth of `n` packets, answered once, so throws surplus credit away. That is safe only while the
//!   next packet may leave at once whatever the rate, or it would be held back according to the low answer. So
//!   [`Pacing`] tracks a lower bound of noq's credit, and trims only when that covers a packet.
//! * **Make up.** [`Pacing`] keeps a schedule of its own, the bytes that the rate owes, and answers 3/2 of the rate
//!   until they have left. A new rate starts a new schedule, since a past debt would falsify its measurement.
//!
//! On a path whose round trip bears it, a wake-up sends the packets of a whole wait (`waits`), as many as don't overflow a
//! queue, going by what it held before (`queue`) and by which packets get lost (`bursts`).
//!
//! noq also holds back pure acknowledgements until a whole packet's credit is there, which delays them by milliseconds
//! at the low rate of a receiver that never got to learn a better one. So after a **small** packet, which tells that
//! there is no more data, the next one may leave at once, unless small packets alone exceed the rate.

use crate::bursts::Bursts;
use crate::queue::Queue;
use crate::waits::{self, MIN_WAIT};
use pcc::{Rate, Time};
use std::time::Duration;

/// A larger debt is cut to this much of the rate's time, in seconds, within the bounds below. While the sender was
/// late the bottleneck may have idled, and what is made up then queues there: a debt must fit into a shallow buffer.
const MAX_OWED: f64 = 0.005;
const MIN_OWED_PACKETS: f64 = 4.0;
const MAX_OWED_WAKES: f64 = 16.0;

/// Small packets may be ahead of the schedule by this many full ones.
const MAX_AHEAD_PACKETS: f64 = 10.0;

/// The rate that doesn't hold a packet back, in bytes per second: 10 Gbit/s.
const AT_ONCE: f64 = 1.25e9;

/// How much faster a debt is made up.
const CATCH_UP: f64 = 1.5;

/// A rate that differs by less still counts as the same one.
const SAME_RATE: f64 = 0.005;

/// Packets wait for so many times the wait where the queue was seen to hold what comes meanwhile, and half as much again.
const MOST_WAITS: u32 = 3;

/// A queue that stands at so many bursts is overflown by the rate, not by one of them.
const ROOMY: u32 = 4;

/// The share of the credit that noq's bucket earns for sure; it rounds down to whole bytes at each look.
const SURE: f64 = 0.98;

/// The pacing rates to answer noq with. Amounts are in bytes, rates in bytes per second.
#[derive(Debug)]
pub(crate) struct Pacing {
    mtu: f64,
    /// The rate the controller wants.
    rate: f64,
    queue: Queue,
    bursts: Bursts,
    /// Whether packets may wait for each other at all.
    bursts_allowed: bool,
    /// What was learned of them: the shortest round trip, the deepest queue, the longest burst.
    path: (Duration, Duration, u32),
    /// What follows from all of these, which change once for many packets.
    wakes: Wakes,
    /// When `due` was last brought up to date.
    updated: Time,
    /// What the rate has earned since the last packet.
    due: f64,
    /// What should have left up to the last packet but hadn't; negative if the sender is early.
    owed: f64,
    last_sent: Time,
    /// The last packet was small, and the next one needn't wait.
    at_once: bool,
    /// The lowest rate answered since the last packet.
    lowest: f64,
    /// What noq's bucket held at least, after the last packet.
    credit: f64,
    /// The depth to trim noq's bucket to before the next packet.
    trim: Option<f64>,
}

/// What a wake-up sends.
#[derive(Clone, Copy, Debug)]
struct Wakes {
    /// The fewest packets: one up to about 300 Mbit/s, then as many as the shortest wait makes necessary.
    least: f64,
    /// Those of a wait that the round trip bears.
    wanted: f64,
    /// As many of them as the path bears.
    packets: f64,
    collect: Duration,
    gather: Duration,
}

impl Wakes {
    fn new(rate: f64, mtu: f64, queue: &Queue, bursts: &Bursts, allowed: bool) -> Wakes {
        let packets_in = |wait: Duration| (rate * wait.as_secs_f64() / mtu).round();
        let wait = if allowed { waits::bearable(queue.shortest()) } else { Duration::ZERO };
        let gather = (queue.deepest() * 2 / 3).clamp(wait, MOST_WAITS * wait);
        let least = packets_in(MIN_WAIT).max(1.0);
        let wanted = packets_in(gather);
        let packets = wanted.min(bursts.longest().into()).max(least);
        let collect = if packets <= least { MIN_WAIT } else { Duration::from_secs_f64(packets * mtu / rate) };
        Wakes { least, wanted, packets, collect, gather }
    }
}

impl Pacing {
    pub(crate) fn new(mtu: u16) -> Pacing {
        let (queue, bursts) = (Queue::default(), Bursts::default());
        Pacing {
            path: (queue.shortest(), queue.deepest(), bursts.longest()),
            wakes: Wakes::new(0.0, mtu.into(), &queue, &bursts, true),
            bursts_allowed: true,
            mtu: mtu.into(),
            rate: 0.0,
            queue,
            bursts,
            updated: Time::ZERO,
            due: 0.0,
            owed: 0.0,
            last_sent: Time::ZERO,
            at_once: false,
            lowest: 0.0,
            credit: 0.0,
            trim: None,
        }
    }

    /// The same, where packets wait for each other only if that is `allowed`.
    pub(crate) fn with_bursts(mut self, allowed: bool) -> Pacing {
        self.bursts_allowed = allowed;
        self.follow_path();
        self
    }

    pub(crate) fn set_mtu(&mut self, mtu: u16) {
        self.mtu = mtu.into();
        self.follow_path();
        // The credit may not cover a packet of the new size.
        self.trim = None;
    }

    /// The controller wants `rate` from `now` on.
    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        let rate = rate.bytes_per_sec().max(1.0);
        if rate == self.rate {
            return;
        }
        self.accrue(now);
        if (rate - self.rate).abs() > SAME_RATE * self.rate {
            self.forgive();
        }
        self.rate = rate;
        self.lowest = self.lowest.min(self.untrimmed());
        self.follow_path();
    }

    fn follow_path(&mut self) {
        self.wakes = Wakes::new(self.rate, self.mtu, &self.queue, &self.bursts, self.bursts_allowed);
    }

    /// Drops the debt, because something else than lateness held packets back.
    pub(crate) fn forgive(&mut self) {
        self.owed = self.owed.min(0.0);
    }

    /// A packet of `bytes` bytes left at `now`.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64) {
        let bytes = bytes as f64;
        self.accrue(now);
        let most = self.wakes.least * MAX_OWED_WAKES * self.mtu;
        let most = (self.rate * MAX_OWED).clamp(MIN_OWED_PACKETS * self.mtu, most);
        self.owed = (self.owed + self.due - bytes).clamp(-MAX_AHEAD_PACKETS * self.mtu, most);
        self.due = 0.0;

        let held = self.trim.unwrap_or_else(|| {
            let earned = SURE * self.lowest * now.since(self.last_sent).as_secs_f64();
            (self.credit + earned).min(bucket_depth(self.lowest, self.mtu))
        });
        self.credit = (held - bytes).max(0.0);
        self.last_sent = now;
        self.at_once = bytes < self.mtu / 2.0 && self.owed > -MAX_AHEAD_PACKETS * self.mtu;
        self.lowest = self.untrimmed();
        self.credit = self.credit.min(bucket_depth(self.lowest, self.mtu));
        // A burst is what a wake-up sends, and what becomes due while it comes late by the shortest wait.
        let rest_of_burst = (self.wakes.packets + self.wakes.least - 1.0) * self.mtu;
        // A small packet may share a datagram with the next one, which noq then doesn't ask for.
        self.trim = (self.credit > rest_of_burst && !self.at_once).then_some(rest_of_burst);
    }

    /// The pacing rate to answer until the next packet, in bytes per second.
    pub(crate) fn answer(&self) -> u64 {
        self.trim.map_or_else(|| self.untrimmed(), |depth| rate_of_depth(depth, self.mtu)) as u64
    }

    fn untrimmed(&self) -> f64 {
        if self.at_once {
            AT_ONCE.max(self.rate)
        } else if self.owed > 0.0 {
            self.rate * CATCH_UP
        } else {
            self.rate
        }
    }

    /// A packet, the `first` of its burst or not, was acknowledged after a `round_trip`, or was lost if there is none.
    pub(crate) fn on_outcome(&mut self, now: Time, first: bool, round_trip: Option<Duration>) {
        match round_trip {
            Some(round_trip) => self.queue.on_round_trip(now, round_trip),
            None if self.queue.standing() >= self.wakes.collect * ROOMY => return,
            None => {}
        }
        self.bursts.on_outcome(now, first, round_trip.is_none(), self.wakes.wanted);
        let path = (self.queue.shortest(), self.queue.deepest(), self.bursts.longest());
        if path != self.path {
            self.path = path;
            self.follow_path();
        }
    }

    /// When the last packet left.
    pub(crate) fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// How long packets may be collected before they are sent.
    pub(crate) fn collect(&self) -> Duration {
        self.wakes.collect
    }

    /// How long packets that arrive may wait until they are read.
    pub(crate) fn gather(&self) -> Duration {
        self.wakes.gather
    }

    /// The bytes to hand to the network at once: as many packets as one wake-up sends, even a late one.
    pub(crate) fn quantum(&self) -> u64 {
        let Wakes { packets, least, .. } = self.wakes;
        ((if packets > least { packets + least } else { packets }) * self.mtu) as u64
    }

    fn accrue(&mut self, now: Time) {
        self.due += self.rate * now.since(self.updated).as_secs_f64();
        self.updated = now;
    }
}

/// The depth that noq gives its bucket at a rate (`rate_capacity` in noq-proto's `connection/pacing.rs`).
fn bucket_depth(rate: f64, mtu: f64) -> f64 {
    let usual = (rate * 0.002).clamp(10.0 * mtu, 256.0 * mtu);
    usual.min((rate * 0.010).max(mtu))
}

/// The rate at which noq gives its bucket this depth: the inverse of [`bucket_depth`].
fn rate_of_depth(depth: f64, mtu: f64) -> f64 {
    if depth < 10.0 * mtu { depth / 0.010 } else { depth / 0.002 }.ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_rate_are_inverse() {
        for packets in [1, 2, 3, 9, 10, 11, 100, 256] {
            let depth = 1452.0 * f64::from(packets);
            assert_eq!(bucket_depth(rate_of_depth(depth, 1452.0), 1452.0).floor(), depth);
        }
        assert_eq!(bucket_depth(1e5, 1200.0), 1200.0, "never less than a packet");
        assert_eq!(bucket_depth(1e12, 1200.0), 256.0 * 1200.0);
    }

    #[test]
    fn a_packet_is_the_quantum_up_to_300_mbps() {
        let quantum = |mbps: f64| {
            let mut pacing = Pacing::new(1452);
            pacing.set_rate(Time::ZERO, Rate::from_mbps(mbps));
            pacing.quantum() / 1452
        };
        assert_eq!([1.0, 100.0, 300.0, 500.0, 1000.0].map(quantum), [1, 1, 1, 2, 4]);
    }

    /// At 100 Mbit/s, where a packet takes 116 us, after 20 s of these round trips and losses; each second packet is the first of
    /// a burst.
    fn learned(round_trip: impl Fn(u64) -> Duration, lost: impl Fn(u64) -> bool) -> (u64, Duration) {
        let mut pacing = Pacing::new(1452);
        pacing.set_rate(Time::ZERO, Rate::from_mbps(100.0));
        for number in 0..160_000_u64 {
            let now = Time::from_nanos(number * PACKET.as_nanos() as u64);
            pacing.on_outcome(now, number % 2 == 0, (!lost(number)).then(|| round_trip(number)));
        }
        (pacing.quantum() / 1452, pacing.collect())
    }

    #[test]
    fn nothing_waits_where_bursts_are_not_allowed() {
        for (allowed, packets) in [(true, 5), (false, 1)] {
            let mut pacing = Pacing::new(1452).with_bursts(allowed);
            pacing.set_rate(Time::ZERO, Rate::from_mbps(100.0));
            (0..4096)
                .for_each(|number| pacing.on_outcome(Time::ZERO + PACKET * number, number % 2 == 0, Some(30 * MS)));
            assert_eq!(pacing.quantum() / 1452, packets);
            assert_eq!(pacing.gather().is_zero(), !allowed);
        }
    }

    const PACKET: Duration = Duration::from_nanos(116_160);
    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_are_collected_as_long_as_round_trip_and_path_bear_it() {
        let anywhere = |number: u64| number % 100 < 2;
        assert_eq!(learned(|_| 30 * MS, anywhere), (5, 4 * PACKET));
        assert_eq!(learned(|_| 1000 * MS, anywhere), (5, 4 * PACKET), "the queue may be short");
        assert_eq!(learned(|_| 2 * MS, anywhere), (1, MIN_WAIT), "a wait would be much of a short round trip");
    }

    #[test]
    fn packets_are_collected_for_up_to_three_times_as_long_where_a_queue_stood_that_holds_them() {
        let standing =
            |micros: u64| move |number: u64| 30 * MS + Duration::from_micros(if number < 100 { 0 } else { micros });
        // A 64th of 30 ms is 0.47 ms.
        assert_eq!(learned(standing(600), |_| false), (5, 4 * PACKET));
        assert_eq!(learned(standing(1_400), |_| false), (9, 8 * PACKET));
        assert_eq!(learned(standing(2_100), |_| false), (13, 12 * PACKET));
        assert_eq!(learned(standing(9_000), |_| false), (13, 12 * PACKET));
    }

    #[test]
    fn a_queue_that_holds_several_bursts_isnt_overflown_by_one() {
        let ends = |number: u64| number % 50 == 1;
        let queue = |number: u64| if number < 100 { 30 * MS } else { 40 * MS };
        assert_eq!(learned(queue, ends), (13, 12 * PACKET), "the rate overflows it");
        let (short, _) = learned(|_| 30 * MS, ends);
        assert!(short <= 2, "bursts of {short}");
    }
}
