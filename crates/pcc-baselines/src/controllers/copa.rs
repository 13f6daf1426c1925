//! Copa: Arun, Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
//!
//! Sections are of that paper. Losses matter in the competitive mode only, with one exception that is not in the paper: a
//! round trip that lost more than it delivered halves the window. Else it would grow without end where the queue holds one or
//! two packets, too few to show a delay.

use crate::limits::{INITIAL_MTU, INITIAL_WINDOW, usable_mtu, usable_rtt};
use crate::parts::windowed_filter::WindowedMax;
use core::cmp::Reverse;
use pcc::{AckedPacket, CongestionControl, LostPacket, Rate, SentPacket, Time};
use std::time::Duration;

/// `delta` of the default mode: two packets in the queue for each flow (2.1).
const DEFAULT_DELTA: f64 = 0.5;
/// How long a minimum of the round-trip time counts (2.1).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Round trips over which the largest round-trip time is taken (2.2).
const MAX_RTT_ROUNDS: u32 = 4;
/// Round trips within which the queue of Copa flows alone gets nearly empty (2.2).
const EMPTY_ROUNDS: u32 = 5;
/// The part of the largest queueing delay below which the queue is nearly empty (2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in one direction before the velocity doubles (2.1).
const STEADY_ROUNDS: u32 = 3;
/// The range of the window, in packets; the maximum is more than any path needs.
const MIN_WINDOW: f64 = 2.0;
const MAX_WINDOW: f64 = 1e9;

/// The round-trip times that Copa needs (2.1, 2.2).
#[derive(Clone, Copy, Debug, Default)]
struct Rtts {
    smoothed: Duration,
    min: WindowedMax<Reverse<Duration>>,
    standing: WindowedMax<Reverse<Duration>>,
    max: WindowedMax<Duration>,
}

impl Rtts {
    fn update(&mut self, now: Time, rtt: Duration) {
        let (rtt, now) = (usable_rtt(rtt), now.as_nanos());
        self.smoothed = if self.min.get().is_none() { rtt } else { self.smoothed * 7 / 8 + rtt / 8 };
        self.min.update(now, Reverse(rtt), nanos(MIN_RTT_WINDOW));
        self.standing.update(now, Reverse(rtt), nanos(self.smoothed / 2));
        self.max.update(now, rtt, nanos(self.smoothed * MAX_RTT_ROUNDS));
    }

    fn standing(&self) -> Option<Duration> {
        self.standing.get().map(|rtt| rtt.0)
    }

    /// The queueing delay now, and its maximum over the last round trips.
    fn queueing(&self) -> Option<(Duration, Duration)> {
        let min = self.min.get()?.0;
        Some((self.standing()?.saturating_sub(min), self.max.get()?.saturating_sub(min)))
    }
}

/// How fast the window moves, and where (2.1).
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    up: bool,
    /// Round trips for which the direction has been the same.
    rounds: u32,
}

impl Velocity {
    const START: Velocity = Velocity { value: 1.0, up: true, rounds: 0 };

    /// A round trip has moved the window up or down.
    fn on_round(&mut self, up: bool) {
        if up != self.up {
            *self = Velocity { up, ..Velocity::START };
            return;
        }
        self.rounds += 1;
        if self.rounds >= STEADY_ROUNDS {
            self.value *= 2.0;
        }
    }
}

/// Keeps `1/delta` packets in the queue; a smaller `delta` competes with senders that fill it.
#[derive(Debug)]
pub(crate) struct Copa {
    mtu: u64,
    /// In packets.
    window: f64,
    rtts: Rtts,
    slow_start: bool,
    velocity: Velocity,
    round: Round,
    delta: f64,
    last_empty: Time,
    app_limited: bool,
    /// Bytes acknowledged since the last decision, and when the newest of their packets was sent.
    acked: u64,
    newest_sent: Time,
}

/// A round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Time,
    /// The window at its start, in packets.
    window: f64,
    acked: u64,
    lost: u64,
}

impl Copa {
    pub fn new() -> Copa {
        let window = INITIAL_WINDOW as f64;
        Copa {
            mtu: INITIAL_MTU,
            window,
            rtts: Rtts::default(),
            slow_start: true,
            velocity: Velocity::START,
            round: Round { window, ..Round::default() },
            delta: DEFAULT_DELTA,
            last_empty: Time::ZERO,
            app_limited: false,
            acked: 0,
            newest_sent: Time::ZERO,
        }
    }

    /// Steps 2 and 3 of 2.1: towards the target of a packet in each `delta` queueing delays.
    fn move_window(&mut self, acked: f64, queueing: Duration, standing: Duration) {
        let up = self.window * self.delta * queueing.as_secs_f64() <= standing.as_secs_f64();
        if up && self.app_limited {
            return;
        }
        if self.slow_start && up {
            self.window += acked;
            return;
        }
        self.slow_start = false;
        if up != self.velocity.up {
            self.velocity = Velocity { up, ..Velocity::START };
        }
        // A step that more than doubles the window or more than halves it in a round trip only makes it swing.
        let step = (self.velocity.value / self.delta).min(self.window / 2.0) * acked / self.window;
        self.window = (self.window + if up { step } else { -step }).clamp(MIN_WINDOW, MAX_WINDOW);
    }

