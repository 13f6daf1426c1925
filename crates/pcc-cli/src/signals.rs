//! The signals that ask a command to end: SIGINT, which Ctrl-C sends, and SIGTERM. And one that is not to end it.

#[cfg(test)]
use crate::simulation;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears them from when it is made, in place of what they would do by themselves.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Begins to hear them; inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    pub fn new() -> io::Result<Signals> {
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
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

/// Waits for the first one from the call on, not only from when it is awaited; forever where they can't be heard.
pub fn interrupted() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(test)]
    let process = simulation::process();
    let signals = Signals::new();
    async move {
        #[cfg(test)]
        if let Some(process) = process {
            return process.interrupted().await;
        }
        match signals {
            Ok(mut signals) => signals.next().await,
            Err(_) => std::future::pending().await,
        }
    }
}
