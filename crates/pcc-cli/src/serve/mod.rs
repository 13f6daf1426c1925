//! `pcc serve`: a folder for browsers and other clients of HTTP/3, 2 and 1.1.

mod answer;
mod body;
mod certificate;
mod digests;
#[cfg(test)]
mod fuzz;
mod limits;
mod listing;
mod path;
mod quic;
mod range;
mod report;
mod server;
mod service;
mod site;
mod sockets;
mod tcp;
mod version;

use crate::peer::endpoint::address;
use crate::runtime;
use crate::sending::Sending;
use certificate::Files;
use report::Reporter;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

const EXIT_CODES: &str = "\
Exit codes:
  0    ended by a signal, after the last response had been sent
  1    any other failure
  2    wrong command line, or no usable certificate or key in the files
  10   permission denied
  11   there is no such folder
  130  interrupted while responses were on their way";

const EXAMPLES: &str = "\
Examples:
  pcc serve photos/                                       on port 4433, with a certificate for this run
  pcc serve /srv/www --listen 0.0.0.0:443 --cert fullchain.pem --key privkey.pem
  pcc serve --background mirror/                          downloads take only what other traffic leaves
  pcc get --pin sha256//mYp... https://host:4433/a.iso    the client; the server prints the pin

Any browser and any client of HTTP can download. What goes over HTTP/3 leaves under the controller chosen here, HTTP/1.1 and 2
under the kernel's pcc_vivace where `pcc tcp load` has put it, and under the system's own elsewhere; they tell clients of
HTTP/3 (Alt-Svc). Nothing outside the folder is served, whatever links are in it. Each request has a line on standard output.
Ctrl-C lets responses finish for up to 30 seconds; a second one cuts them off. SIGHUP (kill -HUP, systemctl reload) reads
--cert and --key again: new connections get what is in them then.";

/// Serves a folder over HTTP/3, and over HTTP/1.1 and 2 beside it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Args {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Listen on this address only, for UDP and TCP [default: port 4433 of all addresses]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// The certificate and its issuers (PEM) [default: one for this run that nobody signed]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Serve files and folders too whose names begin with a dot
    #[arg(long)]
    hidden: bool,
    #[command(flatten)]
    sending: Sending,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Runs `pcc serve`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { folder, listen, cert, key, hidden, sending, json } = args;
    let files = cert.zip(key).map(|(certificate, key)| Files { certificate, key });
    let certificate = files.map(|files| anyhow::Ok((files.read()?, files))).transpose()?;
    let options = server::Options { folder, hidden, listen, certificate, transport: sending.transport()? };
    let reporter = Arc::new(Reporter::new(json));
    Ok(match runtime::run(server::run(options, reporter.clone())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            reporter.failure(&failure);
            failure.exit_code()
        }
    })
}
