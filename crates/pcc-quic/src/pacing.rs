//! Keeps noq's pacer from sending long bursts, and lets it keep its rate exactly all the same.
//!
//! noq paces with a token bucket, whose depth follows from the rate (`bucket`). If the sending task was held
//! up, the packets of a full bucket leave back to back: 17 at 100 Mbit/s, more than a shallow buffer holds. And what the
//! task missed beyond the bucket's depth is never made up. Before each packet noq asks for the pacing rate, and by the answers
//! [`Pacing`] does two things about that:
//!
//! * **Trim.** When the rate changes the bucket's depth, noq cuts the credit down to the new depth. To throw away surplus
//!   credit, [`Pacing`] answers once with the rate that belongs to a depth of `n` packets. If the credit didn't cover the next
//!   packet, noq would hold it back according to that low answer. So [`Pacing`] tracks a lower bound of noq's credit, and trims
//!   only while that covers a packet.
//! * **Make up.** [`Pacing`] counts the bytes that should have left by now but haven't, and answers 3/2 of the rate until they have.
//!   When the rate changes it drops this debt, which would falsify what the controller measures of the new rate.
//!
//! A wake-up sends all packets of the wait before it, where the round trip is long enough for one (`waits`). There are no more of them than
//! the path's queue can take, going by the delays it was seen to cause (`queue`) and by which packets get lost (`bursts`).
//!
//! noq also holds back pure acknowledgements until there is credit for a full packet. At the low rate of a host that mostly
//! receives, that would delay them by milliseconds. A **small** packet tells that there is no more data, so the one after it may
//! leave at once, unless small packets alone exceed the rate.

use crate::bucket;
use crate::bursts::Bursts;
use crate::queue::Queue;
use crate::waits::{self, MIN_WAIT};
use pcc::{Rate, Time};
use std::time::Duration;

/// The most that is made up: this much of the rate's time, in seconds, but at least so many packets, and at most so many wake-ups' worth. Made-up
/// packets come on top of the rate, so they queue at the bottleneck: they must fit into a shallow buffer.
const MAX_OWED: f64 = 0.005;
const MIN_OWED_PACKETS: f64 = 4.0;
const MAX_OWED_WAKES: f64 = 16.0;

/// Small packets may exceed what the rate allows by the bytes of this many full ones.
const MAX_AHEAD_PACKETS: f64 = 10.0;

/// The rate to answer so that noq doesn't hold a packet back, in bytes per second: 10 Gbit/s.
const AT_ONCE: f64 = 1.25e9;

/// This many times the rate is sent while a debt is made up.
const CATCH_UP: f64 = 1.5;

/// A rate that differs by a smaller share than this counts as the same one.
const SAME_RATE: f64 = 0.005;

/// A wake-up may collect up to this many times the usual wait, if the queue has been seen to hold 1.5 times what arrives
/// meanwhile.
const MOST_WAITS: u32 = 3;

/// If a queue that holds this many bursts doesn't drain, it is the rate that overflows it, not one of them. Once it has been seen to hold
/// as many, bursts need no trial.
const ROOMY: u32 = 4;

/// The share of the rate that noq's bucket earns for sure: it rounds down to whole bytes each time that it is asked.
const SURE: f64 = 0.98;

/// The pacing rates to answer noq with. Amounts are in bytes, rates in bytes per second.
#[derive(Debug)]
pub(crate) struct Pacing {
    mtu: f64,
    /// The rate the controller wants.
    rate: f64,
    queue: Queue,
    bursts: Bursts,
    /// Whether the controller lets packets wait for each other ([`CongestionControl::allows_bursts`](pcc::CongestionControl::allows_bursts)).
    bursts_allowed: bool,
    /// What `wakes` was computed from: the shortest round trip, the deepest queue, the longest burst.
    path: (Duration, Duration, u32),
    /// Computed anew when `path`, `rate` or `mtu` changes, which is once for many packets.
    wakes: Wakes,
    /// When `due` was last brought up to date.
    updated: Time,
    /// What the rate has earned since the last packet.
    due: f64,
    /// What should have left when the last packet did, but hadn't. Negative if more had left.
    owed: f64,
    last_sent: Time,
    /// The last packet was small, so the next one needn't wait.
    at_once: bool,
    /// The lowest rate answered since the last packet.
    lowest: f64,
    /// A lower bound of what noq's bucket held after the last packet.
    credit: f64,
    /// The depth to which noq's bucket is trimmed before the next packet.
    trim: Option<f64>,
}

/// What a wake-up of the sending task sends, and how long such wake-ups may be put off.
#[derive(Clone, Copy, Debug)]
struct Wakes {
    /// The packets of the shortest wait between two wake-ups: one up to about 300 Mbit/s.
    least: f64,
    /// The packets of the longest wait that round trip and queue allow.
    wanted: f64,
    /// The packets sent: `wanted`, or fewer if longer bursts get lost, but not fewer than `least`.
    packets: f64,
    /// How long packets to send may be collected.
    collect: Duration,
    /// How long packets that arrive may wait until they are read.
    gather: Duration,
}

