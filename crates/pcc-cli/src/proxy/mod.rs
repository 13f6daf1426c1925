//! `pcc proxy`: TCP connections and UDP datagrams of any program over one QUIC connection.

mod connect;
mod control;
mod counters;
mod credit;
mod dial;
mod flow;
mod front;
mod http;
mod inward;
mod link;
mod metrics;
mod outcome;
mod outward;
mod own_addresses;
mod pipe;
mod program;
mod protocol;
mod public;
mod relay;
mod report;
mod rules;
mod serve;
mod session;
mod setup;
mod socks;
mod target;
#[cfg(test)]
mod tests;
mod tunnel;
mod udp;
mod watching;

use crate::exit::usage;
use crate::failure::Result;
use crate::peer::asking;
use crate::peer::endpoint::{address, check_advertised, local_address};
use crate::runtime;
use front::{Forward, Front};
use pcc::Weight;
use report::Reporter;
use rules::{Allowed, Rules};
use setup::Traffic;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use target::Target;
use watching::Watching;

const SERVE: &str = "pcc proxy serve";

const EXIT_CODES: &str = "\
Exit codes:
  0    ended by a signal, after what was open had finished; for pipe: both directions were closed, or
       it was hung up, as ssh does at its end
  1    any other failure
  2    wrong command line
  3    the ticket cannot be read (mistyped?)
  4    wrong ticket: another far side, or a wrong secret
  5    the two sides run different versions of pcc
  6    the far side cannot be reached, or was lost; connect never ends so, but tries again
  10   permission denied
  130  interrupted while connections were open";

const EXAMPLES: &str = "\
Examples:
  far$  pcc proxy serve                           prints a ticket; give it to the near side
  near$ pcc proxy connect --socks 127.0.0.1:1080  asks for the ticket
  near$ curl --socks5-hostname 127.0.0.1:1080 https://example.org/
  near$ rsync -e \"ssh -o ProxyCommand='pcc proxy pipe --ticket-file t %h %p'\" -a photos/ host:";

const SERVE_EXAMPLES: &str = "\
Examples:
  pcc proxy serve                                       the public internet
  pcc proxy serve --allow camera:554 --allow 10.1.0.0/16:22
                                                        and a camera, and ssh in the network here
  pcc proxy serve --only-allowed --allow 127.0.0.1:5432 one database, and nothing else
  pcc proxy serve --listen 0.0.0.0:4433 --identity /var/lib/pcc/proxy
                                                        the same ticket after a restart
  pcc proxy serve --ticket-out /run/pcc-proxy/ticket
                                                        for a service: no ticket in its log

The ticket is the only line on standard output. Treat it like a password: whoever has it can use this proxy until it ends,
and with --identity as long as that file is there. Nobody else can. Addresses of private networks, of this machine and of
its links are allowed only where --allow names them. Names are looked up here, and what counts is the address.";

const CONNECT_EXAMPLES: &str = "\
Examples:
  pcc proxy connect --socks 127.0.0.1:1080               for browsers, curl --socks5-hostname
  pcc proxy connect --http 127.0.0.1:8080                for programs that know https_proxy
  pcc proxy connect --forward 127.0.0.1:8554=camera:554  for programs that know no proxy
  pcc proxy connect --forward udp:127.0.0.1:5353=resolver:53
                                                         the same for UDP
  pcc proxy connect --ticket-file t --socks 127.0.0.1:1080 --json

The far side runs pcc proxy serve, which prints the ticket. It is no argument, because other users of this machine can read
those. It may start later: this side tries again until it is there. When the connection to it is lost, programs' connections
are reset, and new ones work as soon as there is a new one. Ctrl-C lets what is open finish for up to 30 seconds; a second one cuts it off.";

const PIPE_EXAMPLES: &str = "\
Examples:
  ssh -o ProxyCommand='pcc proxy pipe --ticket-file t %h %p' host
  rsync -e \"ssh -o ProxyCommand='pcc proxy pipe --ticket-file t %h %p'\" -a photos/ host:

The ticket comes from --ticket-file or PCC_TICKET, since standard input belongs to the connection.";

/// Carries any program's TCP and UDP over a bad path.
#[derive(clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    Serve(ServeArgs),
    Connect(ConnectArgs),
    Pipe(PipeArgs),
    Status(StatusArgs),
    Weight(WeightArgs),
}

/// Waits for the other side and connects to where its programs want to.
#[derive(clap::Args)]
#[command(after_help = SERVE_EXAMPLES, after_long_help = format!("{SERVE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct ServeArgs {
    /// Listen on this address only, for example 0.0.0.0:4433
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Put this address into the ticket too, for a machine behind a port forwarding. May be repeated up to 12 times
    #[arg(long, value_name = "ADDR", value_parser = address)]
    advertise: Vec<SocketAddr>,
    /// Allow what is not of the public internet: a host or network, and a port, or * for all ports
    #[arg(long, value_name = "HOST:PORT")]
    allow: Vec<Allowed>,
    /// Allow nothing else, the public internet neither
    #[arg(long)]
    only_allowed: bool,
    /// Keep what makes the ticket in this file, so that the ticket stays good over restarts with the same --listen
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// Write the ticket into this file, which only this user may read, and don't print it
    #[arg(long, value_name = "FILE")]
    ticket_out: Option<PathBuf>,
    #[command(flatten)]
    traffic: Traffic,
    #[command(flatten)]
    watching: Watching,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Takes connections of programs and carries them to the far side.
