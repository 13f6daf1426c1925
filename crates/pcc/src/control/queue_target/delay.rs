//! What round-trip times tell: how long the path takes when it is empty, and what queue stands in it now.

use super::config::NoiseConfig;
use super::filter::WindowedMin;
use super::held_up::{HeldUp, USUALLY_TOGETHER};
use crate::contract::AckedPacket;
use crate::units::{Time, decayed, larger, smaller};

/// The standing queue is the smallest round-trip time of half a round trip, of this time at most, so that flows with long and short
/// round trips see the same of a queue that swings, and of the time of so many packets at least.
const STANDING_SECONDS: f64 = 0.02;
const STANDING_PACKETS: f64 = 8.0;
/// Acknowledgements may come in bundles; the standing queue is seen over so many gaps between them at least.
const GAPS: f64 = 1.5;
/// They come in bunches if the gaps take more than this part of the round trip.
const BUNCHED_PART: f64 = 0.5;
/// The background follows what is less than it with a gain of one part in so many.
const DOUBT_DIVISOR: f64 = 64.0;
/// A background of less than one part in so many of the round trip is small.
const SMALL_DIVISOR: f64 = 16.0;
/// An excess of more than one part in so many isn't, whether it is known to be background or not.
const CONSIDERABLE_DIVISOR: f64 = 8.0;
/// The background is noise, from moment to moment more or less than its mean, if this part of it may be.
const NOISE_PART: f64 = 0.25;
/// Noise of more than this part of the base round-trip time hides how long the queue is now.
const BLURRED_PART: f64 = 0.01;
/// A drain may raise a background that isn't small by this part of what may be noise, to so many times that: the faster packets are sent, the
/// less each is held up, while what stands above the smallest round-trip time of all stays as it is.
const RAISES: f64 = 0.5;
const MOST_NOISES: f64 = 3.0;
/// On paths with a smaller base than this, in seconds, hosts alone hold packets up by so many seconds at most: what may be that is no queue there.
const HOSTS_MATTER: f64 = 0.002;
const OF_HOSTS: f64 = 0.0005;
/// The delay rises at once between packets that were sent one after the other, by this many times the time between them, while nothing is
/// acknowledged for this part of the rise at least: the path has become longer, or pauses. A queue grows more slowly.
const AT_ONCE: f64 = 4.0;
const WHILE_SILENT: f64 = 0.7;
/// Who yields forgets the smallest round-trip time after so many seconds (BBR, 2016; Copa, NSDI 2018): else it would yield for ever to a
/// path that became longer.
const FORGETS: f64 = 10.0;
/// The smoothed round-trip time is at most so many times the standing one, and what may be noise: after a delay of several round trips has gone,
/// packets would leave for seconds as if it were still there.
const MOST_SMOOTHED: f64 = 3.0;
/// The longest round-trip time that is believed, in seconds.
const MAX_RTT: f64 = 600.0;

/// The acknowledged packets of the batch being reported.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    packets: u32,
    /// When the first and the last of them were sent.
    oldest: Time,
    newest: Time,
    /// The smallest round-trip time.
    smallest: f64,
    /// The highest number, and the round-trip time of that packet.
    number: u64,
    rtt: f64,
}

/// Round-trip times in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Delay {
    /// The smallest round-trip time of the last `memory` seconds.
    base: WindowedMin,
    memory: f64,
    /// The smallest one of the time that a standing queue is measured over.
    standing: WindowedMin,
    smoothed: Option<f64>,
    batch: Batch,
    /// What stands although none of it is ours: noise, or a queue that others keep.
    background: f64,
    /// Whether a queue that others keep is no background, so that as much of it counts as may be noise now.
    yields: bool,
    held_up: HeldUp,
    /// Whether nothing of the background is a queue of our kind, as a drain has found out.
    pub only_noise: bool,
    /// Whether a drain has told what of it is noise.
    drained: bool,
    /// The mean excess of the last round trip.
    mean: f64,
    /// The longest time without acknowledgements in a round trip: the mean, and that of the present one.
    gap: f64,
    longest_gap: f64,
    last_batch: Option<f64>,
    /// When the newest acknowledged packet was sent, in seconds.
    newest: f64,
    /// By how much the delay rose at once since that was asked last.
    rise: f64,
    /// Whether a delay of several round trips has gone since that was asked last.
    fell: bool,
}

