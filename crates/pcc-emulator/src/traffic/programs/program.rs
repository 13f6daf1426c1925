//! An outside program that runs.

use super::output::{Output, Stream};
use crate::error::EmulatorError;
use crate::host::Namespace;
use crate::host::guard::Guarded;
use rustix::process::Signal;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Between the request to end and the end by force.
const GRACE: Duration = Duration::from_millis(500);

/// A program that runs; it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Program {
    name: String,
    guarded: Guarded,
    output: Output,
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ending {
    /// The processor time that it took.
    pub cpu: Duration,
    /// The bytes that it said it had received.
    pub received: Option<u64>,
    /// What went wrong, unless it was told to end.
    pub failure: Option<String>,
}

impl Program {
    /// Starts a program with its arguments in a namespace.
    pub fn start(namespace: &Namespace, words: &[String]) -> Result<Program, EmulatorError> {
        let mut guarded = namespace.run(|| {
            Guarded::spawn(words, |command| {
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            })
        })?;
        let mut output = Output::default();
        let listening = |error| EmulatorError::System { doing: "can't listen to a program", error };
        if let Some(pipe) = guarded.stdout.take() {
            output.listen(Stream::Standard, pipe).map_err(listening)?;
        }
        if let Some(pipe) = guarded.stderr.take() {
            output.listen(Stream::Error, pipe).map_err(listening)?;
        }
        Ok(Program { name: words.first().cloned().unwrap_or_default(), guarded, output })
    }

    /// Waits until it has printed something, up to `deadline`.
    pub fn wait_for_output(&self, deadline: Instant) {
        self.output.wait(deadline);
    }

    /// Waits until the program ends. When `until` is ready it is asked to end, and killed if it doesn't soon.
    pub async fn run_until(self, until: impl Future<Output = ()>) -> Ending {
        let told = tokio::select! {
            () = self.ended() => false,
            () = until => true,
        };
        if told {
            self.guarded.signal(Signal::TERM);
            let _ = tokio::time::timeout(GRACE, self.ended()).await;
            self.guarded.signal(Signal::KILL);
        }
        self.finish(told)
    }

    // The replacement is `unsafe`, for types that could hand out a descriptor they don't own. `BorrowedFd` can't.
    #[allow(deprecated)]
    async fn ended(&self) {
        match AsyncFd::with_interest(self.guarded.as_fd(), Interest::READABLE) {
            Ok(guard) => drop(guard.readable().await),
            // Out of file descriptors: it ends with the run.
            Err(_) => std::future::pending().await,
        }
    }

    fn finish(self, told: bool) -> Ending {
        let ended = self.guarded.wait();
        let (received, errors) = self.output.finish();
        let failure = match &ended {
            _ if told => None,
            Ok(ended) if ended.code == 0 => None,
            Ok(ended) => Some(format!("{} ended with exit code {}: {errors}", self.name, ended.code)),
            Err(error) => Some(error.to_string()),
        };
        Ending { cpu: ended.map_or(Duration::ZERO, |ended| ended.cpu), received, failure }
    }
}
