//! Start-up: the window doubles each round trip until a queue tells that the path is full.

use super::config::StartConfig;
use super::rounds::Round;

/// Round trips in which nothing ends start-up: too few packets tell of loss or growth.
const FIRST_ROUNDS: u32 = 3;
/// A delivery rate that grew by this is no sign of a full path.
const GROWS: f64 = 1.25;
/// Round trips without such growth that end start-up.
const FLAT_ROUNDS: u32 = 3;
/// When a queue is seen, the window is held for so many round trips; if the delivery rate didn't grow enough meanwhile, the path is full.
const HOLD_ROUNDS: u32 = 2;
/// A delivery rate that grew by this followed the window: the path isn't full, and what stands is noise.
const FOLLOWS: f64 = 1.8;
/// A queue of a round trip over this number of base round trips, or of this many seconds and packet times, is one.
const QUEUE_PART: f64 = 32.0;
const QUEUE_SECONDS: f64 = 0.001;
const QUEUE_PACKETS: f64 = 6.0;
/// Noise of more than this part of the base round trip may look like one. Less than that may be the bursts of other flows.
const NOISY: f64 = 0.3;
/// So many times what stood while the delivery rate followed the window is no queue of ours at the end of a round trip, and between two.
const NO_QUEUE: f64 = 1.5;
const NOT_LONG: f64 = 2.0;
/// With fewer packets than this, a long queue of which this part may be noise ends start-up only at the end of a round trip, when delivery tells.
const FEW_PACKETS: f64 = 128.0;
const IN_DOUBT: f64 = 0.35;

/// A delay that rises at once by this part of the base round-trip time is a pause of the path, or a longer path: for so many round trips nothing is
/// told from it, and the window is held. A path that pauses more often is taken as it is.
const PAUSE_PART: f64 = 0.25;
const PAUSE_ROUNDS: u32 = 2;
const PAUSES: u32 = 3;

/// On a path of so many seconds a queue of this part of a long one ends it at once, if there was none until the last two round trips: what overshoots
/// takes long to go away. On a shorter one some other flow's queue may be part of the round trip.
pub(super) const LONG_PATH: f64 = 0.2;
const EARLY: f64 = 0.25;

/// More loss than this ends it whatever the delay says. Without a queue it has to be more by this many standard deviations: of a few packets as much may
/// be lost by chance.
const HEAVY_LOSS: f64 = 0.3;
const BY_CHANCE: f64 = 2.0;
/// Loss beyond that of the round trip before by this much, with a queue, ends it at once, too.
const NEW_LOSS: f64 = 0.05;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes on; whether the window grows meanwhile says [`Start::grows`].
    Go,
    /// It goes on, and what stands is no queue.
    Noise,
    /// The path is full.
    Leave,
}

/// What is seen of the path; times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// What stands in the queue.
    pub queue: f64,
    /// The round-trip time of the empty path.
    pub base: f64,
    /// What of the queue may be noise.
    pub noise: f64,
    /// The time of a packet at the rate of the path.
    pub packet_time: f64,
}

/// The window is held.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// For this many more round trips.
    rounds: u32,
    /// The delivery rate when that began, in bytes/s, from which it has to grow; none for a window that is only tried.
    before: Option<f64>,
}

/// The state of start-up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    config: StartConfig,
    rounds: u32,
    /// The largest delivery rate so far.
    best: f64,
    flat: u32,
    /// Whether the window is held now.
    hold: Option<Hold>,
    /// Round trips for which a pause of the path still holds the window, and how many pauses there were.
    paused: u32,
    pauses: u32,
    lost: bool,
    /// The loss of the round trip before.
    loss: f64,
    /// The longest queue of round trips in which the delivery rate followed the window: noise, or the queue of others.
    noise: f64,
    /// The largest delivery rate before there was a queue.
    best_without_queue: f64,
    /// Whether there was a queue in this round trip, in the one before, and in any before that.
    queued: bool,
    queued_before: bool,
    queued_earlier: bool,
    /// What a queue is in a later start-up, in seconds.
    grown: Option<f64>,
    /// Packets that initial windows of others have brought in this round trip, and in the one before.
    brought: f64,
    brought_before: f64,
    /// The window that filled the path before a pause, in packets.
    before_pause: Option<f64>,
}

