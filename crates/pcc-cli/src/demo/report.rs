//! The results, for people and for programs.

use super::experiment::{Outcome, doubt, goodput_series, median_run};
use super::path::{MTU, Path, packet_bytes, payload_bytes, payload_share};
use pcc_quic::Algorithm;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// Everything that was done.
pub struct Report<'a> {
    /// The path.
    pub path: &'a Path,
    /// The controllers, in the order asked for.
    pub controllers: &'a [Algorithm],
    /// How long each run was.
    pub duration: Duration,
    /// The seed of the first run.
    pub seed: u64,
    /// All runs, as they were done.
    pub outcomes: &'a [Outcome],
}

impl<'a> Report<'a> {
    /// The runs of one controller.
    pub fn runs_of(&self, algorithm: Algorithm) -> impl Iterator<Item = &'a Outcome> {
        self.outcomes.iter().filter(move |outcome| outcome.algorithm == algorithm)
    }

    /// The median run of each controller.
    pub fn medians(&self) -> Vec<&'a Outcome> {
        self.controllers.iter().filter_map(|algorithm| median_run(self.runs_of(*algorithm))).collect()
    }

    /// The length of a step in time series: about a hundred steps.
    pub fn step(&self) -> Duration {
        (self.duration / 100).clamp(Duration::from_millis(100), Duration::from_millis(500))
    }

    /// What a person wants to read.
    pub fn table(&self) -> String {
        let path = self.path;
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "\nGoodput can't be expected to exceed {}: {} x (1 - loss) x {}/{} (data in a packet of {} bytes with all headers).\n",
            path.goodput_limit(),
            path.rate,
            payload_bytes(),
            packet_bytes(),
            packet_bytes(),
        );
        let _ = writeln!(
            text,
            "{:<16} {:>12} {:>9} {:>8} {:>9} {:>9} {:>11}",
            "controller", "goodput", "of limit", "lost", "RTT mean", "RTT p95", "sender CPU"
        );
        for run in self.medians() {
            let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            let _ = writeln!(
                text,
                "{:<16} {:>12} {:>9} {:>8} {:>9} {:>9} {:>11}",
                run.algorithm.name(),
                run.goodput.to_string(),
                percent(run.share),
                format!("{:.2} %", run.lost * 100.0),
                ms(run.rtt_mean),
                ms(run.rtt_p95),
                percent(run.sender_cpu.as_secs_f64() / self.duration.as_secs_f64()),
            );
        }
        let runs = self.outcomes.len() / self.controllers.len().max(1);
        if runs > 1 {
            let _ = writeln!(text, "\nEach row is the run with the median goodput of {runs}.");
        }
        if let Some(line) = self.comparison() {
            let _ = writeln!(text, "\n{line}");
        }
        text.push_str(&self.doubts());
        text
    }

    /// Which runs are not to be trusted, and why; nothing if all are.
    fn doubts(&self) -> String {
        let mut text = String::new();
        for run in self.outcomes {
            if let Some(why) = doubt(&run.relay, self.path.rtt) {
                let _ = writeln!(text, "  {}, seed {}: {why}", run.algorithm, run.seed);
            }
        }
        if text.is_empty() {
            text
        } else {
            format!(
                "\nThis machine was too busy to trust these runs (close other programs, or choose a lower --rate):\n{text}"
            )
        }
    }

    /// How the first controller compares with the others.
    fn comparison(&self) -> Option<String> {
        let medians = self.medians();
        let (first, others) = medians.split_first()?;
        let times: Vec<String> = others
            .iter()
            .filter(|other| !other.goodput.is_zero())
            .map(|other| format!("{:.1} times as much as {}", first.goodput / other.goodput, other.algorithm))
            .collect();
        (!times.is_empty()).then(|| format!("{} moved {}.", first.algorithm, times.join(" and ")))
    }

    /// What a program wants to read. Rates are in Mbit/s (10^6 bit/s), times in seconds, sizes in bytes, shares of one.
    pub fn json(&self, chart: &std::path::Path) -> Value {
        let path = self.path;
        json!({
            "path": {
                "name": path.name,
                "rate_mbps": path.rate.mbps(),
                "rtt_s": path.rtt.as_secs_f64(),
                "loss": path.loss,
                "queue_bytes": path.queue,
            },
            "mtu_bytes": MTU,
            "packet_bytes": packet_bytes(),
            "payload_share": payload_share(),
            "goodput_limit_mbps": path.goodput_limit().mbps(),
            "duration_s": self.duration.as_secs_f64(),
            "seed": self.seed,
            "medians": self.medians().into_iter().map(summary).collect::<Vec<_>>(),
            "runs": self.outcomes.iter().map(|run| self.run(run)).collect::<Vec<_>>(),
            "chart": chart,
        })
    }

    fn run(&self, run: &Outcome) -> Value {
        let last = run.samples.last().copied().unwrap_or_default();
        let lateness = run.relay.lateness;
        let forward = run.relay.forward;
        let mut value = summary(run);
        value["sender_cpu_s"] = run.sender_cpu.as_secs_f64().into();
        value["receiver_cpu_s"] = run.receiver_cpu.as_secs_f64().into();
        value["received_bytes"] = last.received.into();
        value["elapsed_s"] = last.at.as_secs_f64().into();
        value["sender"] = json!({ "packets_sent": last.sent, "packets_taken_for_lost": last.lost });
        value["relay"] = json!({
            "packets": forward.enqueued,
            "lost_at_random": forward.lost,
            "dropped_by_queue": forward.dropped,
            "lateness_s": {
                "p50": lateness.p50.as_secs_f64(),
                "p99": lateness.p99.as_secs_f64(),
                "max": lateness.max.as_secs_f64(),
            },
            "missed": run.relay.missed,
            "unsent": run.relay.unsent,
            "cpu_s": run.relay.cpu.as_secs_f64(),
        });
        value["doubt"] = doubt(&run.relay, self.path.rtt).into();
        let series = goodput_series(&run.samples, self.step());
        value["goodput_over_time"] = series.into_iter().map(|(at, mbps)| json!({ "at_s": at, "mbps": mbps })).collect();
        value
    }
}

fn summary(run: &Outcome) -> Value {
    json!({
        "controller": run.algorithm.name(),
        "seed": run.seed,
        "goodput_mbps": run.goodput.mbps(),
        "share_of_limit": run.share,
        "lost": run.lost,
        "rtt_mean_s": run.rtt_mean.as_secs_f64(),
        "rtt_p95_s": run.rtt_p95.as_secs_f64(),
    })
}
