//! When a thread gets to do what is due.

use super::HostThread;
use crate::stall::Stalling;
use fastrand::Rng;
use pcc::Time;
use std::time::Duration;

/// A thread that sleeps until a timer fires or something arrives.
#[derive(Debug)]
pub(super) struct Thread {
    slack: Duration,
    packet_time: Duration,
    stalling: Option<Stalling>,
    rng: Rng,
    busy_until: Time,
    /// When the timer fires that was set as it went to sleep.
    alarm: Option<Time>,
}

impl Thread {
    pub fn new(config: &HostThread, mut rng: Rng) -> Thread {
        Thread {
            slack: config.slack,
            packet_time: config.packet_time,
            stalling: config.stalls.clone().map(|stalls| Stalling::new(stalls, rng.fork())),
            rng,
            busy_until: Time::ZERO,
            alarm: None,
        }
    }

    /// When it runs next, or nearly so: for a timer that is set to `timer`, or for what came at `came`.
    pub fn next_run(&mut self, now: Time, timer: Option<Time>, came: Option<Time>) -> Option<Time> {
        if self.alarm.is_none() {
            self.alarm = timer.map(|due| self.fires(now, due));
        }
        let due = self.alarm.into_iter().chain(came).min()?;
        let at = due.max(self.busy_until).max(now);
        let Some(stalling) = &mut self.stalling else { return Some(at) };
        stalling.advance(now);
        Some(stalling.release(at))
    }

    fn fires(&mut self, now: Time, due: Time) -> Time {
        // What is due already needs no timer.
        if due <= now || self.slack.is_zero() { due } else { due + self.slack.mul_f64(self.rng.f64()) }
    }

    /// Whether it runs now; then it does all that is due, and sets its timer anew.
    pub fn runs(&mut self, now: Time, timer: Option<Time>, came: Option<Time>) -> bool {
        let runs = self.next_run(now, timer, came).is_some_and(|at| at <= now);
        if runs {
            self.alarm = None;
        }
        runs
    }

    /// It takes packets in or sends them, which keeps it busy.
    pub fn work(&mut self, now: Time, packets: u32) {
        self.busy_until = self.busy_until.max(now) + self.packet_time * packets;
    }

    pub fn is_busy(&self, now: Time) -> bool {
        self.busy_until > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stall::{Lengths, Stalls};

    fn us(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    fn thread(config: &HostThread) -> Thread {
        Thread::new(config, Rng::with_seed(3))
    }

    #[test]
    fn a_timer_is_late_and_an_arrival_is_not() {
        let slack = Duration::from_micros(50);
        let mut thread = thread(&HostThread { slack, ..HostThread::default() });
        let fires = thread.next_run(us(0), Some(us(100)), None).unwrap();
        assert!(fires > us(100) && fires < us(150), "{fires:?}");
        assert_eq!(thread.next_run(us(90), Some(us(100)), None), Some(fires), "drawn once");
        assert!(!thread.runs(us(100), Some(us(100)), None));
        assert!(thread.runs(us(101), Some(us(100)), Some(us(101))), "an arrival wakes it");
        assert_eq!(thread.next_run(us(101), Some(us(101)), None), Some(us(101)), "no timer for what is due");
    }

    #[test]
    fn work_keeps_it_busy() {
        let mut thread = thread(&HostThread { packet_time: Duration::from_micros(10), ..HostThread::default() });
        assert!(thread.runs(us(5), None, Some(us(5))));
        thread.work(us(5), 3);
        assert!(thread.is_busy(us(34)) && !thread.is_busy(us(35)));
        assert_eq!(thread.next_run(us(6), None, Some(us(6))), Some(us(35)));
    }

    #[test]
    fn a_stall_holds_everything_up_until_its_end() {
        let stalls =
            Stalls { every: Duration::from_millis(1), length: Lengths::Uniform([Duration::from_millis(2); 2]) };
        let mut thread = thread(&HostThread { stalls: Some(stalls), ..HostThread::default() });
        let (mut ran, mut held) = (0, 0);
        for at in (0..1_000_000).step_by(100).map(us) {
            match thread.next_run(at, None, Some(at)).unwrap() {
                run if run == at => ran += 1,
                run => {
                    assert!(run.since(at) <= Duration::from_millis(2));
                    held += 1;
                }
            }
        }
        assert!((f64::from(held) / f64::from(held + ran) - 2.0 / 3.0).abs() < 0.05, "{held} held, {ran} ran");
    }
}
