//! `pcc send` and `pcc recv`: files and folders over QUIC.

mod bitmap;
mod blocks;
mod commit;
mod disk;
mod endpoint;
mod failure;
mod folders;
mod identity;
mod manifest;
mod offer;
mod progress;
mod protocol;
mod receiver;
mod sender;
mod session;
mod source;
mod staging;
mod stall;
mod store;
#[cfg(test)]
mod tests;
mod ticket;
mod walk;

use crate::exit::usage;
use commit::Rules;
use failure::{Failure, Kind, Result};
use pcc::Rate;
use pcc_lab::quantity;
use pcc_quic::{Algorithm, Transport};
use progress::Reporter;
use rustix::fs::Mode;
use std::io::{BufRead, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const SEND_EXAMPLES: &str = "\
Examples:
  pcc send photos/ notes.txt pcc1aeb...                    send a folder and a file
  pcc send --max-rate 50mbit backup.tar pcc1aeb...         leave room for others
  pcc send --controller cubic big.iso pcc1aeb...           compare congestion controllers

The other side runs pcc recv, which prints the ticket. If a transfer is cut, run the same command again: only what is
missing is sent. Permissions, times and links that stay inside a sent folder are kept, owners and the setuid, setgid and
sticky bits are not; devices, sockets and links that lead out of it are refused before anything is sent. Other users of
this machine can see the ticket among the arguments; with - in its place it is read from standard input.";

const RECV_EXAMPLES: &str = "\
Examples:
  pcc recv                                                 receive into this folder
  pcc recv /srv/incoming --listen 0.0.0.0:4433             on a fixed port
  pcc recv --listen 0.0.0.0:4433 --advertise 203.0.113.7:4433   behind a port forwarding

The ticket is the only line on standard output. It admits one transfer; whoever has it may send, so treat it like a
password. Nobody may do more with a file here than the sender allowed there, nor than your umask allows. A transfer
that was cut lives in DIR/.pcc-*: run the same command again to take it up with the same ticket, or
delete that folder to give it up.";

/// Sends files and folders to a waiting `pcc recv`.
#[derive(clap::Args)]
#[command(after_help = SEND_EXAMPLES, after_long_help = format!("{SEND_EXAMPLES}\n\n{}", failure::HELP))]
pub struct SendArgs {
    /// Files and folders to send, and last the ticket that pcc recv printed, or - to read it from standard input
    // One list: clap takes an option between two for the end of the first, and quotes the ticket, a secret.
    #[arg(required = true, value_name = "PATH... TICKET")]
    arguments: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        help = format!("The congestion controller: {}", Algorithm::names())
    )]
    controller: Algorithm,
    /// Never send faster than this, for example 50mbit
    #[arg(long, value_name = "RATE", value_parser = quantity::rate)]
    max_rate: Option<Rate>,
    /// Give up when the receiver cannot be reached, or nothing moves, for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Waits for one transfer and writes it into a directory.
#[derive(clap::Args)]
#[command(after_help = RECV_EXAMPLES, after_long_help = format!("{RECV_EXAMPLES}\n\n{}", failure::HELP))]
pub struct RecvArgs {
    /// Where the files go
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Listen on this address only, for example 0.0.0.0:4433
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Put this address into the ticket too, for a receiver behind a port forwarding
    #[arg(long, value_name = "ADDR")]
    advertise: Vec<SocketAddr>,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// Do not keep the sender's permissions but only executable bits: who may read is up to the umask here
    #[arg(long)]
    no_perms: bool,
    /// Give up when a sender is connected and nothing moves for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Runs `pcc send`.
pub fn send(args: SendArgs) -> anyhow::Result<ExitCode> {
    let reporter = Arc::new(Reporter::new(args.json));
    let SendArgs { arguments: mut paths, controller, max_rate, timeout, .. } = args;
    let ticket = paths.pop().filter(|_| !paths.is_empty());
    let ticket = ticket.ok_or_else(|| usage("name what to send, and after it the ticket that pcc recv printed"))?;
    let ticket = ticket.to_string_lossy().into_owned();
    let transport = Transport { algorithm: controller, max_rate, seed: fastrand::u64(..) };
    let patience = Duration::from_secs(timeout);
    let work = async {
        let options = sender::Options { paths, ticket: read_ticket(ticket)?, transport, patience };
        sender::run(options, reporter.clone()).await
    };
    Ok(finish(&reporter, work))
}

/// The ticket as it is on the command line, or for `-` from standard input.
fn read_ticket(mut ticket: String) -> Result<String> {
    if ticket == "-" {
        ticket.clear();
        // Longer than any ticket; what is wrong with it is said where it is parsed.
        let read = std::io::stdin().lock().take(1 << 16).read_line(&mut ticket);
        read.map_err(|error| {
            Failure::new(Kind::BadTicket, format!("cannot read the ticket from standard input: {error}"))
        })?;
    }
    Ok(ticket)
}

/// Runs `pcc recv`.
pub fn recv(args: RecvArgs) -> anyhow::Result<ExitCode> {
    // It can only be read by changing it, which must not happen while other threads make files.
    let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(umask);
    let reporter = Arc::new(Reporter::new(args.json));
    let RecvArgs { dir, listen, advertise, overwrite, no_perms, timeout, .. } = args;
    let rules =
        Rules { overwrite, permissions: !no_perms, umask: umask.bits() as u32, patience: Duration::from_secs(timeout) };
    let options = receiver::Options { dir, listen, advertise, rules };
    Ok(finish(&reporter, receiver::run(options, reporter.clone())))
}

/// Does the work, and reports how it failed if it did: in a way of its own, because of `--json`.
fn finish(reporter: &Reporter, work: impl Future<Output = Result<()>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(work);
            // A thread that is busy with a disk must not keep the command from ending.
            runtime.shutdown_background();
            result
        }
        Err(e) => Err(Failure::io("start the runtime", &e)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            reporter.failure(&failure);
            failure.exit_code()
        }
    }
}