impl Delay {
    /// Nothing was seen yet.
    pub fn new(competes: bool, noise: NoiseConfig) -> Delay {
        let memory = if competes { f64::INFINITY } else { FORGETS };
        Delay { memory, yields: !competes, held_up: HeldUp::new(competes, noise), ..Delay::default() }
    }

    /// Takes in an acknowledged packet.
    pub fn on_acked(&mut self, packet: &AckedPacket) {
        // A multiplication instead of the division in `as_secs_f64`.
        let rtt = smaller(packet.rtt.as_secs() as f64 + f64::from(packet.rtt.subsec_nanos()) * 1e-9, MAX_RTT);
        let (batch, &AckedPacket { number, sent, .. }) = (&mut self.batch, packet);
        if batch.packets == 0 {
            *batch = Batch { packets: 1, oldest: sent, newest: sent, smallest: rtt, number, rtt };
            return;
        }
        batch.packets = batch.packets.saturating_add(1);
        (batch.oldest, batch.newest) = (batch.oldest.min(sent), batch.newest.max(sent));
        batch.smallest = smaller(batch.smallest, rtt);
        if number >= batch.number {
            (batch.number, batch.rtt) = (number, rtt);
        }
    }

    /// Takes in the batch; packets take `packet_time` seconds at the rate of the path.
    pub fn on_batch(&mut self, now: Time, packet_time: f64) {
        let Batch { packets, oldest, newest, smallest, rtt, .. } = self.batch;
        if packets == 0 {
            return;
        }
        self.batch.packets = 0;
        let (oldest, newest, now) = (oldest.as_secs_f64(), newest.as_secs_f64(), now.as_secs_f64());
        self.held_up.add(oldest, newest, packets, now, packet_time);
        let smoothed = self.smoothed.map_or(rtt, |smoothed| smoothed + (rtt - smoothed) / 8.0);
        self.smoothed = Some(smoothed);
        let gap = self.last_batch.map_or(0.0, |last| now - last);
        self.last_batch = Some(now);
        self.longest_gap = larger(self.longest_gap, gap);
        let window = larger(smaller(smoothed / 2.0, STANDING_SECONDS), STANDING_PACKETS * packet_time);
        let window = larger(window, GAPS * self.gap);
        let rise = smallest - self.standing();
        // A receiver that waits for a second packet waits for none that was held up: the delay is that of the second.
        let apart = if packets <= USUALLY_TOGETHER { newest } else { oldest } - self.newest;
        if self.standing() > 0.0 && gap >= WHILE_SILENT * rise && rise >= AT_ONCE * apart {
            self.rise = larger(self.rise, rise);
        }
        self.newest = larger(self.newest, newest);
        self.standing.update(now, smallest, window);
        let most = MOST_SMOOTHED * self.standing() + self.noise();
        if smoothed > most {
            (self.smoothed, self.fell) = (Some(most), true);
        }
        self.base.update(now, smallest, self.memory);
        let part = gap / larger(larger(smoothed, gap), f64::MIN_POSITIVE);
        self.mean = decayed(self.mean + (self.excess() - self.mean) * part);
    }

    /// The smallest round-trip time there is without a queue; zero before the first sample.
    pub fn base(&self) -> f64 {
        self.base.get().unwrap_or(0.0)
    }

    /// A round trip has passed.
    pub fn on_round(&mut self) {
        let longest = core::mem::take(&mut self.longest_gap);
        self.gap += (longest - self.gap) / 4.0;
    }

    /// Whether acknowledgements come in bunches that are further apart than a part of the round trip.
    pub fn is_bunched(&self) -> bool {
        self.gap > BUNCHED_PART * self.base()
    }

    /// By how much the delay rose at once since that was taken.
    pub fn rise(&self) -> f64 {
        self.rise
    }

    /// By how much the delay rose at once since the last call.
    pub fn take_rise(&mut self) -> f64 {
        core::mem::take(&mut self.rise)
    }

    /// Whether a delay of several round trips has gone since the last call.
    pub fn take_fall(&mut self) -> bool {
        core::mem::take(&mut self.fell)
    }

    /// Nothing was sent for some time, so that nothing could be acknowledged: that is no gap between acknowledgements.
    pub fn after_pause(&mut self) {
        self.last_batch = None;
    }

