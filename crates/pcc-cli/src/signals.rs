//! The signals that ask a command to end: SIGINT, which Ctrl-C sends, and SIGTERM. And those that are not to end it.

#[cfg(test)]
use crate::simulation;
use std::io::{self, IsTerminal};
use std::pin::Pin;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears them from when it is made, in place of what they would do by themselves.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Where SIGHUP doesn't end the command by itself.
    hangup: Option<Hangup>,
}

impl Signals {
    /// Begins to hear them; inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn new() -> io::Result<Signals> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Signals { interrupt, terminate, hangup: None })
    }

    /// Those of a service. SIGHUP ends it only when the terminal that it was started at is gone: a service manager or an
    /// administrator who sends it wants something read again, and no connection cut.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn of_service() -> io::Result<Signals> {
        Ok(Signals { hangup: Some(Hangup::new()?), ..Signals::new()? })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = terminal_gone(&mut self.hangup) => {}
        }
    }
}

async fn terminal_gone(hangup: &mut Option<Hangup>) {
    match hangup {
        Some(hangup) => while !hangup.next().await {},
        None => std::future::pending().await,
    }
}

/// Hears SIGHUP from when it is made.
pub struct Hangup {
    signal: Signal,
    had_terminal: bool,
}

impl Hangup {
    /// Begins to hear it; inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn new() -> io::Result<Hangup> {
        Ok(Hangup { signal: signal(SignalKind::hangup())?, had_terminal: io::stdin().is_terminal() })
    }

    /// Waits for the next one: whether it came because the terminal of this command is gone.
    pub async fn next(&mut self) -> bool {
        self.signal.recv().await;
        self.had_terminal && !io::stdin().is_terminal()
    }
}

/// Hears SIGXFSZ from now on, in place of dying of it: the write that is too long fails with EFBIG.
///
/// # Errors
///
/// When the operating system refuses.
pub fn too_long_files() -> io::Result<Signal> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))
}

/// The first one, heard from when this is made.
pub type Interrupted = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits for the first one from the call on, not only from when it is awaited; forever where they can't be heard.
pub fn interrupted() -> Interrupted {
    #[cfg(test)]
    if let Some(process) = simulation::process() {
        return Box::pin(async move { process.interrupted().await });
    }
    match Signals::new() {
        Ok(mut signals) => Box::pin(async move { signals.next().await }),
        Err(_) => Box::pin(std::future::pending()),
    }
}