impl Start {
    /// The first one.
    pub fn new(config: StartConfig) -> Start {
        Start { config, ..Start::default() }
    }

    /// A start-up from a delivery rate of `rate` bytes/s, in which a queue of `grown` seconds is one, and no delay is taken for noise.
    pub fn again(config: StartConfig, rate: f64, grown: f64) -> Start {
        Start {
            rounds: FIRST_ROUNDS,
            best: rate,
            best_without_queue: rate,
            // Loss may be the path's.
            lost: true,
            grown: Some(grown),
            ..Start::new(config)
        }
    }

    /// A start-up after a pause, which the window that filled the path before ends.
    pub fn after_pause(config: StartConfig, window: f64) -> Start {
        Start { before_pause: Some(window), ..Start::new(config) }
    }

    /// The window that filled the path before a pause, if it is one after a pause.
    pub fn before_pause(&self) -> Option<f64> {
        self.before_pause
    }

    /// As [`again`](Start::again), but the window is held for a round trip, and what that delivers is all that counts.
    pub fn trial(config: StartConfig, grown: f64) -> Start {
        Start { hold: Some(Hold { rounds: 1, before: None }), ..Start::again(config, 0.0, grown) }
    }

    /// Whether it only tries a window.
    pub fn is_trial(&self) -> bool {
        self.hold.is_some_and(|hold| hold.before.is_none())
    }

    /// The largest delivery rate before there was a queue, in bytes/s.
    pub fn best_without_queue(&self) -> f64 {
        self.best_without_queue
    }

    /// Whether it is the first one on a path with a long round trip, of `base` seconds, that had no queue until the last two round trips filled it.
    pub fn fills_long_path(&self, base: f64) -> bool {
        self.grown.is_none() && base > LONG_PATH && !self.queued_earlier
    }

    /// Whether `queue` seconds are one.
    fn is_queue(&self, queue: f64, seen: &Seen) -> bool {
        let least = (seen.base / QUEUE_PART).max(QUEUE_SECONDS).max(QUEUE_PACKETS * seen.packet_time);
        queue > self.grown.unwrap_or(least)
    }

    /// The queue without what isn't ours: so many times what stood while the delivery rate followed the window; and noise that may look like a long
    /// queue.
    fn own_queue(&self, times: f64, seen: &Seen) -> f64 {
        let noise = if self.grown.is_none() && seen.noise > NOISY * seen.base { seen.noise } else { 0.0 };
        seen.queue - noise.max(times * self.noise)
    }

    /// Initial windows of others have brought so many packets.
    pub fn bring(&mut self, packets: f64) {
        self.brought += packets;
    }

    /// A round trip has passed, in which the window was used or not. Returns how many of the packets that were brought before it go again.
    pub fn unused(&mut self, used: bool) -> f64 {
        let before = core::mem::replace(&mut self.brought_before, core::mem::take(&mut self.brought));
        if used { 0.0 } else { before }
    }

    /// Whether the window grows now.
    pub fn grows(&self) -> bool {
        self.hold.is_none() && self.paused == 0
    }

    /// The delay rose at once by so many seconds in this round trip, with a base round-trip time of `base` seconds.
    pub fn on_rise(&mut self, rise: f64, base: f64) {
        if rise > PAUSE_PART * base && self.paused == 0 && self.pauses < PAUSES {
            (self.paused, self.pauses) = (PAUSE_ROUNDS, self.pauses + 1);
        }
    }

    /// Between round trips only a long queue ends start-up, or a queue with much more loss than in the round trip before. The window has `packets`,
    /// and the part `loss` of those of this round trip was lost.
    pub fn on_batch(&mut self, packets: f64, seen: &Seen, loss: f64) -> Verdict {
        self.queued |= self.is_queue(seen.queue, seen);
        if self.before_pause.is_some_and(|window| packets >= window) {
            return Verdict::Leave;
        }
        if self.paused > 0 {
            return Verdict::Go;
        }
        let in_doubt = self.grown.is_none() && packets < FEW_PACKETS && seen.noise > IN_DOUBT * seen.queue;
        let queue = self.own_queue(NOT_LONG, seen);
        let part = self.config.long_queue * if self.fills_long_path(seen.base) { EARLY } else { 1.0 };
        let is_queue = self.is_queue(queue, seen);
        let long = !in_doubt && queue > seen.base * part && is_queue;
        let queued = loss > self.loss + NEW_LOSS && is_queue;
        if (long || queued) && self.rounds >= FIRST_ROUNDS { Verdict::Leave } else { Verdict::Go }
    }

