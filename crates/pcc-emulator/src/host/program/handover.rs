//! Standing back for a program: signals and the terminal are its own while it runs.

use super::signals::{forwarded_signals, sent_by_process};
use nix::sys::signal::Signal;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::process::{getpgrp, pidfd_send_signal};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

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
    pub fn begin() -> io::Result<Handover> {
        let mut signals = forwarded_signals();
        // This would stop who takes the terminal back.
        signals.add(Signal::SIGTTOU);
        signals.thread_block()?;
        let terminal = File::open("/dev/tty").ok().filter(|terminal| tcgetpgrp(terminal) == Ok(getpgrp()));
        Ok(Handover { terminal })
    }

    /// Passes the signals on to a program, of which this is a pidfd: those too that came since the beginning.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn to(&self, program: &impl AsFd) -> io::Result<()> {
        let signals = SignalFd::with_flags(&forwarded_signals(), SfdFlags::SFD_CLOEXEC)?;
        let program = program.as_fd().try_clone_to_owned()?;
        let forward = move || {
            for signal in signals.filter(|signal| sent_by_process(signal.ssi_code)) {
                if let Some(signal) = rustix::process::Signal::from_named_raw(signal.ssi_signo as i32) {
                    let _ = pidfd_send_signal(&program, signal);
                }
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(forward)?;
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
