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
/// With fewer packets than this, a long queue of which this part may be noise ends start-up only at the end of a round trip, when delivery tells.
const FEW: f64 = 128.0;
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

/// More loss than this ends it whatever the delay says.
const HEAVY_LOSS: f64 = 0.3;
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

/// The state of start-up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    config: StartConfig,
    rounds: u32,
    /// The largest delivery rate so far.
    best: f64,
    flat: u32,
    /// Round trips for which the window is still held, and the delivery rate when that began; no rate is enough for a window that is only tried.
    hold: Option<(u32, f64)>,
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
    /// Whether there was a queue in this round trip, in the one before, and before that.
    queued: (bool, bool, bool),
    /// What a queue is in a later start-up, in seconds.
    grown: Option<f64>,
    /// Packets that initial windows of others have brought in this round trip, and in the one before.
    brought: (f64, f64),
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
        Start { hold: Some((1, f64::INFINITY)), ..Start::again(config, 0.0, grown) }
    }

    /// Whether it only tries a window.
    pub fn is_trial(&self) -> bool {
        self.hold.is_some_and(|(_, before)| before == f64::INFINITY)
    }

    /// The largest delivery rate before there was a queue, in bytes/s.
    pub fn best_without_queue(&self) -> f64 {
        self.best_without_queue
    }

    /// Whether it is the first one on a path with a long round trip, of `base` seconds, that had no queue until the last two round trips filled it.
    pub fn fills_long_path(&self, base: f64) -> bool {
        self.grown.is_none() && base > LONG_PATH && !self.queued.2
    }

    /// Whether `queue` seconds are one, in a base round-trip time of `base` seconds with packets of `packet_time`.
    fn is_queue(&self, queue: f64, base: f64, packet_time: f64) -> bool {
        if let Some(grown) = self.grown {
            return queue > grown;
        }
        queue > (base / QUEUE_PART).max(QUEUE_SECONDS).max(QUEUE_PACKETS * packet_time)
    }

    /// What of a queue isn't ours: so many times what stood while the delivery rate followed the window; and noise that may look like a
    /// long queue.
    fn not_ours(&self, times: f64, noise: f64, base: f64) -> f64 {
        let noise = if self.grown.is_none() && noise > NOISY * base { noise } else { 0.0 };
        noise.max(times * self.noise)
    }

    /// Initial windows of others have brought so many packets.
    pub fn bring(&mut self, packets: f64) {
        self.brought.0 += packets;
    }

    /// A round trip has passed, in which the window was used or not. Returns how many of the packets that were brought before it go again.
    pub fn unused(&mut self, used: bool) -> f64 {
        let (now, before) = self.brought;
        self.brought = (0.0, now);
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

    /// Between round trips only a long queue ends start-up, or a queue with much more loss than in the round trip before. The window has
    /// `packets`; up to `noise` seconds of the queue may be noise.
    pub fn on_batch(
        &mut self,
        packets: f64,
        queue: f64,
        base: f64,
        packet_time: f64,
        loss: f64,
        noise: f64,
    ) -> Verdict {
        self.queued.0 |= self.is_queue(queue, base, packet_time);
        if self.before_pause.is_some_and(|window| packets >= window) {
            return Verdict::Leave;
        }
        if self.paused > 0 {
            return Verdict::Go;
        }
        let in_doubt = self.grown.is_none() && packets < FEW && noise > IN_DOUBT * queue;
        let queue = queue - self.not_ours(2.0, noise, base);
        let part = self.config.long_queue * if self.fills_long_path(base) { EARLY } else { 1.0 };
        let long = !in_doubt && queue > base * part && self.is_queue(queue, base, packet_time);
        let queued = loss > self.loss + NEW_LOSS && self.is_queue(queue, base, packet_time);
        if (long || queued) && self.rounds >= FIRST_ROUNDS { Verdict::Leave } else { Verdict::Go }
    }

    /// A round trip has passed; `used` if the window was. Up to `noise` seconds of the queue may be noise.
    pub fn on_round(
        &mut self,
        round: &Round,
        queue: f64,
        base: f64,
        packet_time: f64,
        used: bool,
        noise: f64,
    ) -> Verdict {
        self.rounds = self.rounds.saturating_add(1);
        let (now, last, before) = self.queued;
        self.queued = (false, now, last || before);
        if self.paused > 0 {
            self.paused -= 1;
            return Verdict::Go;
        }
        let grew = round.rate > self.best * GROWS;
        let new_loss = round.lost > 0 && !self.lost;
        self.lost = round.lost > 0;
        self.loss = round.loss();
        if !used {
            let heavy = self.rounds > FIRST_ROUNDS && self.loss > HEAVY_LOSS;
            return if heavy { Verdict::Leave } else { Verdict::Go };
        }
        let queued = self.is_queue(queue - self.not_ours(1.5, noise, base), base, packet_time);
        let sent_before_trial = self.is_trial() && self.hold.is_some_and(|(left, _)| left > 0);
        if !queued && !sent_before_trial {
            self.best_without_queue = self.best_without_queue.max(round.rate);
        }
        let follows = self.grown.is_none() && self.rounds > 2 && round.rate > self.best * FOLLOWS;
        if follows {
            self.noise = self.noise.max(queue.min(noise));
        }
        let best = self.best.max(round.rate);
        if let Some((left, before)) = self.hold {
            if left > 0 {
                self.hold = Some((left - 1, before));
                self.best = best;
                return Verdict::Go;
            }
            self.hold = None;
            self.best = best;
            return if best < before * self.config.grows { Verdict::Leave } else { Verdict::Go };
        }
        self.flat = if grew { 0 } else { self.flat.saturating_add(1) };
        self.best = best;
        if self.rounds <= FIRST_ROUNDS {
            return if follows { Verdict::Noise } else { Verdict::Go };
        }
        if follows {
            return Verdict::Noise;
        }
        if self.flat >= FLAT_ROUNDS || self.loss > HEAVY_LOSS || (!grew && (queued || new_loss)) {
            return Verdict::Leave;
        }
        if queued {
            self.hold = Some((HOLD_ROUNDS - 1, round.rate));
            return Verdict::Go;
        }
        Verdict::Go
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: f64 = 0.1;

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
        start.on_round(&round, 0.0, BASE, 0.0001, used, 0.0)
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
        let mut grows_to = |packets| start.on_batch(packets, 0.0, BASE, 0.0001, 0.0, 0.0);
        assert_eq!([100.0, 199.0, 200.0].map(&mut grows_to), [Verdict::Go, Verdict::Go, Verdict::Leave]);
    }

    #[test]
    fn a_pause_of_the_path_holds_the_window_and_no_more() {
        let long = |start: &mut Start| start.on_batch(320.0, 0.05, BASE, 0.0001, 0.0, 0.0);
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
        let leaves = |packets, noise| after(5).on_batch(packets, 0.05, BASE, 0.0001, 0.0, noise) == Verdict::Leave;
        assert!(leaves(40.0, 0.01), "too little of it may be noise");
        assert!(!leaves(40.0, 0.025));
        assert!(leaves(400.0, 0.025), "many packets");
        let mut later = Start { rounds: 5, ..Start::again(StartConfig::default(), 1e6, 0.01) };
        assert_eq!(later.on_batch(40.0, 0.05, BASE, 0.0001, 0.0, 0.025), Verdict::Leave, "a probe knows the noise");
    }

    #[test]
    fn on_a_long_path_a_short_queue_ends_it_if_it_is_the_first() {
        let short = |start: &mut Start, base| start.on_batch(320.0, base / 12.0, base, 0.0001, 0.0, 0.0);
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
