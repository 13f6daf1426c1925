//! The inner loop: a window that moves towards a number of packets in the queue (Copa, NSDI 2018, section 2.1).

use crate::units::{larger, smaller};

/// The fewest packets that keep acknowledgements coming.
pub(super) const LEAST: f64 = 2.0;
/// Round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// Down, the window goes this part of the way in a round trip.
const DOWN: f64 = 0.1;
/// With a longer round trip it goes further in each, but takes away no more than this part of itself.
const MOST_DOWN: f64 = 0.04;
/// Up, it goes this part of the way to what was delivered before.
const UP: f64 = 0.25;
/// After so many round trips without a queue the path is wider than all that was seen of it: up, the window goes by this part of it in a round trip,
/// and by twice as much in each further one, until it doubles.
const EMPTY_ROUNDS: u32 = 4;
const EMPTY_PART: f64 = 1.0 / 64.0;
/// That is fast from this part on, and what it leads to shows within so many round trips.
const FAST_PART: f64 = 1.0 / 16.0;
const FAST_ROUNDS: u32 = 2;

/// A window that isn't used falls by this part of the difference in a round trip, and to no less than twice this many packets.
const DISUSE_GAIN: f64 = 0.125;
const FEWEST_USED: f64 = 5.0;

/// A window in packets, and how it moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub packets: f64,
    /// Packets by which it moves in a round trip.
    velocity: f64,
    up: bool,
    /// Round trips for which it has moved in one direction.
    rounds: u32,
    before: f64,
    /// Round trips that showed no queue.
    empty: u32,
    /// Round trips in which it shows that the window has grown fast.
    fast: u32,
    /// Whether it grew into the room that there was in this one.
    grew: bool,
}

/// What a step towards a target depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The packets that were acknowledged: a window of them is a round trip's step.
    pub acked: f64,
    /// Up, the window moves by at most this part of it in a round trip; down, by at most twice that.
    pub fastest: f64,
    /// The packets with which the path was full before; zero while there is a queue.
    pub known: f64,
    /// The window up to which it doubles once a round trip has shown no queue.
    pub room: f64,
    /// The round-trip time as a multiple of the one that the constants are made for. Down, the part of the way to the target in a round trip grows
    /// with its square: flows that see the same queue then give up the same part of their rate in the same time.
    pub longer: f64,
    /// Whether a lower target is to be reached in no less than a round trip.
    pub gentle: bool,
}

impl Window {
    pub fn new(packets: f64) -> Window {
        Window { packets, velocity: 1.0, up: true, rounds: 0, before: packets, empty: 0, fast: 0, grew: false }
    }

    /// Moves towards `target`.
    pub fn step(&mut self, target: f64, step: &Step) {
        let up = target >= self.packets;
        if up != self.up {
            (self.up, self.velocity, self.rounds) = (up, 1.0, 0);
        }
        let part = smaller(step.acked / self.packets, 1.0);
        if up {
            let packets = larger(self.velocity, UP * (step.known - self.packets));
            let packets = larger(smaller(packets, self.packets * step.fastest), 1.0);
            let packets = if step.known > 0.0 { larger(packets, self.without_queue(step.room)) } else { packets };
            self.packets += packets * part;
        } else {
            let (excess, longer) = (self.packets - target, step.longer);
            let of_longer = smaller(smaller(DOWN * longer * longer, 1.0) * excess, MOST_DOWN * self.packets);
            let velocity = if step.gentle { smaller(self.velocity, larger(excess, 1.0)) } else { self.velocity };
            let packets = larger(larger(velocity, DOWN * excess), of_longer);
            let packets = smaller(packets, larger(self.packets * 2.0 * step.fastest, 1.0));
            self.packets = larger(self.packets - packets * part, target);
        }
    }

    /// Whether it has just grown by so much that it may be far larger than what the path takes.
    pub fn grew_fast(&self) -> bool {
        self.fast > 0
    }

    /// By how many packets the window grows in a round trip since the queue has been empty for some, or at once up to the `room` there is.
    fn without_queue(&mut self, room: f64) -> f64 {
        let at_once = if self.empty > 0 { smaller(self.packets, room - self.packets) } else { 0.0 };
        self.grew |= at_once > FAST_PART * self.packets;
        larger(at_once, self.packets * self.part_of_empty())
    }

    /// The part of itself by which the window grows in a round trip since the queue has been empty for some.
    fn part_of_empty(&self) -> f64 {
        if self.empty < EMPTY_ROUNDS {
            return 0.0;
        }
        let doublings = (self.empty - EMPTY_ROUNDS).min(6);
        EMPTY_PART * f64::from(1u32 << doublings)
    }

