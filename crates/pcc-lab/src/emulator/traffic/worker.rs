//! The threads of a group.

use super::record::Record;
use super::{Flow, Place};
use crate::emulator::EmulatorError;
use pcc_quic::precise::Timer;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Everything is set up.
    Ready,
    /// Flows count from this instant.
    Going(Instant),
    /// It is over.
    Over,
}

/// A thread that runs one side of a group.
pub(super) struct Worker {
    thread: JoinHandle<Duration>,
}

impl Worker {
    /// A thread that lets `flows` add their tasks when the run's origin is known, and ends with the run.
    pub fn start(
        place: &Place<'_>,
        side: &str,
        flows: impl FnOnce(Instant, &mut JoinSet<()>) + Send + 'static,
    ) -> Result<Worker, EmulatorError> {
        let system = |error| EmulatorError::System { doing: "can't start a thread for flows", error };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
        let stage = place.stage.subscribe();
        let thread = std::thread::Builder::new().name(format!("{side} {}", place.index));
        let thread = thread.spawn(move || work(&runtime, stage, flows)).map_err(system)?;
        Ok(Worker { thread })
    }

    /// Waits for its end; the processor time that it took.
    pub fn join(self) -> Option<Duration> {
        self.thread.join().ok()
    }
}

fn work(
    runtime: &Runtime,
    mut stage: watch::Receiver<Stage>,
    flows: impl FnOnce(Instant, &mut JoinSet<()>),
) -> Duration {
    runtime.block_on(async {
        // The sender of stages is gone when nobody wants the run any more.
        let Ok(Stage::Going(origin)) = stage.wait_for(|stage| !matches!(stage, Stage::Ready)).await.map(|stage| *stage)
        else {
            return;
        };
        let mut tasks = JoinSet::new();
        flows(origin, &mut tasks);
        tokio::select! {
            () = async { while tasks.join_next().await.is_some() {} } => {}
            _ = stage.wait_for(|stage| matches!(stage, Stage::Over)) => {}
        }
    });
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Sends from the start of a flow to its stop.
pub(super) async fn send<E: ToString + From<io::Error>>(
    flow: Flow,
    origin: Instant,
    record: Arc<Record>,
    sending: impl Future<Output = Result<(), E>>,
) {
    let during = async {
        let mut timer = Timer::new()?;
        timer.sleep_until(origin + flow.start).await;
        match flow.stop {
            Some(stop) => tokio::select! {
                sent = sending => sent,
                () = timer.sleep_until(origin + stop) => Ok(()),
            },
            None => sending.await,
        }
    };
    if let Err(error) = during.await {
        record.fail(error.to_string());
    }
}