#[derive(clap::Args)]
#[command(after_help = CONNECT_EXAMPLES, after_long_help = format!("{CONNECT_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct ConnectArgs {
    /// Whoever gives the ticket here is told how to give it.
    #[arg(hide = true)]
    ticket: Option<String>,
    /// Be a SOCKS5 proxy at this address; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDR", value_parser = local_address)]
    socks: Vec<SocketAddr>,
    /// Be an HTTP proxy at this address, for the method CONNECT; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDR", value_parser = local_address)]
    http: Vec<SocketAddr>,
    /// Carry what comes to the first address to the host and port behind it: connections, or after udp: datagrams
    #[arg(long, value_name = "[udp:]ADDR=HOST:PORT")]
    forward: Vec<Forward>,
    /// Read the ticket from this file, or with - from standard input, instead of PCC_TICKET or asking for it
    #[arg(long, value_name = "FILE")]
    ticket_file: Option<PathBuf>,
    #[command(flatten)]
    traffic: Traffic,
    #[command(flatten)]
    watching: Watching,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Carries standard input and output to a host and port at the far side, for ssh's ProxyCommand.
#[derive(clap::Args)]
#[command(after_help = PIPE_EXAMPLES, after_long_help = format!("{PIPE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct PipeArgs {
    /// The host, as the far side knows it
    host: String,
    /// The port
    port: u16,
    /// Read the ticket from this file instead of PCC_TICKET
    #[arg(long, value_name = "FILE")]
    ticket_file: Option<PathBuf>,
    #[command(flatten)]
    traffic: Traffic,
}

/// Shows what the connections of running `pcc proxy serve` and `pcc proxy connect` do at the moment.
#[derive(clap::Args)]
pub struct StatusArgs {
    /// Look into this folder instead of the one of this login session
    #[arg(long, value_name = "DIR")]
    control: Option<PathBuf>,
    /// Print one JSON object per connection and line
    #[arg(long)]
    json: bool,
}

/// Changes the weight of what this side sends over a connection, while it runs.
#[derive(clap::Args)]
pub struct WeightArgs {
    /// The connection, as pcc proxy status shows it
    id: String,
    /// Its share beside others like this one over the same bottleneck, in proportion to theirs, from 0.01 to 100
    #[arg(allow_negative_numbers = true)]
    weight: Weight,
    /// Look into this folder instead of the one of this login session
    #[arg(long, value_name = "DIR")]
    control: Option<PathBuf>,
}

/// Runs `pcc proxy`.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => {
            let reporter = Arc::new(Reporter::new(args.json));
            let ServeArgs { listen, advertise, allow, only_allowed, identity, ticket_out, traffic, watching, .. } =
                args;
            check_advertised(&advertise)?;
            let settings = traffic.settings()?;
            let rules = Rules { allow, only_allowed };
            let options = serve::Options { listen, advertise, identity, ticket_out, rules, settings, watching };
            Ok(finish(&reporter, serve::run(options, reporter.clone())))
        }
        Command::Connect(args) => {
            if args.ticket.is_some() {
                return Err(usage(asking::NO_ARGUMENT));
            }
            let fronts = fronts(&args);
            let forwards: Vec<_> = args.forward.iter().filter(|forward| forward.is_udp).cloned().collect();
            if fronts.is_empty() && forwards.is_empty() {
                return Err(usage("say what to offer to programs, with --socks, --http or --forward"));
            }
            let settings = args.traffic.settings()?;
            let ticket = asking::ticket(args.ticket_file.as_deref(), SERVE)?;
            let reporter = Arc::new(Reporter::new(args.json));
            let options = connect::Options { fronts, forwards, ticket, settings, watching: args.watching };
            Ok(finish(&reporter, connect::run(options, reporter.clone())))
        }
        Command::Pipe(args) => {
            let target = Target::new(&args.host, args.port).map_err(usage)?;
            let settings = args.traffic.settings()?;
            let ticket = asking::ticket_at_hand(args.ticket_file.as_deref(), SERVE)?;
            Ok(finish(&Reporter::new(false), pipe::run(&ticket, settings, target)))
        }
        Command::Status(args) => control::status(args.control.as_deref(), args.json).map(|()| ExitCode::SUCCESS),
        Command::Weight(args) => {
            control::set_weight(args.control.as_deref(), &args.id, &args.weight).map(|()| ExitCode::SUCCESS)
        }
    }
}

fn fronts(args: &ConnectArgs) -> Vec<(SocketAddr, Front)> {
    let socks = args.socks.iter().map(|address| (*address, Front::Socks));
    let http = args.http.iter().map(|address| (*address, Front::Http));
    let forward = args.forward.iter().filter(|forward| !forward.is_udp);
    let forward = forward.map(|forward| (forward.listen, Front::Forward(forward.target.clone())));
    socks.chain(http).chain(forward).collect()
}

/// Does the work, and reports how it failed if it did.
fn finish(reporter: &Reporter, work: impl Future<Output = Result<()>>) -> ExitCode {
    match runtime::run_in_one_thread(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            reporter.failure(&failure);
            failure.exit_code()
        }
    }
}
