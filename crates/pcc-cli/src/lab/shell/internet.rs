//! The way from the command to the Internet: address translation, for as long as this process lives.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How long `nft` may take for an answer, on however busy a machine.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Where systems have programs for root. It runs as root, and whoever calls may have set `PATH`.
const FOLDERS: [&str; 5] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/run/current-system/sw/bin"];

fn nft() -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join("nft")).find(|nft| nft.is_file())
}

/// A table of rules that the kernel removes with the process `nft` that owns it, which ends when its input does: with this process.
pub struct Internet {
    nft: Child,
    /// What it says; it would end if nobody could hear it.
    answers: BufReader<PipeReader>,
}

impl Internet {
    /// Begins to translate what comes from the command, if this machine forwards packets; `device` is its end of the path. The error says why not.
    pub fn reach(device: &str, address: Ipv4Addr) -> Result<Internet, String> {
        let forwards = std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward").is_ok_and(|value| value.trim() == "1");
        if !forwards {
            return Err("it doesn't forward packets (sysctl -w net.ipv4.ip_forward=1)".to_owned());
        }
        Internet::translate(device, address).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "nft, which translates addresses, isn't installed (package nftables)".to_owned(),
            _ => format!("nft can't translate addresses: {error}"),
        })
    }

    fn translate(device: &str, address: Ipv4Addr) -> io::Result<Internet> {
        let (reader, writer) = io::pipe()?;
        let mut nft = Command::new(nft().ok_or(io::ErrorKind::NotFound)?);
        nft.arg("-i").stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        // In a group of its own, for Ctrl-C is not meant for it.
        let mut internet = Internet { nft: nft.process_group(0).spawn()?, answers: BufReader::new(reader) };
        // The write end of the pipe is in there.
        drop(nft);
        let table = format!("table ip {device}");
        let rules = format!(
            "{table} {{ flags owner; chain nat {{ type nat hook postrouting priority srcnat; \
             ip saddr {address} oifname != \"{device}\" masquerade; }}; }}\nlist {table}\n"
        );
        internet.nft.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(rules.as_bytes())?;
        // Signals wait meanwhile.
        if poll(&mut [PollFd::new(internet.answers.get_ref(), PollFlags::IN)], Some(&PATIENCE))? == 0 {
            return Err(io::Error::other("it doesn't answer"));
        }
        // Either the table or what is wrong.
        let mut answer = String::new();
        internet.answers.read_line(&mut answer)?;
        if answer.starts_with(&table) { Ok(internet) } else { Err(io::Error::other(answer.trim().to_owned())) }
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        let _ = self.nft.kill();
        let _ = self.nft.wait();
    }
}
