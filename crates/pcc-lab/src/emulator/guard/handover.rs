//! Standing back for a program: signals and the terminal are its own while it runs.

use super::{Guarded, forwarded_signals};
use crate::emulator::EmulatorError;
use nix::sys::signal::Signal;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{getpgrp, pidfd_send_signal};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::fs::File;
use std::io;

/// From its beginning on, Ctrl-C and requests to end don't end this process, which passes them on to a program instead. When this is
/// dropped, the terminal is as it was.
#[derive(Debug)]
pub struct Handover {
    /// The terminal, if this process is in its foreground.
    terminal: Option<File>,
}

impl Handover {
    /// Holds the signals back. To be called before there are other threads, which would get them.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn begin() -> Result<Handover, EmulatorError> {
        let mut signals = forwarded_signals();
        // This would stop who takes the terminal back.
        signals.add(Signal::SIGTTOU);
        signals.thread_block().map_err(fault)?;
        let terminal = File::open("/dev/tty").ok().filter(|terminal| tcgetpgrp(terminal) == Ok(getpgrp()));
        Ok(Handover { terminal })
    }

    /// Passes the signals on to the program, those too that came since the beginning.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn to(&self, program: &Guarded) -> Result<(), EmulatorError> {
        let signals = SignalFd::with_flags(&forwarded_signals(), SfdFlags::SFD_CLOEXEC).map_err(fault)?;
        let guard = program.guard.try_clone().map_err(fault)?;
        let forward = move || {
            for signal in signals.filter(|signal| sent_by_process(signal.ssi_code)) {
                if let Some(signal) = rustix::process::Signal::from_named_raw(signal.ssi_signo as i32) {
                    let _ = pidfd_send_signal(&guard, signal);
                }
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(forward).map_err(fault)?;
        Ok(())
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        if let Some(terminal) = &self.terminal {
            let _ = tcsetpgrp(terminal, getpgrp());
        }
    }
}

/// Whether a signal came from a process. What the terminal sends, the program gets itself.
pub(super) fn sent_by_process(code: i32) -> bool {
    code <= 0
}

fn fault(error: impl Into<io::Error>) -> EmulatorError {
    EmulatorError::System { doing: "can't pass on signals", error: error.into() }
}
