//! A program from its beginning to its end.

use super::signals::{exit_code, forwarded_signals, sent_by_process};
use super::user::Caller;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Exit codes of shells, and of programs that run programs.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs a program (found as shells do) with its arguments as the user who called `sudo`, `doas` or `pkexec`, else as who runs
/// this process, and returns its exit code as shells show it: 128 + n for signal n, 127 for a program that isn't there, 126 for
/// one that can't be run. Why a program fails to start goes to standard error.
///
/// Signals that processes send to this one are the program's. This thread keeps them blocked, and so must all others.
///
/// # Errors
///
/// When the user who became root can't be found out, or the operating system refuses.
pub fn run(program: &[OsString]) -> io::Result<u8> {
    let mut signals = forwarded_signals();
    signals.add(Signal::SIGCHLD);
    signals.add(Signal::SIGCONT);
    signals.thread_block()?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)?;
    let caller = Caller::find()?;
    // On a thread of its own, which alone changes its user.
    let start = || std::thread::scope(|scope| scope.spawn(|| start(caller.as_ref(), program)).join());
    let child = match start().unwrap_or_else(|_| Err(io::Error::other("panicked"))) {
        Ok(child) => child,
        Err(error) => {
            let name = program.first().map_or_else(Default::default, |name| name.to_string_lossy());
            eprintln!("error: can't run {name}: {error}");
            return Ok(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE });
        }
    };
    loop {
        let Some(arrived) = signals.read_signal()? else { continue };
        match Signal::try_from(arrived.ssi_signo as i32)? {
            Signal::SIGCHLD => {
                if let Some(code) = reap(child)? {
                    return Ok(code);
                }
            }
            // It fails when the program has just ended.
            signal if sent_by_process(arrived.ssi_code) => kill(child, signal).unwrap_or(()),
            _ => {}
        }
    }
}

/// Starts the program. It begins with all signals let through; this thread never lets them through, for they would be lost.
fn start(caller: Option<&Caller>, program: &[OsString]) -> io::Result<Pid> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    if let Some(caller) = caller {
        variables.extend(caller.environment());
        caller.take_over()?;
    }
    let environment = variables.into_iter().map(|(name, value)| c_string([name, value].join(OsStr::new("="))));
    let environment = environment.collect::<io::Result<Vec<CString>>>()?;
    let arguments = program.iter().cloned().map(c_string).collect::<io::Result<Vec<CString>>>()?;
    let name = arguments.first().ok_or(io::ErrorKind::NotFound)?;
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF)?;
    attributes.set_sigmask(&SigSet::empty())?;
    // Rust programs such as this one ignore it.
    attributes.set_sigdefault(&Signal::SIGPIPE.into())?;
    Ok(posix_spawnp(name, &PosixSpawnFileActions::init()?, &attributes, &arguments, &environment)?)
}

fn c_string(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// Waits for all that has ended, orphans among them; returns the exit code of `child` if it was that.
fn reap(child: Pid) -> io::Result<Option<u8>> {
    let child = rustix::process::Pid::from_raw(child.as_raw());
    loop {
        match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if Some(pid) == child => {
                if !status.stopped() {
                    return Ok(Some(exit_code(ExitStatus::from_raw(status.as_raw()))));
                }
                // At a terminal the shell outside has to learn of it, or nobody could continue it.
                if io::stdin().is_terminal() {
                    kill(Pid::from_raw(0), Signal::SIGTSTP)?;
                }
            }
            Ok(None) | Err(Errno::CHILD) => return Ok(None),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
