//! H-TCP (Leith and Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06).
//!
//! Growth isn't scaled by the round-trip time, which the draft leaves open and Linux does. Time in which nothing is
//! acknowledged for longer than a round trip doesn't count.

use crate::parts::window::{Ack, Rule, Window};
use pcc::Time;

/// Seconds after a loss in which growth is NewReno's (the draft's Delta_L).
const SLOW: f64 = 1.0;
/// The range of the fraction of the window that a loss leaves.
const MIN_BETA: f64 = 0.5;
const MAX_BETA: f64 = 0.8;
/// A relative change of the throughput between losses after which a loss halves the window (Delta_B).
const CHANGED: f64 = 0.2;

/// Additive increase that is the faster the longer ago the last loss was, and decrease that empties the queue.
#[derive(Debug)]
pub(crate) struct Htcp {
    beta: f64,
    /// Seconds since the last loss.
    elapsed: f64,
    last: Option<Time>,
    /// The maximum round-trip time since the last loss, and the minimum of all time, in seconds.
    max_rtt: f64,
    min_rtt: f64,
    /// Packets acknowledged in this round, and when it began.
    acked: f64,
    round_begin: Option<Time>,
    /// The maximum throughput of a round since the last loss and before it, in packets a second.
    throughput: f64,
    throughput_before: f64,
}

impl Htcp {
    pub fn new() -> Htcp {
        Htcp {
            beta: MIN_BETA,
            elapsed: 0.0,
            last: None,
            max_rtt: 0.0,
            min_rtt: f64::INFINITY,
            acked: 0.0,
            round_begin: None,
            throughput: 0.0,
            throughput_before: 0.0,
        }
    }

    /// Packets that a round trip adds.
    fn alpha(&self) -> f64 {
        let late = (self.elapsed - SLOW).max(0.0);
        2.0 * (1.0 - self.beta) * (1.0 + 10.0 * late + late * late / 4.0)
    }

    fn end_round(&mut self, now: Time) {
        let time = self.round_begin.map_or(0.0, |begin| now.since(begin).as_secs_f64());
        if time > 0.0 {
            self.throughput = self.throughput.max(self.acked / time);
        }
        (self.round_begin, self.acked) = (Some(now), 0.0);
    }

    /// The draft's adaptive backoff.
    fn backoff(&self) -> f64 {
        let change = (self.throughput - self.throughput_before).abs();
        if change > CHANGED * self.throughput_before {
            MIN_BETA
        } else {
            (self.min_rtt / self.max_rtt).clamp(MIN_BETA, MAX_BETA)
        }
    }
}

impl Rule for Htcp {
    fn on_ack(&mut self, _window: &Window, ack: &Ack) {
        let last = self.last.replace(ack.now).unwrap_or(ack.now);
        self.elapsed += ack.now.since(last).as_secs_f64().min(ack.rtt.smoothed);
        self.max_rtt = self.max_rtt.max(ack.rtt.latest);
        self.min_rtt = ack.rtt.min;
        self.acked += ack.packets;
        if ack.round {
            self.end_round(ack.now);
        }
    }

    /// At most as fast as slow start.
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.size += ack.packets * (self.alpha() / window.size).min(1.0);
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        self.beta = self.backoff();
        self.throughput_before = self.throughput;
        (self.throughput, self.max_rtt, self.elapsed) = (0.0, 0.0, 0.0);
        size * self.beta
    }

    fn reset(&mut self) {
        *self = Htcp::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::window::testing::{ack, ack_at};

    /// `seconds` of round trips of 100 ms after a loss, with so many packets each.
    fn rounds(htcp: &mut Htcp, from: f64, seconds: f64, packets: f64) {
        let window = Window { size: packets, threshold: 0.0 };
        for n in 0..=(seconds * 10.0).round() as u32 {
            htcp.on_ack(&window, &ack_at(from + f64::from(n) * 0.1, packets, 0.1));
        }
    }

    /// The draft's alpha(Delta) = 1 + 10 (Delta - 1) + ((Delta - 1) / 2)^2, times 2 (1 - beta).
    #[test]
    fn growth_follows_the_time_since_the_last_loss() {
        for (seconds, alpha) in [(0.5, 1.0), (1.0, 1.0), (2.0, 11.25), (5.0, 45.0), (11.0, 126.0)] {
            let mut htcp = Htcp::new();
            rounds(&mut htcp, 0.0, seconds, 100.0);
            assert!((htcp.alpha() - alpha).abs() < 1e-6, "{} after {seconds} s", htcp.alpha());
            let mut window = Window { size: 1000.0, threshold: 0.0 };
            htcp.avoid(&mut window, &ack(1000.0, 0.1, true));
            assert!((window.size - 1000.0 - alpha).abs() < 1e-6);
            htcp.beta = 0.8;
            assert!((htcp.alpha() - 0.4 * alpha).abs() < 1e-6);
        }
    }

    #[test]
    fn a_loss_leaves_what_the_path_holds_without_its_queue() {
        for (max_rtt, beta) in [(0.11, 0.8), (0.125, 0.8), (0.16, 0.625), (0.3, 0.5)] {
            let mut htcp = Htcp { throughput: 1000.0, throughput_before: 1190.0, ..Htcp::new() };
            (htcp.min_rtt, htcp.max_rtt) = (0.1, max_rtt);
            assert_eq!(htcp.after_loss(100.0), 100.0 * beta, "{max_rtt} s");
        }
    }

    #[test]
    fn a_throughput_that_changed_halves_the_window() {
        let mut htcp = Htcp::new();
        rounds(&mut htcp, 0.0, 3.0, 100.0);
        assert_eq!(htcp.after_loss(100.0), 50.0, "the first loss");
        assert!((htcp.throughput_before - 1000.0).abs() < 1e-6);
        rounds(&mut htcp, 3.1, 3.0, 110.0);
        assert_eq!(htcp.after_loss(110.0), 88.0, "a tenth more");
        rounds(&mut htcp, 6.2, 3.0, 80.0);
        assert_eq!(htcp.after_loss(80.0), 40.0, "three tenths less");
    }

    #[test]
    fn an_idle_path_is_not_one_without_losses() {
        let mut htcp = Htcp::new();
        rounds(&mut htcp, 0.0, 2.0, 100.0);
        rounds(&mut htcp, 1000.0, 0.0, 100.0);
        assert!((htcp.elapsed - 2.1).abs() < 1e-6, "{}", htcp.elapsed);
        let mut window = Window { size: 2.0, threshold: 0.0 };
        htcp.avoid(&mut window, &ack(2.0, 0.1, true));
        assert_eq!(window.size, 4.0, "at most twice the window");
    }
}
