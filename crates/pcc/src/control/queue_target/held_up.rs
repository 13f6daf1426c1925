//! How much of the delay is noise: packets that were sent apart and arrive together, again and again, were held up by something that isn't
//! a queue, for a queue lets them go one after the other. It does so at once if many flows that filled it stop together, but that is rare.

use super::config::NoiseConfig;
use crate::units::{decayed, larger, smaller};

/// A packet counts as much as one in so many that were before; in the usual mean, in so many of those.
const MEMORY: f64 = 15.0;
const USUAL_MEMORY: f64 = 800.0;
/// A receiver waits for so many packets before it acknowledges them (RFC 9000, section 13.2.2; RFC 5681, section 4.2). It waits for the last one,
/// whose round-trip time counts, and so for none that was held up.
pub(super) const USUALLY_TOGETHER: u32 = 2;
/// Receivers that are asked to acknowledge less often wait for more (draft-ietf-quic-ack-frequency), but hardly for more than this.
const MOST_TOGETHER: u32 = 32;
/// The last packet of a burst waits so many times as long for the others as they do in the mean. The next burst, which comes when it has just left, seems to be
/// held up for as long.
const LAST_OF_BURST: f64 = 2.0;
/// How many times the usual mean the largest one may be.
const UNUSUAL: f64 = 5.0;

/// How long packets are held up, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldUp {
    config: NoiseConfig,
    /// For how many packets a receiver may wait.
    most_together: u32,
    /// When the newest packet was sent, and when it was acknowledged, in seconds.
    newest: Option<(f64, f64)>,
    /// How many packets there were.
    seen: f64,
    /// By whomever, and by what can't be a receiver that waits for more packets.
    by_any: Wait,
    by_path: Wait,
    /// For how long the newest packet waited for those of its burst, the usual mean, and when it was acknowledged.
    in_burst: f64,
    usual_in_burst: f64,
    acked: f64,
}

/// How long packets were held up by something, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    /// How much longer the first of those that arrive together waited than the newest.
    longer: f64,
    /// The mean of that over packets, the largest mean so far, and the usual one.
    mean: f64,
    largest: f64,
    usual: f64,
}

impl HeldUp {
    /// Nothing was seen yet. Only where packets may leave in `bursts` is the receiver asked to acknowledge several at once.
    pub fn new(bursts: bool, config: NoiseConfig) -> HeldUp {
        HeldUp { config, most_together: if bursts { MOST_TOGETHER } else { USUALLY_TOGETHER }, ..HeldUp::default() }
    }

    /// Takes in `packets` packets that were acknowledged at once: when the oldest and the newest were sent, when that was, and how long the path takes
    /// for each of them, in seconds. Those that aren't newer than the ones before tell nothing of what held them up.
    #[inline]
    pub fn add(&mut self, oldest: f64, newest: f64, packets: u32, acked: f64, packet_time: f64) {
        let Some((before, last)) = self.newest else {
            (self.newest, self.acked) = (Some((newest, acked)), acked);
            return;
        };
        let (number, packets) = (packets, f64::from(packets));
        let took = smaller(acked - core::mem::replace(&mut self.acked, acked), packets * packet_time);
        self.in_burst = larger(self.in_burst + took - larger(newest - before, 0.0), 0.0);
        let part = smaller(packets * (1.0 / USUAL_MEMORY), 1.0);
        self.usual_in_burst = decayed(self.usual_in_burst + (self.in_burst - self.usual_in_burst) * part);
        if newest <= before {
            return;
        }
        self.newest = Some((newest, acked));
        let (oldest, gap, together) = (larger(oldest, before), acked - last, self.config.together);
        self.seen += packets;
        for (wait, most) in [(&mut self.by_any, USUALLY_TOGETHER), (&mut self.by_path, self.most_together)] {
            let oldest = if number > most { oldest } else { newest };
            wait.add(oldest - before, newest - oldest, gap, together, packets, self.seen);
        }
    }

    /// The delay that may be noise.
    pub fn noise(&self) -> f64 {
        self.config.reach * self.by_any.usual()
    }

    /// The same without what packets of a burst wait for each other.
    pub fn noise_beyond_own(&self) -> f64 {
        larger(self.noise() - self.config.reach * LAST_OF_BURST * self.usual_in_burst, 0.0)
    }

    /// The delay that may be noise without what a receiver adds that waits for more packets before it acknowledges them. It adds nothing to the
    /// round-trip time of the newest one: a delay that stands isn't its doing.
    pub fn noise_of_path(&self) -> f64 {
        self.config.reach * self.by_path.usual()
    }
}