    /// The path may be another one: nothing is known of its round-trip time (RFC 9002, section 5.2).
    pub fn forget(&mut self) {
        (self.base, self.standing) = (WindowedMin::default(), WindowedMin::default());
        self.background = 0.0;
        self.after_pause();
    }

    /// The path has become longer by what the background is more than `before`.
    pub fn on_longer_path(&mut self, before: f64) {
        let longer = core::mem::replace(&mut self.background, before) - before;
        let base = self.base() + longer.max(0.0);
        self.base = WindowedMin::default();
        self.base.update(self.last_batch.unwrap_or(0.0), base, self.memory);
    }

    /// The smallest round-trip time now.
    pub fn standing(&self) -> f64 {
        self.standing.get().unwrap_or(0.0)
    }

    /// The smoothed round-trip time.
    pub fn smoothed(&self) -> Option<f64> {
        self.smoothed
    }

    /// What stands above the smallest round-trip time, whoever causes it.
    pub fn excess(&self) -> f64 {
        self.standing() - self.base()
    }

    /// The same without the background. Where the background is noise, which is more or less than its mean from moment to moment,
    /// the queue is what the mean of a round trip shows as well; if only some of it may be noise, then only as long as nothing else
    /// is there.
    pub fn queue(&self) -> f64 {
        let of_hosts = if self.base() < HOSTS_MATTER { smaller(OF_HOSTS, self.noise()) } else { 0.0 };
        let is_noise = self.is_noise() && (self.only_noise || self.noise() > self.background());
        let excess = if is_noise { smaller(self.excess(), self.mean) } else { self.excess() };
        larger(excess - larger(self.background(), of_hosts), 0.0)
    }

    /// What remains of the excess when nothing of it can be ours.
    pub fn set_background(&mut self, excess: f64) {
        self.background = excess.max(0.0);
    }

    /// Less than the background stands, or stood on the average of a round trip: it isn't what it was.
    pub fn doubt_background(&mut self, excess: f64) {
        self.background = decayed(self.background - (self.background - excess).max(0.0) / DOUBT_DIVISOR);
    }

    /// Whether the background is more than a small part of the round trip.
    pub fn has_background(&self) -> bool {
        self.background() * SMALL_DIVISOR > self.base()
    }

    /// Whether the background isn't small, and may be noise in part.
    pub fn is_noise(&self) -> bool {
        self.has_background() && self.noise() > NOISE_PART * self.background()
    }

    /// Whether all of an excess of so many seconds, which isn't small, may be noise, and none of it a receiver that waits.
    pub fn may_be_all_noise(&self, excess: f64) -> bool {
        self.held_up.noise_of_path() > excess && (self.has_background() || excess * CONSIDERABLE_DIVISOR > self.base())
    }

    /// The delay that may be noise, of the path or of a receiver that waits for more packets before it acknowledges them.
    pub fn noise(&self) -> f64 {
        self.held_up.noise()
    }

    /// The same without what packets of this flow that left together wait for each other.
    pub fn noise_beyond_own(&self) -> f64 {
        self.held_up.noise_beyond_own()
    }

    /// Whether packets are held up for so long that the queue is seen late and not exactly.
    pub fn is_blurred(&self) -> bool {
        self.noise() > BLURRED_PART * self.base()
    }

    /// A drain has ended, and this remained. What is less than the background halves the difference; so does what is more, as far as
    /// it may be noise. The first one tells all of that, since start-up can't tell noise from what it causes itself.
    pub fn on_drain(&mut self, remains: f64) {
        let noise = self.held_up.noise_of_path();
        let raised = if self.has_background() { self.background + RAISES * noise } else { 0.0 };
        let most = larger(smaller(raised, MOST_NOISES * noise), larger(noise, self.background));
        let remains = smaller(remains, most).max(0.0);
        let knows = core::mem::replace(&mut self.drained, true);
        let part = if knows || remains < self.background { 0.5 } else { 1.0 };
        self.background += part * (remains - self.background);
    }

    /// What stands is noise, as far as it may be.
    pub fn learn_noise(&mut self) {
        self.background = self.background.max(self.excess().min(self.held_up.noise_of_path()));
    }