    /// Once a round trip: the direction (step 4 of 2.1) and, while competing, `delta` (2.2).
    fn end_round(&mut self, now: Time) {
        let round = self.round;
        if round.lost > round.acked {
            self.slow_start = false;
            self.window = (self.window / 2.0).max(MIN_WINDOW);
        }
        self.velocity.on_round(self.window > round.window);
        self.delta = if now.since(self.last_empty) > self.rtts.smoothed * EMPTY_ROUNDS {
            // Others keep the queue from getting nearly empty: 1/delta changes as NewReno's window does.
            let inverse = 1.0 / self.delta;
            let inverse = if round.lost > 0 { inverse / 2.0 } else { inverse + 1.0 };
            (1.0 / inverse).min(DEFAULT_DELTA)
        } else {
            DEFAULT_DELTA
        };
        self.round = Round { start: now, window: self.window, ..Round::default() };
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl CongestionControl for Copa {
    fn on_packet_sent(&mut self, _packet: &SentPacket) {
        self.app_limited = false;
    }

    fn on_packet_acked(&mut self, packet: &AckedPacket) {
        self.rtts.update(packet.time, packet.rtt);
        self.acked = self.acked.saturating_add(packet.bytes);
        self.newest_sent = self.newest_sent.max(packet.sent);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.round.lost = self.round.lost.saturating_add(packet.bytes);
    }

    fn on_batch_end(&mut self, now: Time) {
        let acked = core::mem::take(&mut self.acked);
        let (Some(standing), Some((queueing, max))) = (self.rtts.standing(), self.rtts.queueing()) else { return };
        if acked == 0 {
            return;
        }
        if queueing <= max.mul_f64(NEARLY_EMPTY) {
            self.last_empty = now;
        }
        self.round.acked = self.round.acked.saturating_add(acked);
        self.move_window(acked as f64 / self.mtu as f64, queueing, standing);
        if self.newest_sent >= self.round.start {
            self.end_round(now);
        }
    }

    fn on_app_limited(&mut self, _now: Time) {
        self.app_limited = true;
    }

    fn on_mtu_change(&mut self, mtu: u64) {
        self.mtu = usable_mtu(mtu);
    }

    /// Twice the window in a round trip, so that a burst doesn't look like a queue (2.1).
    fn pacing_rate(&self) -> Option<Rate> {
        // A round trip of nothing must not become a rate of nothing.
        let rtt = self.rtts.standing()?.max(Duration::from_micros(1));
        Some(Rate::from_bytes_over(self.in_flight_cap(), rtt) * 2.0)
    }

    fn in_flight_cap(&self) -> u64 {
        (self.window * self.mtu as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges `packets` sent at `sent` milliseconds after a round trip of `rtt` milliseconds.
    fn ack(copa: &mut Copa, sent: u64, rtt: u64, packets: u64) {
        let (sent, rtt) = (Time::ZERO + Duration::from_millis(sent), Duration::from_millis(rtt));
        let bytes = packets * INITIAL_MTU;
        copa.on_packet_acked(&AckedPacket { time: sent + rtt, number: 0, sent, bytes, rtt });
        copa.on_batch_end(sent + rtt);
    }

    #[test]
    fn the_window_doubles_until_the_target_is_passed() {
        let mut copa = Copa::new();
        ack(&mut copa, 0, 100, 10);
        assert_eq!(copa.window, 20.0, "no queue");
        // With 20 packets the target is reached at a queueing delay of rtt / 10.
        ack(&mut copa, 100, 110, 1);
        assert_eq!(copa.window, 21.0);
        ack(&mut copa, 300, 120, 21);
        assert_eq!(copa.window, 21.0 - 2.0, "1/delta packets in a round trip");
        assert_eq!(copa.pacing_rate().unwrap(), Rate::from_bytes_over(19 * 1200 * 2, Duration::from_millis(120)));
    }

    #[test]
    fn velocity_doubles_after_three_rounds_in_one_direction() {
        let mut velocity = Velocity::START;
        let mut round = |up| {
            velocity.on_round(up);
            velocity.value
        };
        assert_eq!(
            [true, true, true, true, false, false, false, false].map(&mut round),
            [1.0, 1.0, 2.0, 4.0, 1.0, 1.0, 1.0, 2.0]
        );
    }

    #[test]
    fn a_queue_that_never_empties_makes_copa_compete() {
        let mut copa = Copa::new();
        ack(&mut copa, 0, 100, 1);
        for round in 1..12 {
            ack(&mut copa, round * 200, if round % 2 == 0 { 200 } else { 180 }, 1);
        }
        assert!(copa.delta < 0.25, "{}", copa.delta);
        let competing = copa.delta;
        copa.on_packet_lost(&LostPacket { time: Time::ZERO, number: 0, sent: Time::ZERO, bytes: 1 });
        ack(&mut copa, 2400, 200, 1);
        assert_eq!(copa.delta, competing * 2.0);
        ack(&mut copa, 2600, 100, 1);
        assert_eq!(copa.delta, DEFAULT_DELTA);
    }
}
