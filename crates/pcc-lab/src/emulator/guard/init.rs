//! Inside: the guard itself, the first process of the program's namespace of process identifiers.

use super::handover::sent_by_process;
use super::user::Caller;
use super::{exit_code, forwarded_signals, proc};
use crate::emulator::open_files;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{WaitOptions, set_parent_process_death_signal, wait};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Exit codes of shells, and of programs that run programs.
const GUARD_FAILED: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs a program for the process `parent` as [`super::Guarded`] asks for it, with room for so many open `files`, and returns its exit code.
pub fn guard(parent: u32, files: u64, program: &[OsString]) -> u8 {
    open_files::limit(files);
    match prepare(parent).and_then(|signals| run(&signals, program)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: can't guard a program: {error}");
            GUARD_FAILED
        }
    }
}

/// Ties this process to its parent, and takes over the signals.
fn prepare(parent: u32) -> io::Result<SignalFd> {
    set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The parent may have ended before. In the /proc of its namespace, which is still mounted, this process can tell.
    if std::process::id() != 1 || proc::parent()? != parent {
        return Err(io::Error::other("`pcc guard` is a part of `pcc lab`"));
    }
    // Blocked, for the first process of a namespace ignores what it has no handler for.
    let mut signals = forwarded_signals();
    signals.add(Signal::SIGCHLD);
    signals.add(Signal::SIGCONT);
    signals.thread_block()?;
    show_own_system()?;
    Ok(SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)?)
}

/// Mounts the /proc of this namespace of processes and the /sys of this network namespace, for this process and its children.
///
/// In a container it may be forbidden. Programs then see the processes and devices of the host, and no more than see.
fn show_own_system() -> io::Result<()> {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Nothing of this gets out; what others mount still gets in.
    if mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SLAVE, NONE).is_ok() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let _ = mount(Some("proc"), "/proc", Some("proc"), flags, NONE);
        let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), flags, NONE);
    }
    Ok(())
}

/// Starts the program and does what the first process has to do until it ends.
fn run(signals: &SignalFd, program: &[OsString]) -> io::Result<u8> {
    let caller = Caller::of_sudo()?;
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
