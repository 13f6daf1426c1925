//! Running a program as if its caller had started it: in the name of who called `sudo`, with terminal, signals and exit code its own.

mod handover;
mod run;
mod user;

pub use handover::Handover;
use nix::sys::signal::{SigSet, Signal};
pub use run::run;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
pub use user::shell;

/// The signals that are passed on to a program.
pub(crate) fn forwarded_signals() -> SigSet {
    let signals = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];
    signals.into_iter().collect()
}

/// Whether a signal came from a process. What the terminal sends, the program gets itself.
fn sent_by_process(code: i32) -> bool {
    code <= 0
}

/// What shells show of how a process ended.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
