//! `pcc demo`: PCC, CUBIC and BBRv3 over the same emulated bad path.

mod chart;
mod endpoint;
mod outcome;
mod path;
mod progress;
mod real_time;
mod report;
#[cfg(test)]
mod tests;
mod virtual_time;

use crate::exit::{INTERRUPTED, usage};
use crate::output::{is_free, show, write_file};
use crate::qlog::Qlog;
use crate::seconds::time;
use anyhow::Context;
use outcome::Outcome;
use path::{Path, Preset};
use pcc::Rate;
use pcc::profiles;
use pcc_lab::quantity;
use pcc_lab::virtual_quic::BulkProgress;
use pcc_quic::Algorithm;
use progress::Progress;
use report::Report;
use std::collections::VecDeque;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  pcc demo                                        a satellite link; the same result for everybody
  pcc demo --seed 7                               other losses
  pcc demo --real-time                            over UDP sockets of this machine, about two minutes
  pcc demo --path lossy --duration 10s            a line that loses 1 % of all packets
  pcc demo --rate 100mbit --rtt 30ms --loss 1% --queue 75kB
  pcc demo --path satellite --loss 0              a satellite link that loses nothing
  pcc demo --controller allegro-2015,vivace-loss --runs 3 --json > results.json

Exit codes:
  0 done, 1 it failed, 2 wrong command line, 130 interrupted";

/// Moves real data through an emulated bad path with PCC, CUBIC and BBRv3.
///
/// Sender and receiver are real QUIC endpoints with real packets and encryption. The path and the clock are virtual: the same seed gives
/// the same result on any machine, however busy it is. With --real-time the packets cross UDP sockets of the loopback interface instead,
/// through a relay in this process that delays, queues and loses them as the path would, and all takes as long as it takes.
///
/// It needs no privileges and no second machine. The results are a table and a chart (SVG) of goodput over time.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The path to emulate; the options below change parts of it.
    #[arg(long, value_enum, default_value = "satellite")]
    path: Preset,
    /// Rate of the bottleneck, for example 100mbit (10^6 bit/s).
    #[arg(long, allow_negative_numbers = true, value_parser = quantity::rate)]
    rate: Option<Rate>,
    /// Round trip time with empty queues, for example 30ms.
    #[arg(long, allow_negative_numbers = true, value_parser = rtt)]
    rtt: Option<Duration>,
    /// Random loss on the way to the receiver, for example 1% or 0.01.
    #[arg(long, allow_negative_numbers = true, value_parser = quantity::probability)]
    loss: Option<f64>,
    /// Limit of the drop-tail queue before the bottleneck, for example 75kB (10^3 bytes).
    #[arg(long, allow_negative_numbers = true, value_parser = queue)]
    queue: Option<u64>,
    /// How long each controller sends: seconds, or for example 1min [default: 2min, in real time 38s].
    #[arg(long, allow_negative_numbers = true, value_parser = run_time)]
    duration: Option<Duration>,
    #[arg(
        long = "controller",
        help = format!("The controllers: {}.", Algorithm::names()),
        value_name = "NAME[,NAME...]",
        value_delimiter = ',',
        default_value = format!("{},cubic,bbr3", profiles::DEFAULT)
    )]
    controllers: Vec<Algorithm>,
    /// How often to do it all; the results are then those of each controller's median run.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Seed of the path's losses and of the controllers' random choices [default: 1; in real time drawn and printed].
    #[arg(long, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Over UDP sockets of this machine and in its time, instead of in virtual time.
    #[arg(long)]
    real_time: bool,
    /// Log all packets of the sender, and what the controller does, into this file (qlog), which must not be there yet; later
    /// runs log beside it.
    #[arg(long, value_name = "FILE.qlog", requires = "real_time")]
    qlog: Option<PathBuf>,
    /// Print one JSON document on standard output instead of the table.
    #[arg(long)]
    json: bool,
    /// Where to write the chart [default: pcc-demo-PATH.svg in the current directory]. Folders that aren't there are made.
    #[arg(long, value_name = "FILE.svg")]
    out: Option<PathBuf>,
}

fn rtt(text: &str) -> Result<Duration, String> {
    let rtt = quantity::duration(text)?;
    if rtt > Duration::from_secs(10) { Err("a round trip can take at most 10s".to_owned()) } else { Ok(rtt) }
}

fn run_time(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    let allowed = Duration::from_secs(1)..=Duration::from_secs(3600);
    if allowed.contains(&time) { Ok(time) } else { Err("a run can take between 1s and 60min".to_owned()) }
}

