//! What round-trip times tell about the queue on the path.

use pcc::Time;
use std::time::Duration;

/// The shortest round trip is taken of this period and the one before, because a path may become longer.
const PERIOD: Duration = Duration::from_secs(10);

/// A delay is a queue's if all packets had it for a quarter of the shortest round trip, or for 20 ms if that is shorter, and there were at least
/// 8 of them. The delay of a busy host passes sooner: what it held up comes all at once, and the last packet of it has hardly waited.
const SHARE: u32 = 4;
const LONG: Duration = Duration::from_millis(20);
const PACKETS: u32 = 8;

/// The round-trip times of a path, and the queue that they show.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The shortest round trip of the period before; `MAX` without any, as in the next two.
    before: Duration,
    /// The shortest round trip of this period.
    latest: Duration,
    period_ends: Time,
    /// The shortest round trip of the packets that are being looked at together.
    smallest: Duration,
    /// How many these are.
    packets: u32,
    /// When the first of them was acknowledged.
    since: Time,
    /// See [`Queue::standing`].
    standing: Duration,
    /// See [`Queue::deepest`].
    deepest: Duration,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            before: Duration::MAX,
            latest: Duration::MAX,
            period_ends: Time::ZERO,
            smallest: Duration::MAX,
            packets: 0,
            since: Time::ZERO,
            standing: Duration::ZERO,
            deepest: Duration::ZERO,
        }
    }
}

impl Queue {
    /// At `now` a packet was acknowledged after a `round_trip`.
    pub(crate) fn on_round_trip(&mut self, now: Time, round_trip: Duration) {
        if now >= self.period_ends {
            self.before = self.latest;
            self.latest = Duration::MAX;
            self.period_ends = now + PERIOD;
        }
        self.latest = self.latest.min(round_trip);
        self.smallest = self.smallest.min(round_trip);
        if self.packets == 0 {
            self.since = now;
        }
        self.packets += 1;
        if self.packets >= PACKETS && now.since(self.since) >= LONG.min(self.shortest() / SHARE) {
            self.standing = self.smallest.saturating_sub(self.shortest());
            self.deepest = self.deepest.max(self.standing);
            (self.smallest, self.packets) = (Duration::MAX, 0);
        }
    }

    /// The shortest round trip, without a queue; zero before the first.
    pub(crate) fn shortest(&self) -> Duration {
        let shortest = self.before.min(self.latest);
        if shortest == Duration::MAX { Duration::ZERO } else { shortest }
    }

    /// How long each of the latest packets waited in the queue at least.
    pub(crate) fn standing(&self) -> Duration {
        self.standing
    }

    /// The largest [`standing`](Self::standing) so far: so much the queue can hold.
    pub(crate) fn deepest(&self) -> Duration {
        self.deepest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The queue after packets each millisecond with these round trips.
    fn after(round_trips: impl IntoIterator<Item = Duration>) -> Queue {
        let mut queue = Queue::default();
        for (round_trip, ms) in round_trips.into_iter().zip(0..) {
            queue.on_round_trip(Time::from_nanos(ms * 1_000_000), round_trip);
        }
        queue
    }

    #[test]
    fn a_delay_counts_if_all_packets_have_it() {
        let mut queue = Queue::default();
        for number in 0..2_000 {
            // 100 Mbit/s, and every 100 packets the host pauses for 5 ms, after which the packets come that waited meanwhile.
            let sent = Time::from_nanos(number * 116_160);
            let late = Duration::from_nanos(116_160) * (100 - number as u32 % 100).saturating_sub(57);
            queue.on_round_trip(sent + 30 * MS + late, 30 * MS + late);
        }
        assert_eq!((queue.shortest(), queue.deepest()), (30 * MS, Duration::ZERO));
        let queue = after([30 * MS; 32].into_iter().chain([35 * MS; 32]).chain([31 * MS; 32]));
        assert_eq!((queue.shortest(), queue.standing(), queue.deepest()), (30 * MS, MS, 5 * MS));
    }

    #[test]
    fn a_longer_path_stops_counting_as_a_queue() {
        let queue = after((0..40_000).map(|ms| if ms < 5_000 { 30 * MS } else { 50 * MS }));
        assert_eq!((queue.shortest(), queue.standing()), (50 * MS, Duration::ZERO));
        assert_eq!(Queue::default().shortest(), Duration::ZERO);
    }
}
