//! Running a program so that nothing of it is left, however it or this process ends.
//!
//! Between this process and the program stands a *guard*: this binary once more, as the first process of a namespace of process
//! identifiers. When the guard ends, the kernel kills all that the program started, daemons among them; and the kernel kills the
//! guard when the thread that started it ends, be it by `kill -9`.

mod guarded;
mod handover;
mod init;
mod proc;
mod user;

pub use guarded::{Ended, Guarded};
pub use handover::Handover;
pub use init::guard;
use nix::sys::signal::{SigSet, Signal};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
pub use user::shell;

/// The signals that a program gets which stands behind a guard.
fn forwarded_signals() -> SigSet {
    let signals = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];
    signals.into_iter().collect()
}

/// What shells show of how a process ended.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