    /// The delay that isn't ours.
    pub fn background(&self) -> f64 {
        if self.yields { smaller(self.background, self.held_up.noise_of_path()) } else { self.background }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By how much the delay rises at once as packets are acknowledged that were sent each 2 ms and took so many milliseconds.
    fn rise(rtts: impl IntoIterator<Item = u64>) -> f64 {
        let mut delay = Delay::new(true, NoiseConfig::default());
        for (number, rtt) in rtts.into_iter().enumerate() {
            let (sent, rtt) = (Time::from_nanos(2_000_000 * number as u64), core::time::Duration::from_millis(rtt));
            delay.on_acked(&AckedPacket { time: sent + rtt, number: number as u64, sent, bytes: 1200, rtt });
            delay.on_batch(sent + rtt, 0.001);
        }
        delay.take_rise()
    }

    #[test]
    fn while_nothing_is_sent_nothing_can_be_acknowledged() {
        let mut delay = Delay::new(true, NoiseConfig::default());
        let rtt = core::time::Duration::from_millis(20);
        // A packet that was sent after so many milliseconds.
        let send = |delay: &mut Delay, at: u64| {
            let sent = Time::from_nanos(1_000_000 * at);
            delay.on_acked(&AckedPacket { time: sent + rtt, number: at, sent, bytes: 1200, rtt });
            delay.on_batch(sent + rtt, 0.001);
            delay.on_round();
            delay.is_bunched()
        };
        assert!(!(0..20).any(|number| send(&mut delay, 5 * number)));
        delay.after_pause();
        assert!(!send(&mut delay, 10_000));
        assert!(
            (0..20).any(|number| send(&mut delay, 10_015 + 15 * number)),
            "gaps of three quarters of the round trip"
        );
    }

    #[test]
    fn a_longer_path_delays_packets_at_once() {
        let longer = rise([20, 20, 21, 20, 60, 60]);
        assert!((longer - 0.04).abs() < 1e-9, "{longer}");
        assert!(rise((20..60).step_by(2)) < 0.01, "a queue grows packet by packet");
        assert_eq!(rise([60, 60, 20]), 0.0);
    }

    /// Two packets leave together each 5 ms, and the last one of a burst is acknowledged with the first of the next, while a queue grows by 2 ms in that time.
    #[test]
    fn who_waits_for_a_second_packet_makes_no_delay_rise_at_once() {
        let mut delay = Delay::new(true, NoiseConfig::default());
        for number in 0..40 {
            let ms = 5 * (number / 2);
            let (sent, own) = (Time::from_nanos(1_000_000 * ms), 20.0 + 0.4 * ms as f64);
            // The first of a pair waits for the second.
            let waits = if number % 2 == 1 { 7.0 } else { 0.0 };
            let rtt = core::time::Duration::from_secs_f64((own + waits) / 1e3);
            delay.on_acked(&AckedPacket { time: sent + rtt, number, sent, bytes: 1200, rtt });
            if number % 2 == 0 {
                delay.on_batch(sent + rtt, 0.001);
            }
        }
        assert!(delay.excess() > 0.01 && delay.take_rise() == 0.0);
    }

    #[test]
    fn a_delay_of_several_round_trips_that_has_gone_is_forgotten() {
        let mut delay = Delay::new(true, NoiseConfig::default());
        let mut now = 0;
        let mut acknowledge = |delay: &mut Delay, packets: u64, ms: u64| {
            for _ in 0..packets {
                now += 10_000_000;
                let (sent, rtt) = (Time::from_nanos(now), core::time::Duration::from_millis(ms));
                delay.on_acked(&AckedPacket { time: sent + rtt, number: now, sent, bytes: 1200, rtt });
                delay.on_batch(sent + rtt, 0.001);
            }
            (delay.smoothed().unwrap_or_default(), delay.take_fall())
        };
        assert_eq!(acknowledge(&mut delay, 10, 40), (0.04, false));
        let (smoothed, fell) = acknowledge(&mut delay, 100, 110);
        assert!(smoothed > 0.1 && !fell, "{smoothed}: a queue of less than two round trips");
        acknowledge(&mut delay, 100, 2000);
        let (smoothed, fell) = acknowledge(&mut delay, 4, 40);
        assert!(fell && smoothed <= MOST_SMOOTHED * 0.04 + delay.noise(), "{smoothed}");
    }

    #[test]
    fn a_longer_path_is_no_noise() {
        let mut delay = Delay { base: WindowedMin::default(), ..Delay::default() };
        delay.base.update(0.0, 0.02, delay.memory);
        delay.set_background(0.035);
        delay.on_longer_path(0.005);
        assert!((delay.base() - 0.05).abs() < 1e-9 && delay.background() == 0.005, "{delay:?}");
    }

    /// A path of 20 ms whose background is so long, and on which packets are held up so that some milliseconds may be noise.
    fn noisy(background: f64) -> Delay {
        let mut delay = Delay::new(true, NoiseConfig::default());
        for bunch in 0..100 {
            for number in 0..5 {
                let sent = 0.01 * f64::from(bunch) + 0.001 * f64::from(number);
                delay.held_up.add(sent, sent, 1, 0.01 * f64::from(bunch) + 0.03, 0.0);
            }
        }
        delay.base.update(0.0, 0.02, delay.memory);
        delay.set_background(background);
        delay
    }

    #[test]
    fn in_a_local_network_what_hosts_may_hold_up_is_no_queue() {
        // On a path of so many seconds, with half a millisecond and more above that.
        let queue = |mut delay: Delay, base: f64, excess: f64| {
            delay.base = WindowedMin::default();
            delay.base.update(0.0, base, delay.memory);
            delay.standing.update(0.0, base + excess, 1.0);
            (1e6 * delay.queue()).round()
        };
        let even = || Delay::new(true, NoiseConfig::default());
        assert_eq!(queue(even(), 0.001, 0.000_7), 700.0, "nothing holds packets up");
        assert_eq!(queue(noisy(0.0), 0.001, 0.000_7), 200.0);
        assert_eq!(queue(noisy(0.0), 0.001, 0.000_4), 0.0);
        assert_eq!(queue(noisy(0.0), 0.003, 0.000_4), 400.0, "a longer path");
    }

    #[test]
    fn to_who_yields_no_more_is_background_than_may_be_noise_now() {
        let noise = noisy(0.0).noise();
        let mut delay = Delay { yields: true, ..noisy(2.0 * noise) };
        assert_eq!(delay.background(), noise);
        delay.held_up = HeldUp::new(false, NoiseConfig::default());
        assert_eq!(delay.background(), 0.0, "packets aren't held up any more");
        assert_eq!(noisy(2.0 * noise).background(), 2.0 * noise, "others keep the rest");
    }

    #[test]
    fn what_is_small_may_not_be_all_noise() {
        let noise = noisy(0.0).noise();
        assert!(noise > 0.0025, "{noise}, more than an eighth of the path");
        let may_be = |background: f64, excess| noisy(background).may_be_all_noise(excess);
        assert_eq!([0.002, 0.0026, 1.1 * noise].map(|excess| may_be(0.0, excess)), [false, true, false]);
        assert!(may_be(0.0015, 0.002), "there is background");
    }

    #[test]
    fn a_drain_raises_what_may_be_noise() {
        let noise = noisy(0.0).noise();
        // In units of what may be noise.
        let after = |background: f64, remains: f64| {
            let mut delay = noisy(background * noise);
            delay.drained = true;
            delay.on_drain(remains * noise);
            (1e6 * delay.background() / noise).round() / 1e6
        };
        assert!((0.003..0.02).contains(&noise), "{noise}");
        assert_eq!(after(2.0, 2.2), 2.1, "half of the difference");
        assert_eq!(after(2.0, 9.0), 2.25, "as far as it may be noise");
        assert_eq!(after(3.0, 9.0), 3.0, "three times what may be noise is all");
        assert_eq!(after(0.0, 9.0), 0.5, "nothing was known");
    }

    #[test]
    fn where_some_of_the_background_is_noise_a_moment_shows_no_queue() {
        let queue = |background: f64, only_noise: bool| {
            let mut delay = Delay { only_noise, ..noisy(background) };
            delay.standing.update(0.0, 0.02 + background + 0.005, 1.0);
            delay.mean = background + 0.001;
            delay.queue()
        };
        let noise = noisy(0.0).noise();
        assert!(
            (queue(0.5 * noise, false) - 0.001).abs() < 1e-9,
            "all may be noise, and the mean says that there is little"
        );
        assert!((queue(3.0 * noise, true) - 0.001).abs() < 1e-9, "it was found out that there is nothing else");
        assert!((queue(3.0 * noise, false) - 0.005).abs() < 1e-9, "a part may be a queue");
        assert!((queue(5.0 * noise, true) - 0.005).abs() < 1e-9, "others keep that");
    }
}
