//! Outside: starting a guard, and hearing of its end.

use super::proc;
use crate::error::EmulatorError;
use crate::host::open_files;
use crate::host::program::{exit_code, forwarded_signals};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A program under a guard; it is killed, with all that it started, when this is dropped.
#[derive(Debug)]
pub struct Guarded {
    /// What it prints, where [`Guarded::spawn`] was told to pipe it.
    pub stdout: Option<ChildStdout>,
    /// The same of what it prints about errors.
    pub stderr: Option<ChildStderr>,
    guard: OwnedFd,
    /// Started the guard, and lives as long: the kernel kills the guard at the end of this thread.
    thread: Option<JoinHandle<io::Result<Ended>>>,
}

/// The exit code of a program, and the processor time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Its exit code as shells show it: 128 + n for signal n, 127 for a program that isn't there, 126 for one that can't be run.
    pub code: u8,
    /// The CPU time of it and all that it started, to a hundredth of a second.
    pub cpu: Duration,
}

impl Guarded {
    /// Starts a program (found as shells do) with its arguments, in the network namespace of this thread and as the user who called
    /// `sudo`, else as who runs this process. `prepare` sets its environment, directory and standard streams.
    ///
    /// This binary must hand its subcommand `guard` to [`super::guard`].
    ///
    /// # Errors
    ///
    /// When the guard can't be started. What is wrong with the program itself it says on its standard error.
    pub fn spawn<S: AsRef<OsStr>>(program: &[S], prepare: impl FnOnce(&mut Command)) -> Result<Guarded, EmulatorError> {
        let fault = |error| EmulatorError::System { doing: "can't start a program", error };
        let numbers = [u64::from(proc::this_process().map_err(fault)?), open_files::at_first()];
        let mut command = Command::new("/proc/self/exe");
        command.arg0("pcc").arg("guard").args(numbers.map(|number| number.to_string())).arg("--").args(program);
        prepare(&mut command);
        let (started, starting) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("guard".to_owned()).spawn(move || {
            let (child, number) = match start(&mut command) {
                Ok((mut child, number, guard)) => {
                    // The receiver, below, waits for it.
                    let _ = started.send(Ok((guard, child.stdout.take(), child.stderr.take())));
                    (child, number)
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    return Err(io::ErrorKind::Other.into());
                }
            };
            end(child, number)
        });
        let thread = thread.map_err(fault)?;
        let started = starting.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")));
        let (guard, stdout, stderr) = started.map_err(fault)?;
        Ok(Guarded { stdout, stderr, guard, thread: Some(thread) })
    }

    /// Sends the program a signal; nothing happens when it has ended.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.guard, signal);
    }

    /// Waits until the program has ended, and then ends all that it left behind.
    ///
    /// # Errors
    ///
    /// When the operating system doesn't say how it ended.
    pub fn wait(mut self) -> Result<Ended, EmulatorError> {
        self.join().map_err(|error| EmulatorError::System { doing: "can't wait for a program", error })
    }

    fn join(&mut self) -> io::Result<Ended> {
        let thread = self.thread.take().ok_or(io::ErrorKind::NotFound)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that waits for it panicked")))
    }
}

impl AsFd for Guarded {
    /// A pidfd: there is something to read when the program has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.guard.as_fd()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.signal(Signal::KILL);
            let _ = self.join();
        }
    }
}

/// Starts the guard as the first process of a new namespace, which only the children of this thread get into; with its number in /proc.
fn start(command: &mut Command) -> io::Result<(Child, u32, OwnedFd)> {
    // In the guard too, so that none is lost before it is ready for them.
    forwarded_signals().thread_block()?;
    unshare(CloneFlags::CLONE_NEWPID)?;
    let child = command.spawn()?;
    let guard = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let number = proc::number_of(&guard)?;
    Ok((child, number, guard))
}

/// Waits for the end of the guard. It has waited for all others in its namespace by then, and so has their CPU time.
fn end(mut child: Child, number: u32) -> io::Result<Ended> {
    let pid = WaitId::Pid(Pid::from_child(&child));
    while let Err(error) = waitid(pid.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    let cpu = proc::cpu_time(number)?;
    Ok(Ended { code: exit_code(child.wait()?), cpu })
}
