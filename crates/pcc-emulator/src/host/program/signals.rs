//! Which signals a program gets from whom, and what shells show of its end.

use nix::sys::signal::{SigSet, Signal};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The signals that are passed on to a program.
pub(crate) fn forwarded_signals() -> SigSet {
    let signals = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];
    signals.into_iter().collect()
}

/// Whether a signal came from a process. What the terminal sends, the program gets itself.
pub(super) fn sent_by_process(code: i32) -> bool {
    code <= 0
}

/// What shells show of how a process ended.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
