//! How much of the path does this flow get? A drain tells: by how much the delay falls with the packets that were taken out is how fast the path is.
//!
//! While others keep their windows, the packets in flight of all, `C T` at a rate C and a round-trip time T, change by those of this flow alone. So
//! `C = dW / dT`, and its share is what it had delivered before over C. Flows that drain at the same time take out as much as each other, so that C comes
//! out as the rate of one of them: its share is 1, as if it were alone.

use crate::units::larger;

/// So many measurements count.
const MEMORY: usize = 5;
/// From so many on they bound a window, and from so many on they tell of others if the middle ones are within this factor.
const FEWEST: usize = 2;
const ENOUGH: usize = 4;
const AGREE: f64 = 2.0;
/// A drain measures if it took out so many packets.
const FEWEST_PACKETS: f64 = 2.0;
/// A delay that fell by less than this part of a packet's time and of the round trip didn't fall.
const PACKET_TIMES: f64 = 0.3;
const ROUND_TRIPS: f64 = 0.01;
/// Others that drain, or give way, make the path look slower than it is, so that the upper quartile is taken.
const QUARTILE: f64 = 0.75;
/// It is at least as fast as what a round trip delivered, which counts for less with each one since.
const FADES: f64 = 0.999;
/// The gain with which the mean over round trips before a drain follows.
const GAIN: f64 = 0.5;
/// The rounds of a drain that count: the first one has what was sent before, and others react to the later ones.
const FIRST_ROUND: u32 = 2;
const LAST_ROUND: u32 = 3;

/// What was in flight in a round trip, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    bytes: f64,
    seconds: f64,
}

/// The rate of the path, as drains measure it, and what part of it this flow gets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// The mean of the last round trips without a drain.
    before: Flight,
    /// The sum over the round trips of this drain that count, and how many there were of all.
    drained: Flight,
    rounds: u32,
    /// The last measurements, in bytes/s, how many there were of all, and what they make of the rate.
    measured: [f64; MEMORY],
    count: usize,
    rate: f64,
    /// The most that a round trip delivered, in bytes/s.
    most: f64,
}

impl Share {
    /// Takes in a round trip of so many seconds, in which so many bytes/s were delivered, in a drain or not.
    pub fn on_round(&mut self, rate: f64, seconds: f64, draining: bool) {
        self.most = larger(FADES * self.most, rate);
        let bytes = rate * seconds;
        if !draining {
            (self.drained, self.rounds) = (Flight::default(), 0);
            self.before.bytes += GAIN * (bytes - self.before.bytes);
            self.before.seconds += GAIN * (seconds - self.before.seconds);
            return;
        }
        self.rounds = self.rounds.saturating_add(1);
        if (FIRST_ROUND..=LAST_ROUND).contains(&self.rounds) {
            self.drained.bytes += bytes;
            self.drained.seconds += seconds;
        }
    }

    /// A drain has ended, of packets of so many bytes that take so many seconds. Returns the share that it showed, if it took enough out to tell.
    pub fn on_drained(&mut self, packet: f64, packet_time: f64) -> Option<f64> {
        if self.rounds < FIRST_ROUND || self.before.seconds <= 0.0 {
            return None;
        }
        let counted = f64::from(self.rounds.min(LAST_ROUND) - FIRST_ROUND + 1);
        let bytes = self.before.bytes - self.drained.bytes / counted;
        if bytes <= FEWEST_PACKETS * packet {
            return None;
        }
        let seconds = self.before.seconds - self.drained.seconds / counted;
        let least = larger(PACKET_TIMES * packet_time, ROUND_TRIPS * self.before.seconds);
        self.measured[self.count % MEMORY] = bytes / larger(seconds, least);
        self.count = self.count.saturating_add(1);
        if self.count >= FEWEST {
            self.rate = larger(self.quantile(QUARTILE), self.most);
        }
        Some(self.delivered() * larger(seconds, 0.0) / bytes)
    }

    /// The rate of the path in bytes/s, once it is known.
    pub fn path_rate(&self) -> Option<f64> {
        (self.rate > 0.0).then_some(self.rate)
    }

    /// The share that drain after drain has shown, if they agree.
    pub fn settled(&self) -> Option<f64> {
        let agree = self.count >= ENOUGH && self.quantile(0.75) < AGREE * self.quantile(0.25);
        agree.then(|| self.delivered() / self.quantile(0.5))
    }

