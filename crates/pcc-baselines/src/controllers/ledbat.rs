//! LEDBAT (RFC 6817): fills what others leave and keeps the queueing delay at 100 ms.
//!
//! The RFC measures one-way delays. No receiver's timestamps come here, so that it is the round-trip time above its
//! minimum, which counts queues on the way back too. Slow start, which the RFC leaves open, ends at 0.9 of the target,
//! as in libutp.

use crate::parts::window::{Ack, Rule, Window};
use pcc::Time;
use std::time::Duration;

/// The queueing delay to keep, in seconds (section 2.5: at most 100 ms).
const TARGET: f64 = 0.1;
/// Packets that a round trip without queueing delay adds (section 2.5: at most 1).
const GAIN: f64 = 1.0;
/// Samples whose minimum is the current delay (`FILTER`).
const CURRENT_FILTER: usize = 4;
/// Minutes whose minimum is the base delay (section 2.5: `BASE_HISTORY`).
const BASE_HISTORY: usize = 10;
/// The fraction of the target at which slow start ends.
const SLOW_START_END: f64 = 0.9;

/// A proportional controller of the queueing delay.
#[derive(Debug)]
pub(crate) struct Ledbat {
    /// The last samples, in seconds.
    current: [f64; CURRENT_FILTER],
    samples: usize,
    /// The minimum delay of each of the last minutes, newest first.
    base: [f64; BASE_HISTORY],
    minute_begin: Option<Time>,
}

impl Ledbat {
    pub fn new() -> Ledbat {
        Ledbat {
            current: [f64::INFINITY; CURRENT_FILTER],
            samples: 0,
            base: [f64::INFINITY; BASE_HISTORY],
            minute_begin: None,
        }
    }

    /// In seconds; there is one once there was a sample.
    fn queueing_delay(&self) -> f64 {
        minimum(&self.current) - minimum(&self.base)
    }
}

fn minimum(delays: &[f64]) -> f64 {
    delays.iter().copied().fold(f64::INFINITY, f64::min)
}

impl Rule for Ledbat {
    /// `update_base_delay` and `update_current_delay` of section 2.4.2.
    fn on_ack(&mut self, _window: &Window, ack: &Ack) {
        let begin = *self.minute_begin.get_or_insert(ack.now);
        if ack.now.since(begin) >= Duration::from_secs(60) {
            self.base.rotate_right(1);
            self.base[0] = f64::INFINITY;
            self.minute_begin = Some(ack.now);
        }
        self.base[0] = self.base[0].min(ack.rtt.latest);
        self.current[self.samples % CURRENT_FILTER] = ack.rtt.latest;
        self.samples += 1;
    }

    fn slow_start(&mut self, window: &mut Window, ack: &Ack) {
        if self.queueing_delay() > SLOW_START_END * TARGET {
            window.threshold = window.size;
        } else {
            window.slow_start(ack.packets);
        }
    }

    /// Section 2.4.2.
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        let off_target = (TARGET - self.queueing_delay()) / TARGET;
        window.size += GAIN * off_target * ack.packets / window.size;
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        size / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::{ack, ack_at};

    /// A path of 50 ms that now takes `rtt` seconds.
    fn at(rtt: f64) -> Ledbat {
        let mut ledbat = Ledbat::new();
        for rtt in [0.05, rtt, rtt, rtt, rtt] {
            ledbat.on_ack(&Window { size: 10.0, threshold: 0.0 }, &ack(1.0, rtt, false));
        }
        ledbat
    }

    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        for (rtt, gain) in [(0.05, 1.0), (0.1, 0.5), (0.15, 0.0), (0.25, -1.0)] {
            let mut window = Window { size: 100.0, threshold: 0.0 };
            at(rtt).avoid(&mut window, &ack(100.0, rtt, true));
            assert!((window.size - 100.0 - gain).abs() < 1e-9, "{} at {rtt} s", window.size);
        }
    }

    #[test]
    fn slow_start_ends_near_the_target() {
        for (rtt, goes_on) in [(0.139, true), (0.141, false)] {
            let mut window = Window { size: 10.0, threshold: f64::INFINITY };
            at(rtt).slow_start(&mut window, &ack(1.0, rtt, false));
            assert_eq!(window.in_slow_start(), goes_on);
        }
    }

    #[test]
    fn a_single_late_packet_is_filtered_and_an_old_minimum_forgotten() {
        let mut ledbat = at(0.05);
        let window = Window { size: 10.0, threshold: 0.0 };
        ledbat.on_ack(&window, &ack(1.0, 5.0, false));
        assert_eq!(ledbat.queueing_delay(), 0.0);
        for minute in 1..=10 {
            assert_eq!(minimum(&ledbat.base), 0.05, "minute {minute}");
            ledbat.on_ack(&window, &ack_at(f64::from(minute) * 60.0, 1.0, 0.08));
        }
        assert_eq!(minimum(&ledbat.base), 0.08);
    }
}
