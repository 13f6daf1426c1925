//! `pcc tcp top`: the connections under PCC.

mod format;
mod json;
mod repeat;
mod screen;
mod table;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

const EXPLANATION: &str = "\
Columns:
  rate      at which the connection is paced now, Mbit/s of payload
  goodput   what the other end acknowledged in the last second, Mbit/s of payload
  RTT, min  smoothed and smallest round-trip time, ms
  loss      segments declared lost in the last second, of those sent, %
  utility   what the last monitor interval was worth, in the units of its utility function
  phase     starting (doubling), probing (comparing rates around one), moving (going on in a direction)
  age       since the controller took over

Keys: r g t l u a sort by rate, goodput, RTT, loss, utility, age; up, down, page up, page down scroll; q ends

Fields of --json, a line for each monitor interval as soon as its result is known:
  time                      seconds since 1970
  local, remote, controller, age_s   the connection, which `began_ns` on the monotonic clock tells from others
  role                      start, probe-faster, probe-slower, move, or hold (no decision waits for it)
  target_mbps, rate_mbps    the rate that was asked for, and the one that was achieved: payload
  packets, lost, loss       segments sent and lost, and the fraction
  rtt_ms, min_rtt_ms        mean of the interval, and the smallest of the connection
  rtt_gradient              growth of the round-trip time, seconds per second, after noise filters
  utility                   what the interval was worth
  phase, pacing_mbps        what follows: starting, probing or moving, and the rate

Examples:
  sudo pcc tcp top
  sudo pcc tcp top --json > intervals.jsonl
  sudo pcc tcp top --json | jq -r 'select(.loss > 0.1) | [.remote, .rate_mbps, .loss] | @tsv'";

/// Shows the connections under PCC, in all network namespaces: rates, delays, losses, and what the controllers do.
///
/// They can be of any program. Needs root.
#[derive(clap::Args)]
#[command(after_help = EXPLANATION)]
pub struct Args {
    /// Write every monitor interval as a line of JSON, until Ctrl-C or a closed pipe.
    #[arg(long)]
    json: bool,
}

/// Shows them until the user or a signal ends it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.json {
        json::stream()?;
    } else {
        anyhow::ensure!(
            io::stdout().is_terminal() && io::stdin().is_terminal(),
            "there is no terminal to draw on: use `pcc tcp top --json`, which writes lines"
        );
        screen::show()?;
    }
    Ok(ExitCode::SUCCESS)
}
