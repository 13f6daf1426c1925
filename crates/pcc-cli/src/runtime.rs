//! The runtime of commands that use the network.

use crate::failure::{Failure, Result};
#[cfg(test)]
use crate::simulation;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

/// Does the work of a command to its end.
///
/// # Errors
///
/// How the work failed, or that there is no runtime.
pub fn run(work: impl Future<Output = Result<()>>) -> Result<()> {
    run_on(Builder::new_multi_thread().worker_threads(2), work)
}

/// The same with one thread for all of the network, which is faster for one connection, as no packet has to wake another thread. And a task that
/// reads a stream is never further behind than what arrives in its turn: noq closes a connection ("too many gaps in stream buffer") when some 2000
/// packets of a stream wait to be read, and on a busy machine another thread would receive as many while the one that reads waits for a processor.
/// What reads much of one stream must be a task of its own, because the work itself has one turn after 61 of the tasks'. And what another thread
/// wakes, as one that waits for standard output does, must not wait for 31 of them, as it would by default.
///
/// # Errors
///
/// As [`run`].
pub fn run_in_one_thread(work: impl Future<Output = Result<()>>) -> Result<()> {
    run_on(Builder::new_current_thread().global_queue_interval(1), work)
}

fn run_on(builder: &mut Builder, work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|e| Failure::io("start the runtime", &e))?;
    let result = runtime.block_on(work);
    // A thread that is busy with a disk, or waits for a terminal, must not keep the command from ending.
    runtime.shutdown_background();
    result
}

/// Does what may keep a thread busy, as a disk does, on one of its own.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    #[cfg(test)]
    if let Some(process) = simulation::process() {
        return process.work(work);
    }
    tokio::task::spawn_blocking(work)
}
