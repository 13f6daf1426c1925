//! A run in virtual time: two real QUIC endpoints, with real packets and encryption, on a path and a clock that are not.

use super::outcome::Outcome;
use super::path::{MTU, Path};
use anyhow::Context;
use noq::TransportConfig;
use pcc_lab::virtual_quic::{Bulk, BulkProgress};
use pcc_quic::{Algorithm, Factory, Transport};
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;

/// The seed if nobody gives one, so that everybody sees the same.
pub const SEED: u64 = 1;

/// A run that is under way on a thread of its own.
pub struct Running {
    samples: UnboundedReceiver<BulkProgress>,
    outcome: JoinHandle<anyhow::Result<Outcome>>,
}

/// Starts a run, or queues it where the runtime has as many under way as it has threads.
pub fn start(algorithm: Algorithm, path: &Path, duration: Duration, seed: u64) -> Running {
    let path = path.clone();
    let (sampler, samples) = mpsc::unbounded_channel();
    // Nobody listens any more when the command was interrupted.
    let work = move || run(algorithm, &path, duration, seed, |sample| _ = sampler.send(*sample));
    Running { samples, outcome: tokio::task::spawn_blocking(work) }
}

impl Running {
    /// Waits for the outcome; `watch` sees each sample, those first that have come already.
    pub async fn outcome(mut self, mut watch: impl FnMut(&BulkProgress)) -> anyhow::Result<Outcome> {
        while let Some(sample) = self.samples.recv().await {
            watch(&sample);
        }
        self.outcome.await?
    }
}

/// Runs a controller over `path`; all random choices come from `seed`, so that the same seed gives the same outcome on any machine.
/// `watch` sees each sample as it comes.
pub fn run(
    algorithm: Algorithm,
    path: &Path,
    duration: Duration,
    seed: u64,
    mut watch: impl FnMut(&BulkProgress),
) -> anyhow::Result<Outcome> {
    let bulk = Bulk { reverse: path.reverse(), duration, seed, mtu: Some(MTU), ..Bulk::over(path.forward()) };
    let mut samples = vec![BulkProgress::default()];
    let report = bulk.run_watched(transport(algorithm, seed), &mut |progress| {
        watch(progress);
        samples.push(*progress);
    });
    match report.closed {
        Some(error) => Err(error).context("the connection ended"),
        None => Ok(Outcome::new(algorithm, seed, path, report.forward, samples)),
    }
}

/// noq's configuration of the sender. noq's own BBRv3 draws from the system's random numbers and can't be given a seed
/// (`congestion/bbr3/mod.rs` of noq-proto 1.4.0), so that of `pcc-baselines` takes its place.
fn transport(algorithm: Algorithm, seed: u64) -> TransportConfig {
    match pcc_baselines::constructor("bbr3").filter(|_| algorithm == Algorithm::Bbr3) {
        Some(build) => Transport::config_with(Factory::new(move |start| build(start.seed)).with_seed(seed)),
        None => Transport { algorithm, seed: Some(seed), ..Transport::default() }.config(),
    }
}