    /// What was delivered before the drain, in bytes/s.
    fn delivered(&self) -> f64 {
        self.before.bytes / self.before.seconds
    }

    /// The measurement that this part of the others is below, in 0..=1; between two of them in proportion.
    fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.measured;
        let measured = &mut sorted[..self.count.min(MEMORY)];
        measured.sort_unstable_by(f64::total_cmp);
        let Some(last) = measured.len().checked_sub(1) else { return 0.0 };
        let place = part * last as f64;
        let below = measured[place as usize];
        let above = measured[(place as usize + 1).min(last)];
        below + (place - libm::floor(place)) * (above - below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: f64 = 1250.0;
    /// The packets of others that stay in flight.
    const OTHERS: f64 = 300.0;

    /// The round-trip time of a path of 100 Mbit/s on which so many packets are in flight.
    fn seconds(packets: f64) -> f64 {
        packets * PACKET / 12.5e6
    }

    /// The share shown by a drain of so many packets to so many, while `others` change to `others_after`.
    fn drain(share: &mut Share, [own, drained]: [f64; 2], [others, others_after]: [f64; 2]) -> Option<f64> {
        let mut pass = |own: f64, others: f64, draining| {
            let rtt = seconds(own + others);
            share.on_round(own * PACKET / rtt, rtt, draining);
        };
        (0..10).for_each(|_| pass(own, others, false));
        pass(own, others, true);
        (0..4).for_each(|_| pass(drained, others_after, true));
        share.on_drained(PACKET, PACKET / 12.5e6)
    }

    #[test]
    fn a_drain_beside_others_that_keep_their_window_shows_the_share() {
        for own in [30.0, 100.0, 300.0, 900.0] {
            let mut share = Share::default();
            let truth = own / (own + OTHERS);
            for _ in 0..ENOUGH {
                let shown = drain(&mut share, [own, 0.7 * own], [OTHERS; 2]).expect("enough packets");
                assert!((shown - truth).abs() < 0.01, "{own}: {shown}, not {truth}");
            }
            assert!(share.path_rate().is_some_and(|rate| (rate / 12.5e6 - 1.0).abs() < 0.01), "{share:?}");
            assert!(share.settled().is_some_and(|settled| (settled - truth).abs() < 0.01), "{share:?}");
        }
    }

    #[test]
    fn who_drains_together_seems_to_be_alone() {
        let shown = drain(&mut Share::default(), [30.0, 21.0], [OTHERS, 0.7 * OTHERS]);
        assert!(shown.is_some_and(|share| (share - 1.0).abs() < 0.01), "{shown:?}");
    }

    #[test]
    fn too_few_packets_tell_nothing() {
        let mut share = Share::default();
        assert_eq!(drain(&mut share, [8.0, 6.5], [OTHERS; 2]), None);
        assert_eq!((share.path_rate(), share.settled()), (None, None));
    }

    #[test]
    fn a_delay_that_rose_meanwhile_tells_that_the_path_is_fast() {
        let mut share = Share::default();
        assert_eq!(drain(&mut share, [100.0, 70.0], [OTHERS, 1.2 * OTHERS]), Some(0.0));
        assert_eq!(share.path_rate(), None, "one drain may be chance");
        drain(&mut share, [100.0, 70.0], [OTHERS; 2]);
        assert!(share.path_rate().is_some_and(|rate| rate > 3.0 * 12.5e6), "{share:?}");
    }

    #[test]
    fn drains_that_contradict_each_other_show_no_share() {
        let mut share = Share::default();
        for others_after in [0.5, 1.0, 1.1, 1.0, 0.6] {
            drain(&mut share, [100.0, 70.0], [OTHERS, others_after * OTHERS]);
        }
        assert!(share.path_rate().is_some() && share.settled().is_none(), "{share:?}");
    }

    #[test]
    fn the_path_is_at_least_as_fast_as_what_it_delivered() {
        let mut share = Share::default();
        share.on_round(12.5e6, seconds(400.0), false);
        // Others that give way twice as much as this flow.
        for _ in 0..FEWEST {
            drain(&mut share, [100.0, 70.0], [OTHERS, OTHERS - 60.0]);
        }
        let rate = share.path_rate().expect("two drains");
        assert!((0.95..=1.0).contains(&(rate / 12.5e6)), "{share:?}");
    }
}