impl Wait {
    /// Takes in `packets` packets of `seen`, the first of which was sent `apart` after those before, and the last `span` after the first; they were
    /// acknowledged `gap` after those before.
    fn add(&mut self, apart: f64, span: f64, gap: f64, together: f64, packets: f64, seen: f64) {
        let first = if gap <= together * apart { self.longer + apart - gap } else { 0.0 };
        self.longer = first + span;
        let held_up = first + span / 2.0;
        self.mean = decayed(self.mean + (held_up - self.mean) * packets / (packets + MEMORY));
        self.largest = larger(self.largest, self.mean);
        self.usual = decayed(self.usual + (held_up - self.usual) * packets / smaller(seen, packets + USUAL_MEMORY));
    }

    /// The largest mean, unless it is unusual.
    fn usual(&self) -> f64 {
        smaller(self.largest, UNUSUAL * self.usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The noise that packets show that are sent each millisecond and wait for so many milliseconds.
    fn noise(waits: impl IntoIterator<Item = f64>) -> f64 {
        let mut held_up = HeldUp::default();
        for (number, wait) in waits.into_iter().enumerate() {
            let sent = 0.001 * number as f64;
            held_up.add(sent, sent, 1, sent + 0.04 + 0.001 * wait, 0.0);
        }
        held_up.noise()
    }

    #[test]
    fn packets_that_arrive_together_were_held_up() {
        let bunches = || (0..10).flat_map(|_| [4.0, 3.0, 2.0, 1.0, 0.0]);
        assert!(noise(bunches()) > 0.002, "{}", noise(bunches()));
    }

    #[test]
    fn a_receiver_that_waits_for_more_packets_is_no_noise_of_the_path() {
        // Packets are sent each 2 ms, and so many of them acknowledged at once: what may be noise, and what of the path.
        let noise_with = |bursts, packets: u32| {
            let mut held_up = HeldUp::new(bursts, NoiseConfig::default());
            for newest in (0..100).map(|number| 0.002 * f64::from((number + 1) * packets)) {
                held_up.add(newest - 0.002 * f64::from(packets - 1), newest, packets, newest + 0.04, 0.0);
            }
            [held_up.noise(), held_up.noise_of_path()]
        };
        let noise = |packets| noise_with(true, packets);
        assert_eq!([1, 2].map(noise), [[0.0, 0.0]; 2]);
        let [some, more, many] = [3, 32, 33].map(noise);
        assert!(some[0] > 0.007 && some[1] == 0.0, "{some:?}");
        assert!(more[0] > 0.1 && more[1] == 0.0, "{more:?}");
        assert!(many[0] > 0.1 && many[1] == many[0], "{many:?}: nobody waits for so many");
        assert_eq!(noise_with(false, 3), [some[0]; 2], "nobody was asked to wait");
        assert_eq!(noise_with(false, 2), [0.0; 2], "for a second one receivers wait without that");
    }

    #[test]
    fn what_happens_once_is_no_noise() {
        let bunch = (0..20).rev().map(f64::from);
        let after = |packets| noise(bunch.clone().chain((0..packets).map(|_| 0.0)));
        assert!(after(0) > 0.01, "{}", after(0));
        assert!(after(4000) < 0.01 * after(0), "{}", after(4000));
        assert_eq!(after(400_000), 0.0, "and not a number that processors are slow with");
    }

    /// What may be noise where packets of a path that is full leave in bursts of so many: all of it, and without what they wait for each other.
    fn noise_of_bursts(of: u32) -> [f64; 2] {
        let (packet_time, mut held_up) = (0.001, HeldUp::default());
        for number in 0..4000 {
            let arrives = packet_time * f64::from(number);
            let sent = packet_time * (f64::from(number - number % of) + 0.01 * f64::from(number % of));
            held_up.add(sent, sent, 1, arrives + 0.04, packet_time);
        }
        [held_up.noise(), held_up.noise_beyond_own()]
    }

    #[test]
    fn packets_of_a_burst_wait_for_each_other() {
        assert_eq!(noise_of_bursts(1), [0.0; 2]);
        let [all, beyond_own] = noise_of_bursts(10);
        assert!(all > 0.004 && beyond_own < 0.5 * all, "{all} {beyond_own}");
    }

    #[test]
    fn what_the_path_holds_up_isn_t_what_packets_wait_for_each_other() {
        let mut held_up = HeldUp::default();
        for bunch in 1..400 {
            let sent = |packet: u32| 0.01 * f64::from(bunch) + 0.001 * f64::from(packet);
            (0..10).for_each(|packet| held_up.add(sent(packet), sent(packet), 1, sent(9) + 0.04, 0.001));
        }
        let [all, beyond_own] = [held_up.noise(), held_up.noise_beyond_own()];
        assert!(all > 0.01 && beyond_own > 0.99 * all, "{all} {beyond_own}");
    }

    #[test]
    fn a_queue_holds_nobody_up() {
        assert_eq!(noise((0..50).map(f64::from)), 0.0, "it grows");
        let drains = (0..50).map(|number| 25.0 - 0.5 * f64::from(number));
        assert_eq!(noise(drains), 0.0, "it shrinks: two packets arrive in the time in which one is sent");
    }
}
