//! The side of `pcc proxy status` and `pcc proxy weight`.

use super::{PATIENCE, Reply, Request, folder};
use crate::exit::usage;
use crate::failure::printable;
use crate::output::{json_lines, show};
use crate::proxy::session::Status;
use anyhow::{Context, anyhow, bail};
use indicatif::HumanBytes;
use pcc::Weight;
use std::fmt::Write as _;
use std::fs::{read_dir, remove_file};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

const NO_FOLDER: &str = "neither --control nor XDG_RUNTIME_DIR names a folder; start pcc proxy with --control DIR too";
/// More than all connections of a process need.
const MAX_REPLY: u64 = 1 << 20;

/// Shows what the connections of all running `pcc proxy` do.
pub fn status(named: Option<&Path>, json: bool) -> anyhow::Result<()> {
    let folder = existing(named)?;
    let mut all = Vec::new();
    for socket in sockets(&folder)? {
        match ask(&socket, &Request::Status)? {
            Some(Reply::Status(statuses)) => all.extend(statuses),
            Some(_) => bail!("{} is not of this version of pcc", socket.display()),
            None => {}
        }
    }
    show(&if json { json_lines(&all)? } else { table(&all) })?;
    Ok(())
}

/// Changes the weight of a connection.
pub fn set_weight(named: Option<&Path>, id: &str, weight: &Weight) -> anyhow::Result<()> {
    let folder = existing(named)?;
    let process = id.split_once('.').map(|(process, _)| process).filter(|process| is_process(process));
    let process = process
        .ok_or_else(|| usage(format!("{id:?} is no connection as pcc proxy status shows it, such as 4711.1")))?;
    match ask(&folder.join(process), &Request::Weight { id: id.to_owned(), weight: weight.get() })? {
        Some(Reply::Done) => Ok(()),
        Some(Reply::Refused(why)) => Err(anyhow!("{}", printable(why.as_bytes()))),
        Some(Reply::Status(_)) => Err(anyhow!("process {process} is not of this version of pcc")),
        None => Err(anyhow!("no pcc proxy runs as process {process}")),
    }
}

/// The folder of the sockets. That of the session needs not be there, if nothing has run yet.
fn existing(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(named) if !named.is_dir() => {
            bail!("{} is no folder; give the one that pcc proxy was started with", named.display())
        }
        _ => folder(named).ok_or_else(|| usage(NO_FOLDER)),
    }
}

fn is_process(name: &str) -> bool {
    name.parse::<u32>().is_ok()
}

/// The sockets of running commands, and of killed ones.
fn sockets(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("can't read {}", folder.display()))?,
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut processes: Vec<String> = names.filter(|name| is_process(name)).collect();
    processes.sort();
    Ok(processes.iter().map(|process| folder.join(process)).collect())
}

/// Asks a running command. None if there is none; what a killed one has left is removed.
fn ask(socket: &Path, request: &Request) -> anyhow::Result<Option<Reply>> {
    let shown = || format!("can't talk to {}", socket.display());
    let mut stream = match UnixStream::connect(socket) {
        Ok(stream) => stream,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            // Fails only where it is not ours.
            let _ = remove_file(socket);
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(shown),
    };
    stream.set_read_timeout(Some(PATIENCE)).with_context(shown)?;
    stream.set_write_timeout(Some(PATIENCE)).with_context(shown)?;
    stream.write_all(&serde_json::to_vec(request)?).with_context(shown)?;
    stream.shutdown(Shutdown::Write).with_context(shown)?;
    let mut reply = Vec::new();
    stream.take(MAX_REPLY).read_to_end(&mut reply).with_context(shown)?;
    serde_json::from_slice(&reply).map(Some).with_context(shown)
}

fn table(statuses: &[Status]) -> String {
    let number = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let mut rows = vec![
        ["ID", "PEER", "CONTROLLER", "WEIGHT", "MBIT/S", "RTT MS", "LOSS %", "SENT", "RECEIVED", "TCP", "UDP"]
            .map(str::to_owned),
    ];
    rows.extend(statuses.iter().map(|status| {
        [
            printable(status.id.as_bytes()),
            printable(status.peer.as_bytes()),
            printable(status.controller.as_bytes()),
            status.weight.map_or("-".to_owned(), |weight| weight.to_string()),
            number(status.rate_mbps, 1),
            number(status.rtt_ms, 1),
            number(status.loss.map(|loss| loss * 100.0), 1),
            HumanBytes(status.sent_bytes).to_string(),
            HumanBytes(status.received_bytes).to_string(),
            status.tunnels.to_string(),
            status.flows.to_string(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}