    /// Whether too much of a round trip was lost.
    fn is_heavy(&self, round: &Round, seen: &Seen) -> bool {
        let queued = seen.queue > seen.packet_time || self.queued_before || self.queued_earlier;
        let deviation = libm::sqrt(HEAVY_LOSS * (1.0 - HEAVY_LOSS) / f64::from(round.packets().max(1)));
        round.loss() > HEAVY_LOSS + if queued { 0.0 } else { BY_CHANCE * deviation }
    }

    /// A round trip has passed; `used` if the window was.
    pub fn on_round(&mut self, round: &Round, seen: &Seen, used: bool) -> Verdict {
        self.rounds = self.rounds.saturating_add(1);
        self.queued_earlier |= self.queued_before;
        self.queued_before = core::mem::take(&mut self.queued);
        if self.paused > 0 {
            self.paused -= 1;
            return Verdict::Go;
        }
        let grew = round.rate > self.best * GROWS;
        let new_loss = round.lost > 0 && !self.lost;
        self.lost = round.lost > 0;
        self.loss = round.loss();
        if !used {
            let heavy = self.rounds > FIRST_ROUNDS && self.is_heavy(round, seen);
            return if heavy { Verdict::Leave } else { Verdict::Go };
        }
        let queued = self.is_queue(self.own_queue(NO_QUEUE, seen), seen);
        let sent_before_trial = self.is_trial() && self.hold.is_some_and(|hold| hold.rounds > 0);
        if !queued && !sent_before_trial {
            self.best_without_queue = self.best_without_queue.max(round.rate);
        }
        let follows = self.grown.is_none() && self.rounds > 2 && round.rate > self.best * FOLLOWS;
        if follows {
            self.noise = self.noise.max(seen.queue.min(seen.noise));
        }
        self.best = self.best.max(round.rate);
        if let Some(hold) = self.hold {
            if hold.rounds > 0 {
                self.hold = Some(Hold { rounds: hold.rounds - 1, ..hold });
                return Verdict::Go;
            }
            self.hold = None;
            let goes_on = hold.before.is_some_and(|before| self.best >= before * self.config.grows);
            return if goes_on { Verdict::Go } else { Verdict::Leave };
        }
        self.flat = if grew { 0 } else { self.flat.saturating_add(1) };
        if follows {
            return Verdict::Noise;
        }
        if self.rounds <= FIRST_ROUNDS {
            return Verdict::Go;
        }
        if self.flat >= FLAT_ROUNDS || self.is_heavy(round, seen) || (!grew && (queued || new_loss)) {
            return Verdict::Leave;
        }
        if queued {
            self.hold = Some(Hold { rounds: HOLD_ROUNDS - 1, before: Some(round.rate) });
        }
        Verdict::Go
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: f64 = 0.1;

    /// A queue of so many seconds.
    fn seen(queue: f64) -> Seen {
        Seen { queue, base: BASE, noise: 0.0, packet_time: 0.0001 }
    }

    /// A start-up that has had this many round trips with twice as many packets in each.
    fn after(rounds: u32) -> Start {
        let mut start = Start::new(StartConfig::default());
        for number in 0..rounds {
            assert_ne!(of_round(&mut start, 10 << number, 0, true), Verdict::Leave);
        }
        start
    }

    /// A round trip without a queue.
    fn of_round(start: &mut Start, acked: u32, lost: u32, used: bool) -> Verdict {
        let round = Round { rate: 12_000.0 * f64::from(acked), lost, acked, in_flight: 12_000 };
        start.on_round(&round, &seen(0.0), used)
    }

    #[test]
    fn of_a_few_packets_much_may_be_lost_by_chance() {
        let leaves = |acked, lost, queue: f64| {
            let mut start = after(4);
            let round = Round { rate: 12_000.0 * 120.0, lost, acked, in_flight: 12_000 };
            start.on_round(&round, &seen(queue), true) == Verdict::Leave
        };
        let stands = 2.0 * seen(0.0).packet_time;
        assert_eq!([0.0, stands].map(|queue| leaves(100, 50, queue)), [false, true], "a third");
        assert!(leaves(100, 70, 0.0) && leaves(1000, 500, 0.0));
    }

    #[test]
    fn a_trial_holds_the_window_for_a_round_trip() {
        let mut start = Start::trial(StartConfig::default(), 0.004);
        assert!(start.is_trial() && !start.grows());
        assert_eq!(of_round(&mut start, 5, 0, true), Verdict::Go, "these were sent before it");
        assert_eq!(of_round(&mut start, 3, 0, true), Verdict::Leave, "whatever is delivered");
        assert_eq!(start.best_without_queue(), 36_000.0);
    }

    #[test]
    fn after_a_pause_the_window_of_before_ends_it() {
        let mut start = Start::after_pause(StartConfig::default(), 200.0);
        let mut grows_to = |packets| start.on_batch(packets, &seen(0.0), 0.0);
        assert_eq!([100.0, 199.0, 200.0].map(&mut grows_to), [Verdict::Go, Verdict::Go, Verdict::Leave]);
    }

    #[test]
    fn a_pause_of_the_path_holds_the_window_and_no_more() {
        let long = |start: &mut Start| start.on_batch(320.0, &seen(0.05), 0.0);
        let mut start = after(5);
        assert_eq!(long(&mut start), Verdict::Leave, "a queue that grew");
        for _ in 0..PAUSES {
            start.on_rise(0.05, BASE);
            for _ in 0..PAUSE_ROUNDS {
                assert_eq!((long(&mut start), start.grows()), (Verdict::Go, false));
                assert_eq!(of_round(&mut start, 160, 0, true), Verdict::Go);
            }
            assert!(start.grows());
        }
        start.on_rise(0.05, BASE);
        assert_eq!(long(&mut start), Verdict::Leave, "it pauses too often");
    }

    #[test]
    fn with_few_packets_a_delay_that_may_be_noise_waits_for_what_is_delivered() {
        let noisy = |noise| Seen { noise, ..seen(0.05) };
        let leaves = |packets, noise| after(5).on_batch(packets, &noisy(noise), 0.0) == Verdict::Leave;
        assert!(leaves(40.0, 0.01), "too little of it may be noise");
        assert!(!leaves(40.0, 0.025));
        assert!(leaves(400.0, 0.025), "many packets");
        let mut later = Start { rounds: 5, ..Start::again(StartConfig::default(), 1e6, 0.01) };
        assert_eq!(later.on_batch(40.0, &noisy(0.025), 0.0), Verdict::Leave, "a probe knows the noise");
    }

    #[test]
    fn on_a_long_path_a_short_queue_ends_it_if_it_is_the_first() {
        let short = |start: &mut Start, base| start.on_batch(320.0, &Seen { base, ..seen(base / 12.0) }, 0.0);
        assert_eq!(short(&mut after(5), BASE), Verdict::Go, "a shorter path");
        let long = 2.5 * BASE;
        assert_eq!(short(&mut after(5), long), Verdict::Leave);
        let mut start = after(3);
        assert_eq!(short(&mut start, BASE), Verdict::Go);
        for (rounds, fills) in [(1, true), (2, false), (9, false)] {
            while start.rounds < 3 + rounds {
                of_round(&mut start, 160, 0, true);
            }
            assert_eq!(start.fills_long_path(long), fills, "a queue {rounds} round trips before");
        }
    }

    #[test]
    fn heavy_loss_ends_it_though_the_window_isnt_used() {
        assert_eq!(of_round(&mut after(5), 300, 20, false), Verdict::Go);
        assert_eq!(of_round(&mut after(5), 200, 120, false), Verdict::Leave);
    }
}
