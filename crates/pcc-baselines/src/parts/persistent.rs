//! Persistent congestion (RFC 9002, section 7.6), which stands for TCP's retransmission timeout.

use super::rtt::Rtt;
use pcc::Time;

/// Probe timeouts that losses must span (RFC 9002, section 7.6.1).
const PROBE_TIMEOUTS: f64 = 3.0;

/// Lost packets that followed each other, with none acknowledged between.
#[derive(Debug, Default)]
pub(crate) struct LossRun {
    /// When the first was sent, and which transmission would continue the run.
    run: Option<(Time, u64)>,
}

impl LossRun {
    /// Transmission `index`, sent at `sent`, was lost; whether the run that it belongs to is persistent congestion.
    pub fn add(&mut self, index: u64, sent: Time, rtt: &Rtt) -> bool {
        let first = self.run.filter(|(_, next)| *next == index).map_or(sent, |(first, _)| first);
        self.run = Some((first, index + 1));
        sent.since(first).as_secs_f64() > PROBE_TIMEOUTS * rtt.probe_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_an_unbroken_run_of_three_timeouts_counts() {
        let rtt = Rtt::new(Time::ZERO, Duration::from_millis(100)); // timeout 325 ms
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut losses = LossRun::default();
        assert!(!losses.add(3, at(0), &rtt));
        assert!(!losses.add(4, at(975), &rtt));
        assert!(losses.add(5, at(976), &rtt));
        assert!(!losses.add(7, at(2000), &rtt), "6 was acknowledged");
        assert!(!losses.add(8, at(2900), &rtt));
    }
}
