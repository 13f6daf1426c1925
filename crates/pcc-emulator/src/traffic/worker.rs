//! The threads of a group.

use super::group::TrafficFlow;
use super::place::{Place, Stage};
use super::record::Record;
use crate::error::EmulatorError;
use crate::realtime::{Priority, be_punctual, thread_cpu};
use pcc_quic::precise::Timer;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Tells when a run is over.
#[derive(Clone, Debug)]
pub(super) struct Over(watch::Receiver<Stage>);

impl Over {
    /// Waits until then, or until nobody wants the run any more.
    pub async fn wait(&mut self) {
        let _ = self.0.wait_for(|stage| matches!(stage, Stage::Over)).await;
    }
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
        Worker::spawn(place, side, async move |origin, mut over| {
            be_punctual(Priority::Ends);
            let mut tasks = JoinSet::new();
            flows(origin, &mut tasks);
            tokio::select! {
                () = async { while tasks.join_next().await.is_some() {} } => {}
                () = over.wait() => {}
            }
            thread_cpu()
        })
    }

    /// A thread that does `work` when the run's origin is known; `work` has to end soon after the run, and says how much processor
    /// time it took.
    pub fn spawn(
        place: &Place<'_>,
        side: &str,
        work: impl AsyncFnOnce(Instant, Over) -> Duration + Send + 'static,
    ) -> Result<Worker, EmulatorError> {
        let system = |error| EmulatorError::System { doing: "can't start a thread for flows", error };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
        let mut stage = place.stage.subscribe();
        let run = async move || match stage.wait_for(|stage| !matches!(stage, Stage::Ready)).await.map(|stage| *stage) {
            Ok(Stage::Going(origin)) => work(origin, Over(stage)).await,
            _ => Duration::ZERO,
        };
        let thread = std::thread::Builder::new().name(format!("{side} {}", place.index));
        Ok(Worker { thread: thread.spawn(move || runtime.block_on(run())).map_err(system)? })
    }

    /// Waits for its end; the processor time that it took.
    pub fn join(self) -> Option<Duration> {
        self.thread.join().ok()
    }
}

/// Sends from the start of a flow to its stop.
pub(super) async fn send(
    flow: TrafficFlow,
    origin: Instant,
    record: Arc<Record>,
    sending: impl Future<Output = io::Result<()>>,
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
        record.fail(error);
    }
}
