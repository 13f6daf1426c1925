//! What this control does about what drains found out.

use super::QueueTargetControl;
use super::loss::Loss;
use super::rounds::Round;
use super::view::{Found, View};
use crate::units::Time;

impl QueueTargetControl {
    /// Takes in a round trip that had a window of `window` packets and a queue of `queue` seconds.
    pub(super) fn look_for_others(&mut self, round: &Round, window: f64, queue: f64, now: Time) {
        let standing = self.delay.standing().max(1e-6);
        let (excess, deviation) = self.competition.take_mean();
        self.delay.doubt_background(excess + deviation);
        let view = View {
            now: now.as_secs_f64(),
            rtt: self.rtt(),
            base: self.delay.base(),
            excess,
            deviation,
            background_delay: self.delay.background(),
            noise: self.delay.noise(),
            all_may_be_noise: self.delay.may_be_all_noise(self.competition.latest()),
            background_is_noise: self.config.competes && self.delay.is_noise(),
            bunched: self.delay.is_bunched(),
            rise: self.delay.take_rise() - self.delay.noise(),
            bandwidth: self.rounds.bandwidth(),
            packet_time: self.packet_time,
            window,
            unqueued: 1.0 - queue / standing,
            background_loss: self.loss.background,
            in_crowd: self.in_crowd(now),
            // Who yields gives way to noise that is shorter than a packet as well, and only a drain tells that it is noise.
            doubtful: self.loss.is_doubtful()
                || (!self.config.competes && self.delay.noise() > self.wanted * self.packet_time),
            weight: self.config.weight.get(),
        };
        let alone = self.competition.is_empty(&view) && Loss::is_large(self.window.packets);
        if !self.is_draining()
            && (self.competition.is_due(&view) || alone)
            && (self.competition.has_drained() || !view.doubtful)
            && self.begin_deep_test(now)
        {
            return;
        }
        let found = self.competition.on_round(round, &view);
        if !self.config.competes {
            // Whoever keeps the queue may have it; noise is nobody's.
            self.competition.beside_others = false;
            if let Some(remains) = found.remains() {
                self.delay.on_drain(remains);
            }
            return;
        }
        self.delay.only_noise = self.competition.only_noise;
        match found {
            Found::Nothing => {}
            Found::Drained { remains } => {
                self.delay.on_drain(remains);
                // What is lost now isn't lost in a queue, so that nothing else explains it.
                if self.is_no_queue(remains) && !Loss::is_small(window, view.in_crowd) {
                    self.begin_deep_test(now);
                }
            }
            Found::Longer { remains, bandwidth } => self.look_at_longer_path(round, remains, bandwidth, now),
            Found::Background { remains, window } => {
                self.delay.set_background(remains);
                if window > self.window.packets {
                    self.jump(window, now);
                }
            }
            Found::Others { remains, window } => {
                self.delay.set_background(remains);
                // What was lost before was lost to them as well.
                self.loss.cap = f64::INFINITY;
                self.jump(window.max(self.window.packets), now);
                self.competition.more = self.window.packets * self.queue() / standing;
            }
            Found::Loss { left } => self.jump(left * self.window.packets, now),
        }
    }
}
