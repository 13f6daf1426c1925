//! `pcc lab shell`: any program behind an emulated path.

mod internet;
mod network;
mod session;

use anyhow::Context;
use pcc::Rate;
use pcc_emulator::emulator::MTU;
use pcc_emulator::host::program;
use pcc_lab::link::{Capacity, PathConfig, Trace};
use pcc_lab::quantity;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  sudo pcc lab shell --rate 42mbit --rtt 800ms --loss 0.74% --queue 1MB
  sudo pcc lab shell --rate 10mbit --rtt 40ms -- sh -c 'curl http://$PCC_HOST:8000/'
  sudo pcc lab shell --trace lte.trace --rtt 60ms --jitter 5ms --queue 150kB -- iperf3 -c 10.0.0.7
  sudo pcc lab shell --rtt 100ms -- sudo pcc lab shell --loss 1%      one path behind another

Exit code:
  that of the command: 128 + n for signal n, 127 for a command that isn't there, 126 for one that can't be run;
  2 for a wrong command line, 1 when the path can't be emulated";

/// Runs a command behind an emulated path.
///
/// The command gets a network of its own, in which everything that it sends or receives passes the path. Rate, loss and queue hold in each
/// direction; each takes half of the round trip. The variable PCC_HOST has the address under which this machine is reached, PCC_ADDRESS that of
/// the command. When the command ends, all that it started ends. This needs root; the command runs as the user who called sudo,
/// doas or pkexec.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Rate of the bottleneck, for example 42mbit (10^6 bit/s) [default: no bottleneck].
    #[arg(long, value_parser = quantity::rate, group = "bottleneck")]
    rate: Option<Rate>,
    /// A recorded rate, in Mahimahi's format: in each line a millisecond in which 1500 bytes may pass.
    #[arg(long, value_name = "FILE", value_parser = trace, group = "bottleneck")]
    trace: Option<Arc<Trace>>,
    /// Round trip time with empty queues, for example 800ms.
    #[arg(long, value_parser = rtt, default_value = "0s")]
    rtt: Duration,
    /// Random loss, for example 1% or 0.01.
    #[arg(long, value_parser = quantity::probability, default_value = "0")]
    loss: f64,
    /// Limit of the drop-tail queue before the bottleneck, for example 375kB (10^3 bytes) [default: what the path holds in a round trip, and at least 30kB].
    #[arg(long, value_parser = queue, requires = "bottleneck")]
    queue: Option<u64>,
    /// Added to the delay in each direction, uniformly from nothing to this, for example 5ms.
    #[arg(long, value_parser = rtt, default_value = "0s")]
    jitter: Duration,
    /// Seed of losses and jitter; drawn if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// The command and its arguments [default: your shell].
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The smallest default size of the queue in bytes: 20 packets.
const MIN_QUEUE: u64 = 30_000;

fn trace(file: &str) -> Result<Arc<Trace>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("can't read it: {error}"))?;
    Trace::parse(&text).map(Arc::new).map_err(|error| error.to_string())
}

fn rtt(text: &str) -> Result<Duration, String> {
    let rtt = quantity::duration(text)?;
    if rtt > Duration::from_secs(10) { Err("it can be at most 10s".to_owned()) } else { Ok(rtt) }
}

fn queue(text: &str) -> Result<u64, String> {
    let bytes = quantity::bytes(text)?;
    if bytes < MTU.into() {
        return Err(format!("a packet of {MTU} bytes must fit into the queue, or nothing gets through"));
    }
    Ok(bytes)
}

impl Args {
    /// Each direction of the path.
    fn path(&self) -> PathConfig {
        let (capacity, rate) = match (&self.trace, self.rate) {
            (Some(trace), _) => (Capacity::Trace(trace.clone()), trace.mean_rate()),
            (None, Some(rate)) => (rate.into(), rate),
            (None, None) => (Capacity::Unlimited, Rate::ZERO),
        };
        let queue = self.queue.unwrap_or_else(|| rate.bytes_in(self.rtt).max(MIN_QUEUE));
        let delay = PathConfig::delay_only(self.rtt / 2);
        PathConfig { capacity, queue: queue.into(), loss: self.loss.into(), jitter: self.jitter, ..delay }
    }

    fn command(&self) -> anyhow::Result<Vec<OsString>> {
        if !self.command.is_empty() {
            return Ok(self.command.clone());
        }
        Ok(vec![program::shell().context("can't tell who became root")?])
    }
}

/// Runs the command behind the path, and gives its exit code.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u32(..).into());
    session::run(&args.command()?, args.path(), seed).map(ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use pcc_lab::link::QueueConfig;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn path(options: &str) -> PathConfig {
        Cli::parse_from(format!("shell {options}").split_whitespace()).args.path()
    }

    #[test]
    fn the_queue_holds_a_round_trip_if_nothing_else_is_said() {
        let queue = |options| path(options).queue;
        assert_eq!(queue("--rate 42mbit --rtt 800ms"), QueueConfig::from(4_200_000));
        assert_eq!(queue("--rate 1mbit --rtt 10ms"), QueueConfig::from(MIN_QUEUE));
        assert_eq!(queue("--rate 1mbit --queue 1mb"), QueueConfig::from(1_000_000));
    }

    #[test]
    fn each_direction_takes_half_of_the_round_trip() {
        let path = path("--rtt 30ms --jitter 2ms --loss 1%");
        assert_eq!((path.delay, path.jitter), (Duration::from_millis(15), Duration::from_millis(2)));
        assert_eq!((path.capacity, path.loss), (Capacity::Unlimited, 0.01.into()));
    }
}