fn queue(text: &str) -> Result<u64, String> {
    let bytes = quantity::bytes(text)?;
    let least = path::packet_bytes();
    if bytes < least {
        return Err(format!("a packet of {least} bytes must fit into the queue, or nothing gets through"));
    }
    Ok(bytes)
}

impl Args {
    fn duration(&self) -> Duration {
        self.duration.unwrap_or(Duration::from_secs(if self.real_time { 38 } else { 120 }))
    }

    fn path(&self) -> Path {
        let preset = Path::from(self.path);
        let path = Path {
            name: preset.name,
            rate: self.rate.unwrap_or(preset.rate),
            rtt: self.rtt.unwrap_or(preset.rtt),
            loss: self.loss.unwrap_or(preset.loss),
            queue: self.queue.unwrap_or(preset.queue),
        };
        if path == preset { preset } else { Path { name: "custom", ..path } }
    }

    fn chart(&self, path: &Path) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from(format!("pcc-demo-{}.svg", path.name)))
    }
}

/// Runs the demo.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let path = args.path();
    let chart = args.chart(&path);
    // Better now than after the runs.
    let folder = chart.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(usage(format!("--out: there is no directory {}", folder.display())));
    }
    is_free(&chart).map_err(|error| usage(format!("--out: {}: {error}", chart.display())))?;
    demonstrate(args, &path, &chart)
}

fn demonstrate(args: &Args, path: &Path, chart: &std::path::Path) -> anyhow::Result<ExitCode> {
    let drawn = || if args.real_time { fastrand::u32(..).into() } else { virtual_time::SEED };
    let seed = args.seed.unwrap_or_else(drawn);
    eprintln!("{} path: {path}; {} s each; seed {seed}", path.name, args.duration().as_secs_f64());
    eprintln!("{}\n", if args.real_time { REAL } else { VIRTUAL });
    let qlog = args.qlog.as_ref().map(|file| Qlog::create(file).map_err(usage));
    let qlog = qlog.transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(available_parallelism().map_or(1, NonZero::get))
        .enable_all()
        .build()?;
    let outcomes = runtime.block_on(async {
        tokio::select! {
            outcomes = all_runs(args, path, seed, qlog.as_ref()) => outcomes.map(Some),
            _ = tokio::signal::ctrl_c() => Ok(None),
        }
    });
    // A run in virtual time that was interrupted must not keep the command from ending.
    runtime.shutdown_background();
    let outcomes = outcomes?;
    qlog.map_or(Ok(()), |qlog| qlog.finish()).context("can't write the qlog")?;
    let Some(outcomes) = outcomes else {
        eprintln!("\ninterrupted");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let report = Report {
        path,
        controllers: &args.controllers,
        duration: args.duration(),
        seed,
        real_time: args.real_time,
        outcomes: &outcomes,
    };
    let results = if args.json { format!("{:#}\n", report.json(chart)) } else { report.table() };
    show(&results)?;
    write_file(chart, &chart::svg(&report)?).context("the chart")?;
    if !args.json {
        show(&format!("\nThe chart is in {}\n", chart.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is real, and what is not.
const VIRTUAL: &str = "real: both QUIC endpoints, their packets and encryption; virtual: the path and the clock (--real-time for real sockets)";
const REAL: &str = "real: both QUIC endpoints, their packets and encryption, sockets, the clock; emulated: the path";

/// Each controller as often as asked, shown one after the other. In real time they also run so: what disturbs this machine meanwhile
/// disturbs them alike. In virtual time nothing disturbs them, and they run on all its processors.
async fn all_runs(args: &Args, path: &Path, seed: u64, qlog: Option<&Qlog>) -> anyhow::Result<Vec<Outcome>> {
    let seed_of = |run: u32| seed.wrapping_add(run.into());
    let runs: Vec<(u32, Algorithm)> =
        (0..args.runs).flat_map(|run| args.controllers.iter().map(move |&algorithm| (run, algorithm))).collect();
    let start = |&(run, algorithm): &_| virtual_time::start(algorithm, path, args.duration(), seed_of(run));
    let mut started: VecDeque<_> = if args.real_time { VecDeque::new() } else { runs.iter().map(start).collect() };
    let mut outcomes = Vec::new();
    for (run, algorithm) in runs {
        let label = if args.runs > 1 { format!("{algorithm} {}", run + 1) } else { algorithm.to_string() };
        let mut progress = Progress::start(label, args.duration());
        let watch = |sample: &BulkProgress| progress.show(sample);
        let outcome = match started.pop_front() {
            Some(running) => running.outcome(watch).await,
            None => real_time::run(algorithm, path, args.duration(), seed_of(run), qlog, watch).await,
        };
        let outcome = outcome.map_err(|error| error.context(format!("the run of {algorithm} failed")))?;
        progress.finish(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}
