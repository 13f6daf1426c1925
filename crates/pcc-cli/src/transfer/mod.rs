//! `pcc send` and `pcc recv`: files and folders over QUIC.

mod abilities;
mod admission;
mod bitmap;
mod blocks;
mod choice;
mod closed;
mod commit;
mod disk;
mod dry_run;
mod endpoint;
mod event;
#[cfg(test)]
mod fuzz;
mod holes;
#[cfg(test)]
mod hostile_receiver;
mod in_place;
mod inodes;
mod journal;
mod keep;
#[cfg(test)]
mod lies;
mod manifest;
#[cfg(test)]
mod memory;
mod offer;
#[cfg(test)]
mod power_cuts;
mod progress;
mod protocol;
mod receiver;
mod records;
mod rules;
mod selection;
mod sender;
mod session;
mod several;
mod slot;
mod source;
mod staging;
mod staging_folder;
mod stall;
mod store;
#[cfg(test)]
mod tests;
mod walk;

use crate::exit::usage;
use crate::failure::{Failure, Kind, Result};
use crate::peer::endpoint::{address, check_advertised, local_address};
use crate::peer::ticket::Ticket;
use crate::peer::{asking, keeper};
use crate::qlog::Qlog;
use crate::runtime;
use crate::seconds::seconds;
use crate::sending::Sending;
use crate::signals;
use anyhow::Context;
use choice::{Allowed, Welcome};
use event::Event;
use progress::Reporter;
use rules::Rules;
use rustix::fs::Mode;
use selection::{Links, Selection};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The exit codes as they appear in `--help`.
const EXIT_CODES: &str = "\
Exit codes:
  0    complete, verified, and on disk under its final names
  1    any other failure
  2    wrong command line
  3    the ticket cannot be read (mistyped?)
  4    wrong ticket: another receiver, a wrong secret, or for another transfer or sender
  5    the two sides run different versions of pcc
  6    the other side was lost and did not come back
  7    a file is there already, and neither --overwrite nor --sync was given; or a folder is in the place of a file or a file
       in that of a folder
  8    a name or link that is not allowed
  9    a disk is full, nearly always the receiver's: the message says which
  10   permission denied
  11   a source is missing or cannot be read, or not all can be sent as --strict wants
  12   data did not match its hash
  13   a newer sender of the same transfer took over
  14   both sides were connected, but nothing moved for as long as --timeout says
  15   complete, verified and on disk, but for the files that were named
  130  interrupted";

const SEND_EXAMPLES: &str = "\
Examples:
  pcc send photos/ notes.txt                               send a folder and a file; asks for the ticket
  pcc send --max-rate 50mbit --ticket-file t backup.tar    leave room for others; the ticket is in the file t
  pcc send --ticket-file a --ticket-file b disk.img        to two receivers at once
  pcc send --background backup.tar                         take only what others leave of the path
  pcc send --weight 0.3 b.iso                              beside another pcc send with --weight 0.7: 30 % of the path
  pcc send --dry-run --exclude '*.tmp' photos/             list what would be sent
  PCC_TICKET=pcc1aeb... pcc send --controller cubic a.iso  compare congestion controllers

The other side runs pcc recv, which prints the ticket. It is no argument, because other users of this machine can read
those. Where nobody can be asked for it, put it into PCC_TICKET or a file. If a transfer is cut, run the same command
again: only what is missing is sent. Permissions, times and links are kept, owners and the setuid, setgid and sticky bits
are not. What cannot be sent, such as devices and sockets, is left out and named, and the exit code is then 15 unless
--exclude names it too.";

const RECV_EXAMPLES: &str = "\
Examples:
  pcc recv                                                 receive into this folder
  pcc recv /srv/incoming --listen 0.0.0.0:4433             on a fixed port
  pcc recv --listen 0.0.0.0:4433 --advertise 203.0.113.7:4433   behind a port forwarding
  pcc recv --from pccs4t... < /dev/null                    from this sender only, without asking
  pcc recv --keep --sync --from pccs4t... /srv/mirror      again and again, unattended, with the same ticket
  pcc recv --keep --from pccs4t... --ticket-out /run/pcc-recv/ticket /srv/in   as a service: no ticket in its log
  pcc recv --sync /srv/mirror                              only what is not there yet, or not the same
  pcc recv --sync --checksum /srv/mirror                   the same by content: for copies with times of their own

The ticket is the only line on standard output. It admits one transfer. Treat it like a password; but as somebody else
may learn it, you are asked for the code that pcc send shows to its user, and only the sender that shows it may send.
What pcc recv says then has the sender's name for --from. Nobody may do more with a file here than the sender allowed
there, nor than your umask allows. A transfer that was cut lives in DIR/.pcc-*: run the same command again to take it up
with the same ticket, or delete that folder to give it up.

With --keep the ticket is good for as long as its file is there, for the senders that --from names and for nobody else. A
line for each transfer that is over says what came. Ctrl-C or SIGTERM ends the receiver with exit code 0; unfinished
transfers go on when it is started again.";

