//! What came of one controller on the path.

use super::endpoint::SenderReport;
use super::path::Path;
use pcc::Rate;
use pcc_emulator::relay::RelayReport;
use pcc_lab::link::Counters;
use pcc_lab::virtual_quic::BulkProgress;
use pcc_quic::Algorithm;
use std::time::Duration;

/// A run that has been done.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The congestion controller.
    pub algorithm: Algorithm,
    /// The seed of this run.
    pub seed: u64,
    /// Data that arrived over time that passed, from the first packet of the handshake on.
    pub goodput: Rate,
    /// The goodput as a share of [`Path::goodput_limit`].
    pub share: f64,
    /// The share of packets that the path lost or dropped.
    pub lost: f64,
    /// Mean of the sampled round trip times.
    pub rtt_mean: Duration,
    /// 95 % of the sampled round trip times are at most this long.
    pub rtt_p95: Duration,
    /// What became of the packets on the way to the receiver.
    pub forward: Counters,
    /// The progress, sample by sample.
    pub samples: Vec<BulkProgress>,
    /// How this machine fared, if the run was in real time.
    pub machine: Option<Machine>,
}

/// How this machine fared in a run in real time.
#[derive(Clone, Debug)]
pub struct Machine {
    /// How the sender's thread fared.
    pub sender: SenderReport,
    /// Processor time of the receiver.
    pub receiver_cpu: Duration,
    /// The counts of the relay.
    pub relay: RelayReport,
}

impl Outcome {
    /// What a run over `path` comes to.
    pub fn new(algorithm: Algorithm, seed: u64, path: &Path, forward: Counters, samples: Vec<BulkProgress>) -> Outcome {
        let end = samples.last().copied().unwrap_or_default();
        let goodput = Rate::from_bytes_over(end.received, end.at);
        let (rtt_mean, rtt_p95) = mean_and_p95(samples.iter().filter(|s| !s.rtt.is_zero()).map(|s| s.rtt).collect());
        Outcome {
            algorithm,
            seed,
            goodput,
            share: goodput / path.goodput_limit(),
            lost: ratio(forward.lost + forward.dropped, forward.enqueued),
            rtt_mean,
            rtt_p95,
            forward,
            samples,
            machine: None,
        }
    }
}

/// `part / whole`, and zero of nothing.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn mean_and_p95(mut all: Vec<Duration>) -> (Duration, Duration) {
    all.sort_unstable();
    let sum: Duration = all.iter().sum();
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let mean = sum.checked_div(count).unwrap_or_default();
    let p95 = (all.len() * 95).div_ceil(100).checked_sub(1).and_then(|at| all.get(at)).copied();
    (mean, p95.unwrap_or_default())
}

/// Goodput over time in steps of `step`: at the middle of each step in seconds, in Mbit/s. The last step ends with the samples.
pub fn goodput_series(samples: &[BulkProgress], step: Duration) -> Vec<(f64, f64)> {
    let end = samples.last().map_or(0.0, |s| s.at.as_secs_f64());
    let step = step.as_secs_f64();
    let mut next = 0;
    // Samples don't come at the very ends of steps: between two of them, data counts as having come evenly.
    let mut received_at = |at: f64| {
        while samples.get(next + 2).is_some() && samples[next + 1].at.as_secs_f64() < at {
            next += 1;
        }
        let (Some(a), Some(b)) = (samples.get(next), samples.get(next + 1)) else { return 0.0 };
        let (from, to) = (a.at.as_secs_f64(), b.at.as_secs_f64());
        let part = if to > from { ((at - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
        a.received as f64 + (b.received as f64 - a.received as f64) * part
    };
    let (mut from, mut before) = (0.0, 0.0);
    // A last step of less than half the length would say more about chance than about goodput.
    (1..=(end / step).round() as usize)
        .map(|i| {
            let to = (i as f64 * step).min(end);
            let received = received_at(to);
            let point = ((from + to) / 2.0, (received - before) * 8e-6 / (to - from));
            (from, before) = (to, received);
            point
        })
        .collect()
}

/// Of several runs of one controller the one with the median goodput; of an even number the lower of the two in the middle.
pub fn median_run<'a>(runs: impl Iterator<Item = &'a Outcome>) -> Option<&'a Outcome> {
    let mut runs: Vec<_> = runs.collect();
    runs.sort_by(|a, b| a.goodput.bits_per_sec().total_cmp(&b.goodput.bits_per_sec()));
    runs.get(runs.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
impl Outcome {
    /// A run in virtual time at a constant rate.
    pub fn example(algorithm: Algorithm, mbps: f64) -> Outcome {
        let samples = (0..=100u32).map(|i| {
            let at = Duration::from_millis(100) * i;
            let rtt = Duration::from_millis(800);
            BulkProgress { at, received: Rate::from_mbps(mbps).bytes_in(at), rtt, ..BulkProgress::default() }
        });
        Outcome {
            algorithm,
            seed: 1,
            goodput: Rate::from_mbps(mbps),
            share: mbps / 40.0,
            lost: 0.0074,
            rtt_mean: Duration::from_millis(800),
            rtt_p95: Duration::from_millis(900),
            forward: Counters::default(),
            samples: samples.collect(),
            machine: None,
        }
    }
}

#[cfg(test)]
impl Machine {
    /// One that took a second for everything.
    pub fn example() -> Machine {
        let (cpu, lateness) = (Duration::from_secs(1), pcc_emulator::relay::Lateness::default());
        let relay = RelayReport {
            forward: Counters::default(),
            reverse: Counters::default(),
            lateness,
            missed: 0,
            unsent: 0,
            cpu,
        };
        Machine { sender: SenderReport { cpu, lateness }, receiver_cpu: cpu, relay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, received: u64) -> BulkProgress {
        BulkProgress { at: Duration::from_millis(ms), received, ..BulkProgress::default() }
    }

    #[test]
    fn series_shares_data_out_between_steps() {
        // 8 Mbit/s from 500 ms on, with samples beside the ends of steps.
        let samples =
            [sample(0, 0), sample(500, 0), sample(900, 400_000), sample(1300, 800_000), sample(1990, 1_490_000)];
        let series = goodput_series(&samples, Duration::from_millis(500));
        let expected = [(0.25, 0.0), (0.75, 8.0), (1.25, 8.0), (1.745, 8.0)];
        assert_eq!(series.len(), expected.len());
        for ((at, mbps), (expected_at, expected_mbps)) in series.into_iter().zip(expected) {
            assert!((at - expected_at).abs() < 1e-9 && (mbps - expected_mbps).abs() < 1e-6, "{mbps} at {at}");
        }
        assert!(goodput_series(&[], Duration::from_millis(500)).is_empty());
        assert!(goodput_series(&[sample(0, 0)], Duration::from_millis(500)).is_empty());
    }

    #[test]
    fn percentile_by_rank() {
        let ms = Duration::from_millis;
        assert_eq!(mean_and_p95(Vec::new()), (Duration::ZERO, Duration::ZERO));
        assert_eq!(mean_and_p95(vec![ms(7)]), (ms(7), ms(7)));
        assert_eq!(mean_and_p95((1..=99).rev().map(ms).collect()), (ms(50), ms(95)));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_lower() {
        let median = |mbps: &[f64]| {
            let runs: Vec<Outcome> = mbps.iter().map(|mbps| Outcome::example(Algorithm::Cubic, *mbps)).collect();
            median_run(runs.iter()).map(|run| run.goodput.mbps().round())
        };
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[3.0, 1.0, 2.0, 4.0]), Some(2.0));
    }
}