impl Wakes {
    fn new(rate: f64, mtu: f64, queue: &Queue, bursts: &Bursts, bursts_allowed: bool) -> Wakes {
        let packets_in = |wait: Duration| (rate * wait.as_secs_f64() / mtu).round();
        let wait = if bursts_allowed { waits::longest(queue.shortest()) } else { Duration::ZERO };
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

    /// The same for a controller that allows bursts or doesn't.
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

    /// Drops the debt, because it wasn't a late wake-up that held packets back.
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
            (self.credit + earned).min(bucket::depth(self.lowest, self.mtu))
        });
        self.credit = (held - bytes).max(0.0);
        self.last_sent = now;
        self.at_once = bytes < self.mtu / 2.0 && self.owed > -MAX_AHEAD_PACKETS * self.mtu;
        self.lowest = self.untrimmed();
        self.credit = self.credit.min(bucket::depth(self.lowest, self.mtu));
        // What remains of a burst, which is what a wake-up sends, and what becomes due if it comes late by the shortest wait.
        let rest_of_burst = (self.wakes.packets + self.wakes.least - 1.0) * self.mtu;
        // No trim after a small packet: the next one may share its datagram, and noq doesn't ask for the rate in between.
        self.trim = (self.credit > rest_of_burst && !self.at_once).then_some(rest_of_burst);
    }

    /// The pacing rate to answer until the next packet, in bytes per second.
    pub(crate) fn answer(&self) -> u64 {
        self.trim.map_or_else(|| self.untrimmed(), |depth| bucket::rate_of_depth(depth, self.mtu)) as u64
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

    /// A packet was acknowledged after a `round_trip`, or lost if there is none; `begins_burst` if it was the first of a burst.
    pub(crate) fn on_outcome(&mut self, now: Time, begins_burst: bool, round_trip: Option<Duration>) {
        match round_trip {
            Some(round_trip) => self.queue.on_round_trip(now, round_trip),
            None if self.queue.standing() >= self.wakes.collect * ROOMY => return,
            None => {}
        }
        let fit = self.queue.deepest() >= self.wakes.gather * ROOMY;
        self.bursts.on_outcome(now, begins_burst, round_trip.is_none(), self.wakes.wanted, fit);
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

    /// How many bytes may be handed to the network at once: what a wake-up sends, even a late one.
    pub(crate) fn quantum(&self) -> u64 {
        let Wakes { packets, least, .. } = self.wakes;
        ((if packets > least { packets + least } else { packets }) * self.mtu) as u64
    }

    fn accrue(&mut self, now: Time) {
        self.due += self.rate * now.since(self.updated).as_secs_f64();
        self.updated = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_the_quantum_up_to_300_mbps() {
        let quantum = |mbps: f64| {
            let mut pacing = Pacing::new(1452);
            pacing.set_rate(Time::ZERO, Rate::from_mbps(mbps));
            pacing.quantum() / 1452
        };
        assert_eq!([1.0, 100.0, 300.0, 500.0, 1000.0].map(quantum), [1, 1, 1, 2, 4]);
    }

    /// How many packets are sent at once and how long they are collected, at 100 Mbit/s, where a packet takes 116 us, after nearly 20 s
    /// of these round trips and losses. Each second packet is the first of a burst.
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
    fn packets_are_collected_as_long_as_round_trip_and_path_allow() {
        let anywhere = |number: u64| number % 100 < 2;
        assert_eq!(learned(|_| 30 * MS, anywhere), (5, 4 * PACKET));
        assert_eq!(learned(|_| 1000 * MS, anywhere), (5, 4 * PACKET), "the queue may be short");
        assert_eq!(learned(|_| 2 * MS, anywhere), (1, MIN_WAIT), "a wait would be a large share of a short round trip");
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
    fn long_bursts_are_sent_at_once_where_the_queue_holds_several() {
        for (queue, packets) in [(4 * MS, 5), (6 * MS, 13)] {
            let mut pacing = Pacing::new(1452);
            pacing.set_rate(Time::ZERO, Rate::from_mbps(100.0));
            for number in 0..300 {
                let round_trip = 30 * MS + if number < 100 { Duration::ZERO } else { queue };
                pacing.on_outcome(Time::ZERO + PACKET * number, number % 2 == 0, Some(round_trip));
            }
            assert_eq!(pacing.quantum() / 1452, packets, "a queue of {queue:?}");
        }
    }

    #[test]
    fn a_queue_that_holds_several_bursts_isnt_overflowed_by_one() {
        let ends = |number: u64| number % 50 == 1;
        let queue = |number: u64| if number < 100 { 30 * MS } else { 40 * MS };
        assert_eq!(learned(queue, ends), (13, 12 * PACKET), "the rate overflows it");
        let (short, _) = learned(|_| 30 * MS, ends);
        assert!(short <= 2, "bursts of {short}");
    }
}