    /// A round trip has passed, which the window filled without a queue if it was `empty`.
    pub fn on_round(&mut self, empty: bool) {
        let grew_fast = core::mem::take(&mut self.grew) || self.part_of_empty() >= FAST_PART;
        self.fast = if grew_fast { FAST_ROUNDS } else { self.fast.saturating_sub(1) };
        self.empty = if empty { self.empty.saturating_add(1) } else { 0 };
        let up = self.packets > self.before;
        self.before = self.packets;
        if up != self.up {
            (self.up, self.velocity, self.rounds) = (up, 1.0, 0);
            return;
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds >= STEADY_ROUNDS {
            self.velocity = (self.velocity * 2.0).min(self.packets);
        }
    }

    /// A round trip has used `packets` of the window only: it falls towards twice that, for what isn't used proves nothing (RFC 7661).
    pub fn disuse(&mut self, packets: f64) {
        self.packets -= DISUSE_GAIN * (self.packets - 2.0 * packets.max(FEWEST_USED)).max(0.0);
    }

    /// Jumps to another size, and begins to move slowly from there.
    pub fn jump(&mut self, packets: f64) {
        *self = Window::new(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step for so many acknowledged packets.
    fn step(acked: f64) -> Step {
        Step { acked, fastest: 0.25, known: 0.0, room: 0.0, longer: 1.0, gentle: false }
    }

    /// The window after each of so many round trips in which it is to grow, from 64,000 packets, which showed no queue if it was `empty`.
    fn grown(rounds: u32, empty: bool, known: f64) -> f64 {
        let mut window = Window::new(64_000.0);
        for _ in 0..rounds {
            let packets = window.packets;
            window.step(packets + 3.0, &Step { known, ..step(packets) });
            window.on_round(empty);
        }
        window.packets
    }

    #[test]
    fn a_queue_that_stays_empty_makes_it_grow_faster() {
        let (before, after) = (EMPTY_ROUNDS, EMPTY_ROUNDS + 7);
        assert_eq!(grown(before, true, 1.0), grown(before, false, 1.0), "not at once");
        assert!(grown(after, true, 1.0) > 3.0 * grown(after, false, 1.0));
        assert_eq!(grown(after, true, 0.0), grown(after, false, 0.0), "not while there is a queue now");
        let last = grown(after + 3, true, 1.0) / grown(after + 2, true, 1.0);
        assert!((1.9..=2.0).contains(&last), "it doubles at most: {last}");
    }

    #[test]
    fn after_a_round_trip_without_a_queue_it_doubles_up_to_the_room_there_is() {
        // The window after a round trip, and whether that was fast.
        let next = |empty: bool, known: f64, room: f64| {
            let mut window = Window { empty: u32::from(empty), ..Window::new(64.0) };
            for _ in 0..64 {
                window.step(window.packets + 3.0, &Step { known, room, ..step(1.0) });
            }
            window.on_round(empty);
            (window.packets, window.grew_fast())
        };
        let (doubled, fast) = next(true, 1.0, 1000.0);
        assert!(fast && (120.0..=128.0).contains(&doubled), "{doubled}");
        let (up_to_room, fast) = next(true, 1.0, 80.0);
        assert!(fast && (72.0..=80.0).contains(&up_to_room), "{up_to_room}");
        let as_usual = (next(true, 1.0, 0.0).0, false);
        assert!(as_usual.0 < 66.0, "{as_usual:?}");
        assert_eq!([next(true, 1.0, 60.0), next(false, 1.0, 1000.0), next(true, 0.0, 1000.0)], [as_usual; 3]);
    }

    #[test]
    fn a_gentle_window_takes_a_round_trip_to_its_target() {
        // What is left of ten packets too many after a quarter of a round trip, which a velocity of 32 packets has nearly taken away.
        let left = |gentle: bool| {
            let mut window = Window { velocity: 32.0, up: false, ..Window::new(400.0) };
            (0..100).for_each(|_| window.step(390.0, &Step { gentle, ..step(1.0) }));
            window.packets - 390.0
        };
        assert!(left(false) < 2.5, "{}", left(false));
        assert!((7.0..8.5).contains(&left(true)), "{}", left(true));
    }

    #[test]
    fn it_is_known_for_two_round_trips_that_it_grew_fast() {
        let mut window = Window::new(100.0);
        let mut pass = |empty, rounds| {
            (0..rounds).for_each(|_| window.on_round(empty));
            window.grew_fast()
        };
        assert!(!pass(true, EMPTY_ROUNDS + 2), "it grows by a 32nd");
        assert!(pass(true, 1) && pass(false, 1), "a queue shows, and ends it");
        assert!(pass(false, 1) && !pass(false, 1));
    }

    #[test]
    fn who_sees_the_same_queue_gives_up_the_same_part_of_its_rate_in_the_same_time() {
        // The part of a window of 1000 packets that is given up in a second because of a queue of so many seconds.
        let given_up = |rtt: f64, queue: f64| {
            let mut window = Window::new(1000.0);
            window.step(1000.0 * (1.0 - queue / rtt), &Step { longer: rtt / 0.04, ..step(1000.0) });
            (1000.0 - window.packets) / 1000.0 / rtt
        };
        let short = given_up(0.04, 0.002);
        for rtt in [0.08, 0.12] {
            assert!((given_up(rtt, 0.002) / short - 1.0).abs() < 1e-9, "{rtt}");
        }
        assert!(given_up(0.02, 0.002) > short, "a shorter one goes a tenth of the way all the same");
        assert!((given_up(0.2, 0.05) * 0.2 - 0.04).abs() < 1e-9, "a long queue may be that of others");
        assert!((given_up(0.2, 0.1) * 0.2 - 0.05).abs() < 1e-9, "a tenth of the way in any case");
    }
}
