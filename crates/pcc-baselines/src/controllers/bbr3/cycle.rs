//! Where a flow is in the cycle that probes for bandwidth (draft-ietf-ccwg-bbr-04, section 5.3.3).

use pcc::Time;
use std::time::Duration;

/// Round trips after which Reno would have probed, at most (5.3.3.5.2).
const MAX_RENO_ROUNDS: u64 = 63;
/// The minimum time between probes, and how much is randomly added (5.3.3.5.2).
const PROBE_WAIT: Duration = Duration::from_secs(2);
const MAX_RANDOM_WAIT: Duration = Duration::from_secs(1);
/// Doublings of the growth of the in-flight bound in one probe (5.3.3.6).
const MAX_UP_ROUNDS: u32 = 30;

/// What the acknowledgements that come in belong to (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The wait between probes, and how fast one grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// Round trips since the last probe.
    pub rounds: u64,
    /// When the flow went down, and how long it waits until it probes again.
    since: Time,
    wait: Duration,
    pub acks: AckPhase,
    /// Whether losses are of packets that probed, and haven't been answered.
    pub samples: bool,
    up_rounds: u32,
    up_acked: u64,
    /// Bytes acknowledged for each packet that the in-flight bound grows by.
    up_interval: Option<u64>,
}

impl Cycle {
    /// Goes down at `now` and picks when to probe again (`BBRPickProbeWait`).
    pub fn start_down(&mut self, now: Time, rng: &mut fastrand::Rng) {
        let extra = MAX_RANDOM_WAIT.mul_f64(rng.f64());
        self.rounds = rng.u64(0..=1);
        self.wait = PROBE_WAIT + extra;
        self.since = now;
        self.up_interval = None;
        self.stop();
    }

    /// Acknowledgements from now on aren't of a probe.
    pub fn stop(&mut self) {
        self.acks = AckPhase::ProbeStopping;
    }

    /// Fills the pipe before a probe.
    pub fn start_refill(&mut self) {
        (self.up_rounds, self.up_acked) = (0, 0);
        self.acks = AckPhase::Refilling;
    }

    /// Probes with a window of `window` bytes and packets of `mtu`.
    pub fn start_up(&mut self, window: u64, mtu: u64) {
        self.acks = AckPhase::ProbeStarting;
        self.samples = true;
        self.raise_slope(window, mtu);
    }

    /// 5.3.3.5.3: after two to three seconds, or when Reno, with `packets` in flight, would have lost one.
    pub fn is_time_to_probe(&self, now: Time, packets: u64) -> bool {
        now.since(self.since) > self.wait || self.rounds >= packets.min(MAX_RENO_ROUNDS)
    }

    /// `BBRRaiseInflightLongtermSlope`: 1, 2, 4, 8 ... packets a round trip.
    pub fn raise_slope(&mut self, window: u64, mtu: u64) {
        self.up_interval = Some((window >> self.up_rounds).max(mtu));
        self.up_rounds = (self.up_rounds + 1).min(MAX_UP_ROUNDS);
    }

    /// Packets that the in-flight bound grows by when `acked` bytes more were acknowledged.
    pub fn growth(&mut self, acked: u64) -> u64 {
        self.up_acked = self.up_acked.saturating_add(acked);
        let Some(interval) = self.up_interval else { return 0 };
        let packets = self.up_acked / interval;
        self.up_acked %= interval;
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_grows_by_twice_as_many_packets_each_round_trip() {
        let mut cycle = Cycle::default();
        cycle.start_refill();
        cycle.start_up(100_000, 1000);
        let mut round = || {
            let packets = cycle.growth(100_000);
            cycle.raise_slope(100_000, 1000);
            packets
        };
        assert_eq!([round(), round(), round(), round()], [1, 2, 4, 8]);
    }
}
