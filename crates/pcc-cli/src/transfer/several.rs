//! `pcc send` to several receivers at once: each gets it over a connection of its own, and what becomes of one is nothing to
//! the others.

use super::progress::Reporter;
use super::sender::{self, Options};
use crate::failure::{Failure, Kind, Result};
use std::sync::Arc;
use tokio::task::LocalSet;

/// Sends to all of these, each with what it is called.
pub async fn run(receivers: Vec<(String, Options)>, json: bool) -> Result<()> {
    let count = receivers.len();
    let sending = LocalSet::new();
    let tasks: Vec<_> = receivers
        .into_iter()
        .map(|(name, options)| {
            let reporter = Arc::new(Reporter::of_one(json, name.clone()));
            let work = async move {
                let result = sender::run(options, reporter.clone()).await;
                result.inspect_err(|failure| reporter.failure(failure)).map_err(|failure| (name, failure))
            };
            sending.spawn_local(work)
        })
        .collect();
    sending.await;
    let mut failed = Vec::new();
    for task in tasks {
        failed.extend(task.await.map_err(|e| Failure::new(Kind::Other, e))?.err());
    }
    // That some files are missing is the least.
    let worst = failed.iter().min_by_key(|(_, failure)| failure.kind == Kind::Incomplete);
    let Some(kind) = worst.map(|(_, failure)| failure.kind) else { return Ok(()) };
    let names: Vec<_> = failed.iter().map(|(name, _)| name.as_str()).collect();
    let message = format!("{} of {count} receivers do not have all of it: {}", failed.len(), names.join(", "));
    Err(Failure::new(kind, message))
}
