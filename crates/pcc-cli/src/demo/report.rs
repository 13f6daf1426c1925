//! The results, for people and for programs.

use super::outcome::{Outcome, goodput_series, median_run};
use super::path::{MTU, Path, packet_bytes, payload_bytes, payload_share};
use super::real_time::doubt;
use pcc_emulator::relay::Lateness;
use pcc_quic::Algorithm;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// The runs of a demo, and what they have in common.
pub struct Report<'a> {
    /// The path that the relay emulated.
    pub path: &'a Path,
    /// The controllers, in the order asked for.
    pub controllers: &'a [Algorithm],
    /// How long each run was.
    pub duration: Duration,
    /// The seed of the first run.
    pub seed: u64,
    /// Whether the runs were in real time.
    pub real_time: bool,
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
            "\nThe limit is {}, the goodput of a sender at exactly the rate of the path: {} x (1 - loss) x {}/{}\n\
             (bytes of data in a packet of {} bytes with all headers). Goodput includes connecting and starting up.\n",
            path.goodput_limit(),
            path.rate,
            payload_bytes(),
            packet_bytes(),
            packet_bytes(),
        );
        let _ = writeln!(
            text,
            "{:<16} {:>12} {:>9} {:>8} {:>9} {:>9}{}",
            "controller",
            "goodput",
            "of limit",
            "lost",
            "RTT mean",
            "RTT p95",
            if self.real_time { "  sender CPU" } else { "" }
        );
        for run in self.medians() {
            let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            let _ = writeln!(
                text,
                "{:<16} {:>12} {:>9} {:>8} {:>9} {:>9}{}",
                run.algorithm.name(),
                run.goodput.to_string(),
                percent(run.share),
                format!("{:.2} %", run.lost * 100.0),
                ms(run.rtt_mean),
                ms(run.rtt_p95),
                run.machine.as_ref().map_or_else(String::new, |machine| {
                    format!("{:>12}", percent(machine.sender.cpu.as_secs_f64() / self.duration.as_secs_f64()))
                }),
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

    /// Why a run is not to be trusted, if it isn't.
    fn doubt(&self, run: &Outcome) -> Option<String> {
        let machine = run.machine.as_ref()?;
        doubt(&machine.sender, &machine.relay, self.path.rtt)
    }

    /// Which runs are not to be trusted, and why; nothing if all are.
    fn doubts(&self) -> String {
        let mut text = String::new();
        for run in self.outcomes {
            if let Some(why) = self.doubt(run) {
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
            "time": if self.real_time { "real" } else { "virtual" },
            "medians": self.medians().into_iter().map(summary).collect::<Vec<_>>(),
            "runs": self.outcomes.iter().map(|run| self.run(run)).collect::<Vec<_>>(),
            "chart": chart,
        })
    }

    fn run(&self, run: &Outcome) -> Value {
        let last = run.samples.last().copied().unwrap_or_default();
        let machine = run.machine.as_ref();
        let cpu = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let late = |of: Option<Lateness>| of.map(lateness);
        let mut value = summary(run);
        value["received_bytes"] = last.received.into();
        value["elapsed_s"] = last.at.as_secs_f64().into();
        // What only real time has is null in virtual time.
        value["sender"] = json!({
            "packets": last.sent,
            "packets_taken_for_lost": last.lost,
            "lateness_s": late(machine.map(|machine| machine.sender.lateness)),
            "cpu_s": cpu(machine.map(|machine| machine.sender.cpu)),
        });
        value["receiver"] = json!({ "cpu_s": cpu(machine.map(|machine| machine.receiver_cpu)) });
        value["relay"] = json!({
            "packets": run.forward.enqueued,
            "lost_at_random": run.forward.lost,
            "dropped_by_queue": run.forward.dropped,
            "lateness_s": late(machine.map(|machine| machine.relay.lateness)),
            "missed": machine.map(|machine| machine.relay.missed),
            "unsent": machine.map(|machine| machine.relay.unsent),
            "cpu_s": cpu(machine.map(|machine| machine.relay.cpu)),
        });
        value["doubt"] = self.doubt(run).into();
        let series = goodput_series(&run.samples, self.step());
        value["goodput_over_time"] = series.into_iter().map(|(at, mbps)| json!({ "at_s": at, "mbps": mbps })).collect();
        value
    }
}

fn lateness(of: Lateness) -> Value {
    json!({ "p50": of.p50.as_secs_f64(), "p99": of.p99.as_secs_f64(), "max": of.max.as_secs_f64() })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::chart;
    use crate::demo::outcome::Machine;
    use crate::demo::path::Preset;

    fn with_example(check: impl Fn(Report<'_>)) {
        let outcomes = [
            Outcome::example(Algorithm::default(), 33.0),
            Outcome::example(Algorithm::Cubic, 0.5),
            Outcome::example(Algorithm::Bbr3, 22.0),
        ];
        check(Report {
            path: &Path::from(Preset::Satellite),
            controllers: &[Algorithm::default(), Algorithm::Cubic, Algorithm::Bbr3],
            duration: Duration::from_secs(10),
            seed: 1,
            real_time: outcomes[0].machine.is_some(),
            outcomes: &outcomes,
        });
    }

    #[test]
    fn the_table_has_a_row_for_each_controller() {
        with_example(|report| {
            let table = report.table();
            let row = "queue-target      33.0 Mbit/s    82.5 %   0.74 %    800 ms    900 ms";
            assert!(table.lines().any(|line| line == row), "{table}");
            assert!(table.contains("queue-target moved 66.0 times as much as cubic and 1.5 times as much as bbr3."));
            assert!(table.contains("The limit is 39.9 Mbit/s"));
            assert!(!table.contains("trust"));
        });
    }

    #[test]
    fn in_real_time_the_processor_counts() {
        let run = Outcome { machine: Some(Machine::example()), ..Outcome::example(Algorithm::Cubic, 0.5) };
        let report = Report {
            path: &Path::from(Preset::Satellite),
            controllers: &[Algorithm::Cubic],
            duration: Duration::from_secs(10),
            seed: 1,
            real_time: true,
            outcomes: &[run],
        };
        let table = report.table();
        assert!(table.contains("RTT p95  sender CPU\n") && table.contains("900 ms      10.0 %\n"), "{table}");
        assert_eq!(report.json("chart.svg".as_ref())["runs"][0]["sender"]["cpu_s"], 1.0);
    }

    #[test]
    fn json_has_the_path_the_medians_and_all_runs() {
        with_example(|report| {
            let json = report.json("chart.svg".as_ref());
            assert_eq!(json["path"]["queue_bytes"], 1_000_000);
            assert_eq!(json["medians"][1]["controller"], "cubic");
            assert_eq!(json["runs"][2]["goodput_mbps"], 22.0);
            assert_eq!(json["runs"][0]["goodput_over_time"].as_array().map(Vec::len), Some(100));
            assert_eq!(json["runs"][0]["doubt"], Value::Null);
            assert_eq!((&json["time"], &json["runs"][0]["sender"]["cpu_s"]), (&"virtual".into(), &Value::Null));
        });
    }

    #[test]
    fn the_chart_names_what_it_shows() {
        with_example(|report| {
            let svg = chart::svg(&report).expect("a chart");
            for text in ["<svg", "satellite", "queue-target", "cubic", "bbr3", "Mbit/s", "capacity", "seconds"] {
                assert!(svg.contains(text), "{text}");
            }
        });
    }
}