/// Sends files and folders to a waiting `pcc recv`.
#[derive(clap::Args)]
#[command(after_help = SEND_EXAMPLES, after_long_help = format!("{SEND_EXAMPLES}\n\n{}", EXIT_CODES))]
pub struct SendArgs {
    /// Files and folders to send
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read the ticket from this file, or with - from standard input, instead of PCC_TICKET or asking for it. May be repeated: all of
    /// these receivers get what is sent, at the same time
    #[arg(long, value_name = "FILE")]
    ticket_file: Vec<PathBuf>,
    /// Leave out what matches: by its name, as with '*.tmp', or, if the pattern has a slash, by its path from the named folder on, as
    /// with 'photos/raw/*.nef'. May be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// What becomes of symbolic links below the named folders
    #[arg(long, value_enum, default_value_t = Links::Keep)]
    links: Links,
    /// Send nothing unless all of it can be sent, and fail if a file changes meanwhile
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    sending: Sending,
    /// Give up when the receiver cannot be reached, or nothing moves, for this long: seconds, or for example 2min
    #[arg(long, value_name = "TIME", default_value = "120", allow_negative_numbers = true, value_parser = seconds)]
    timeout: Duration,
    /// Log all packets, and what the controller does, into this file (qlog), which must not be there yet; connections after a
    /// cut log beside it
    #[arg(long, value_name = "FILE.qlog")]
    qlog: Option<PathBuf>,
    /// List what would be sent, without a ticket and without sending it; the receiver may have some of it already (pcc recv
    /// --sync)
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Waits for one transfer and writes it into a directory.
#[derive(clap::Args)]
#[command(after_help = RECV_EXAMPLES, after_long_help = format!("{RECV_EXAMPLES}\n\n{}", EXIT_CODES))]
pub struct RecvArgs {
    /// The folder where the files go; made if it is not there
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Listen on this address only, for example 0.0.0.0:4433 [default: all of this machine, and a free port]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Put this address into the ticket too, for a receiver behind a port forwarding. May be repeated up to 12 times
    #[arg(long, value_name = "ADDR", value_parser = address)]
    advertise: Vec<SocketAddr>,
    /// Who may send: a sender by its name, which pcc recv says once its code was typed (may be repeated), or the word anyone for whoever comes
    /// first with the ticket. Without this you are asked for the code that the right sender shows
    #[arg(long, value_name = "SENDER", value_parser = choice::parse)]
    from: Vec<Allowed>,
    /// Take one transfer after another, and several at once, until a signal; the ticket stays the same
    #[arg(long, requires = "from")]
    keep: bool,
    /// With --keep: keep what makes the ticket in this file [default: receiver, beside the key of pcc send]
    #[arg(long, value_name = "FILE", requires = "keep")]
    identity: Option<PathBuf>,
    /// With --keep: write the ticket into this file, which only this user may read, and don't print it
    #[arg(long, value_name = "FILE", requires = "keep")]
    ticket_out: Option<PathBuf>,
    /// With --keep: serve metrics for Prometheus at http://ADDR/metrics; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDR", value_parser = local_address, requires = "keep")]
    metrics: Option<SocketAddr>,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// Keep files that exist if they have the size and time of what comes, and replace those that have not
    #[arg(long, conflicts_with = "overwrite")]
    sync: bool,
    /// With --sync: keep files that have the content of what comes, whatever their time; of others, send only the blocks that
    /// changed
    #[arg(long, requires = "sync")]
    checksum: bool,
    /// Do not keep the sender's permissions but only executable bits: who may read is up to the umask here
    #[arg(long)]
    no_perms: bool,
    /// Refuse symbolic links that lead out of the sent folder they are in: another program here might follow them
    #[arg(long)]
    safe_links: bool,
    /// Give up when a sender is connected and nothing moves for this long: seconds, or for example 2min
    #[arg(long, value_name = "TIME", default_value = "120", allow_negative_numbers = true, value_parser = seconds)]
    timeout: Duration,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Runs `pcc send`.
pub fn send(args: SendArgs) -> anyhow::Result<ExitCode> {
    let reporter = Arc::new(Reporter::new(args.json));
    let SendArgs { paths, ticket_file, exclude, links, strict, sending, timeout, qlog, dry_run, .. } = args;
    let transport = sending.transport()?;
    let selection = Selection::new(links, &exclude)?;
    // What has no name can't be sent, and that is said soon.
    if let Ok(sent) = paths.iter().map(|path| walk::name_of(path)).collect::<Result<Vec<_>, _>>() {
        Selection::check_beginnings(&exclude, &sent)?;
    }
    if dry_run {
        let work = async { dry_run::run(&paths, &selection, strict, &reporter) };
        return Ok(finish(&reporter, runtime::run_in_one_thread(work)));
    }
    // Before a ticket is asked for.
    if let Err(failure) = walk::check(&paths) {
        return Ok(finish(&reporter, Err(failure)));
    }
    let tickets: Vec<String> = match &ticket_file[..] {
        [] => vec![asking::ticket(None, "pcc recv")?],
        files => files.iter().map(|file| asking::ticket(Some(file), "pcc recv")).collect::<anyhow::Result<_>>()?,
    };
    let mut given = HashSet::new();
    if let Some(twice) = tickets.iter().position(|ticket| !given.insert(ticket.trim().to_ascii_lowercase())) {
        return Err(usage(format!(
            "the ticket in {} is given twice; each receiver has one of its own",
            ticket_file[twice].display()
        )));
    }
    if tickets.len() > 1 && qlog.is_some() {
        return Err(usage("--qlog logs what goes to one receiver; name one ticket"));
    }
    let qlog = match qlog.map(|file| log(&file, &tickets[0], &paths)).transpose() {
        Ok(qlog) => qlog,
        Err(failure) => return Ok(finish(&reporter, Err(failure))),
    };
    let work = async {
        let (credentials, note) = keeper::sender_key()?;
        if let Some(message) = &note {
            reporter.event(&Event::Note { message });
        }
        let options = |ticket| sender::Options {
            paths: paths.clone(),
            selection: selection.clone(),
            strict,
            ticket,
            credentials: credentials.clone(),
            transport: qlog.as_ref().map_or_else(|| transport.config(), |qlog| qlog.config(&transport)),
            patience: timeout,
        };
        match <[String; 1]>::try_from(tickets) {
            Ok([ticket]) => sender::run(options(ticket), reporter.clone()).await,
            Err(tickets) => {
                let names = ticket_file.iter().map(|file| file.display().to_string());
                several::run(names.zip(tickets.into_iter().map(options)).collect(), args.json).await
            }
        }
    };
    let code = finish(&reporter, runtime::run_in_one_thread(work));
    qlog.map_or(Ok(()), |qlog| qlog.finish()).context("can't write the qlog")?;
    Ok(code)
}

/// Begins the log of what goes to the receiver with this ticket.
fn log(file: &Path, ticket: &str, sent: &[PathBuf]) -> Result<Qlog> {
    // A mistyped ticket leaves no file behind.
    ticket.parse::<Ticket>()?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_around = |sent: &&PathBuf| {
        let (Ok(folder), Ok(sent)) = (folder.canonicalize(), sent.canonicalize()) else { return false };
        folder.starts_with(sent)
    };
    if let Some(sent) = sent.iter().find(is_around) {
        let message = format!(
            "--qlog: {} would be in {}, which is sent, and change meanwhile; name a file elsewhere",
            file.display(),
            sent.display()
        );
        return Err(Failure::new(Kind::Source, message));
    }
    Qlog::create(file)
}

/// Runs `pcc recv`.
pub fn recv(args: RecvArgs) -> anyhow::Result<ExitCode> {
    check_advertised(&args.advertise)?;
    // It can only be read by changing it, which must not happen while other threads make files.
    let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(umask);
    let RecvArgs { dir, listen, advertise, from, keep, identity, ticket_out, metrics, .. } = args;
    let RecvArgs { overwrite, sync, checksum, no_perms, safe_links, timeout, json, .. } = args;
    let rules = Rules {
        overwrite: overwrite || sync,
        sync,
        checksum,
        permissions: !no_perms,
        safe_links,
        umask: umask.bits() as u32,
        patience: timeout,
    };
    if keep {
        let senders = choice::senders(from)
            .ok_or_else(|| usage("--keep takes senders by their names only: nobody is there to see who comes"))?;
        let reporter = Arc::new(Reporter::log(json));
        let options = keep::Options { dir, listen, advertise, senders, rules, identity, ticket_out, metrics };
        return Ok(finish(&reporter, runtime::run(with_long_files(keep::run(options, reporter.clone())))));
    }
    let welcome = welcome(from)?;
    let reporter = Arc::new(Reporter::new(json));
    let options = receiver::Options { dir, listen, advertise, welcome, rules };
    Ok(finish(&reporter, runtime::run_in_one_thread(with_long_files(receiver::run(options, reporter.clone())))))
}

/// Does this so that a file that is longer than a limit allows (`ulimit -f`) is an error like a full disk, and no sudden end.
async fn with_long_files<T>(work: impl Future<Output = T>) -> T {
    // If the system refuses, it is as without.
    let _heard = signals::too_long_files();
    work.await
}

fn welcome(from: Vec<Allowed>) -> anyhow::Result<Welcome> {
    if from.is_empty() {
        return if std::io::stdin().is_terminal() {
            Ok(Welcome::Confirmed)
        } else {
            Err(usage(
                "nobody can be asked for the sender's code, as standard input is no terminal; say with --from which \
                 sender may send, or --from anyone for whoever comes first with the ticket",
            ))
        };
    }
    Ok(choice::senders(from).map_or(Welcome::Anyone, Welcome::Only))
}

/// Reports how the work failed if it did: in a way of its own, because of `--json`.
fn finish(reporter: &Reporter, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            reporter.failure(&failure);
            failure.exit_code()
        }
    }
}

#[cfg(test)]
mod command_line {
    use super::*;

    #[test]
    fn every_exit_code_is_in_the_help() {
        for kind in Kind::ALL {
            let elsewhere = matches!(kind, Kind::Other | Kind::Untrusted);
            assert!(elsewhere || EXIT_CODES.contains(&format!("\n  {:<5}", kind.code())), "{kind:?}");
        }
    }
}
