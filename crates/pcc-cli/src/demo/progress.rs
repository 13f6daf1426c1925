//! Live progress on standard error.

use super::outcome::{Outcome, ratio};
use crate::progress::{self, Look};
use pcc::Rate;
use pcc_lab::virtual_quic::BulkProgress;
use std::collections::VecDeque;
use std::time::Duration;

/// The rate shown is the mean over this long.
const WINDOW: Duration = Duration::from_secs(1);

/// How often a line is printed where there is no terminal to draw on.
const LINE_EVERY: Duration = Duration::from_secs(10);

const LOOK: Look = Look { template: "{prefix:<16} {bar:24.cyan/black.dim} {elapsed:>3}  {msg}", chars: "━╸ " };

/// The progress of one run.
pub struct Progress {
    label: String,
    shown: progress::Progress,
    recent: VecDeque<BulkProgress>,
}

impl Progress {
    /// Begins to show a run that takes `duration`.
    pub fn start(label: String, duration: Duration) -> Progress {
        let shown = progress::Progress::new(&LOOK, duration.as_millis() as u64, LINE_EVERY).with_prefix(&label);
        shown.show(0, "connecting", || format!("{label:<16} connecting"));
        Progress { label, shown, recent: VecDeque::new() }
    }

    /// Shows where the run is.
    pub fn show(&mut self, sample: &BulkProgress) {
        self.recent.push_back(*sample);
        while self.recent.get(1).is_some_and(|second| sample.at.saturating_sub(second.at) >= WINDOW) {
            self.recent.pop_front();
        }
        let message = self.message(sample);
        let line = || format!("{:<16} {:>4.0} s  {message}", self.label, sample.at.as_secs_f64());
        self.shown.show(sample.at.as_millis() as u64, &message, line);
    }

    /// Leaves a line with the result.
    pub fn finish(self, outcome: &Outcome) {
        let moved = outcome.samples.last().map_or(0, |sample| sample.received);
        let result = format!("{} goodput, {:.1} MB moved", outcome.goodput, moved as f64 * 1e-6);
        self.shown.finish(&result, || format!("{:<16}   done  {result}", self.label));
    }

    fn message(&self, sample: &BulkProgress) -> String {
        let first = self.recent.front().unwrap_or(sample);
        let rate =
            Rate::from_bytes_over(sample.received.saturating_sub(first.received), sample.at.saturating_sub(first.at));
        let rtt = sample.rtt.as_secs_f64() * 1e3;
        let lost = ratio(sample.lost, sample.sent) * 100.0;
        format!("{:>11}  RTT {rtt:>4.0} ms  loss {lost:>4.1} %", rate.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_is_valid() {
        assert!(LOOK.is_valid());
    }

    #[test]
    fn the_rate_is_that_of_the_last_second() {
        let mut progress = Progress::start(String::new(), Duration::from_secs(3));
        for tenth in 1..=30u32 {
            let at = Duration::from_millis(100) * tenth;
            // 8 Mbit/s, then 16 Mbit/s after two seconds.
            let received = u64::from(tenth) * 100_000 + u64::from(tenth.saturating_sub(20)) * 100_000;
            progress.show(&BulkProgress { at, received, rtt: Duration::from_millis(812), sent: 1000, lost: 8 });
        }
        let last = *progress.recent.back().expect("samples");
        assert_eq!(progress.message(&last), "16.0 Mbit/s  RTT  812 ms  loss  0.8 %");
    }
}
