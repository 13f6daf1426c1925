//! The signals that ask a command to end: SIGINT, which Ctrl-C sends, and SIGTERM. And one that is not to end it.

#[cfg(test)]
use crate::simulation;
use std::io;
use std::pin::Pin;
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
