//! `pcc get`: downloads a file over HTTP/3.

mod backlog;
mod connect;
mod download;
#[cfg(test)]
mod fuzz;
mod part;
mod report;
mod response;
mod tries;
mod trust;
mod url;
mod writer;

use crate::exit::usage;
use crate::failure::{Failure, Kind};
use crate::peer::pin::Pin;
use crate::runtime;
use crate::seconds::seconds;
use report::Reporter;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use trust::Trust;
use url::Url;

const EXIT_CODES: &str = "\
Exit codes:
  0    complete, and on disk under its name
  1    any other failure
  2    wrong command line
  6    the server cannot be reached, or was lost and did not come back
  7    the file is there already, or what another download left of it, and --overwrite was not given; or what is there is no
       file, or somebody else's
  9    disk full
  10   permission denied, here or by the server (401, 403)
  11   there is nothing at this URL (404, 410)
  12   what came does not match the server's digest
  14   connected, but nothing came for as long as --timeout says
  16   the server's certificate is not trusted, or its key is not the one that --pin names
  130  interrupted";

const EXAMPLES: &str = "\
Examples:
  pcc get https://example.org/images/a.iso
  pcc get --pin sha256//mYp... -o b.iso https://host:4433/a.iso     pcc serve prints the pin
  pcc get --ca company.pem https://files.company.example/a.iso

HTTP/3 only: a server that knows no other version than 1.1 and 2 is for curl. A download that was cut lives in FILE.part: run
the same command again, and only what is missing is asked for, if the file is still the same at the server (If-Range). What
came is checked against the server's Repr-Digest, if it sends one, as pcc serve does.";

/// Downloads a file over HTTP/3.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Args {
    /// The URL, which begins with https://
    #[arg(value_parser = Url::parse)]
    url: Url,
    /// Write into this file; the folders that it is in are made when something comes [default: the last name in the URL]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Trust the server that has this key, whatever its certificate says: sha256//... as curl's --pinnedpubkey
    #[arg(long)]
    pin: Option<Pin>,
    /// Trust servers whose certificate is signed by one in this file (PEM) instead of those this machine trusts
    #[arg(long, value_name = "FILE", conflicts_with = "pin")]
    ca: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
    /// Give up when the server cannot be reached, nothing comes, or no attempt gets further than those before, for this long: seconds,
    /// or for example 2min
    #[arg(long, value_name = "TIME", default_value = "120", allow_negative_numbers = true, value_parser = seconds)]
    timeout: Duration,
    /// Print one JSON object per line on standard output
    #[arg(long)]
    json: bool,
}

/// Runs `pcc get`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { url, output, pin, ca, overwrite, timeout, json } = args;
    let trust = match (pin, ca) {
        (Some(pin), _) => Trust::Key(pin),
        (None, Some(file)) => Trust::read(&file).map_err(usage)?,
        (None, None) => Trust::System,
    };
    if output.as_deref() == Some(Path::new("-")) {
        return Err(usage(
            "a download can't be written to standard output, only into a file; -o ./- is one of this name",
        ));
    }
    let output = match output {
        Some(output) => output,
        None => url
            .file_name()
            .map(PathBuf::from)
            .ok_or_else(|| usage("the last name in this URL can't be a file name here; name one with -o"))?,
    };
    let bytes = output.as_os_str().as_bytes();
    if (output.file_name().is_none() || bytes.ends_with(b"/") || bytes.ends_with(b"/.")) && !output.is_dir() {
        let message =
            format!("-o {}: this names a folder, which isn't there; name a file, perhaps one in it", output.display());
        return Err(usage(message));
    }
    let options = download::Options { url, output, overwrite, trust, patience: timeout };
    let reporter = Arc::new(Reporter::new(json));
    let work = download::run(options, reporter.clone());
    // A task has its turn after each of noq's, so that it reads before more packets than noq lets wait have come.
    let work = async { tokio::spawn(work).await.map_err(|error| Failure::new(Kind::Other, error))? };
    Ok(match runtime::run_in_one_thread(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            reporter.failure(&failure);
            failure.exit_code()
        }
    })
}
