//! What a flow has carried.

use crate::proxy::outcome::Carried;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// Counts the datagrams of a flow.
#[derive(Debug, Default)]
pub struct Tally {
    /// Bytes in both directions.
    pub carried: Carried,
    /// Datagrams in both directions, dropped ones as well.
    datagrams: AtomicU64,
    dropped: AtomicU64,
}

impl Tally {
    /// One to the target, which was passed on or dropped.
    pub fn up(&self, payload: &[u8], passed: bool) {
        self.count(&self.carried.up, payload, passed);
    }

    /// One from the target.
    pub fn down(&self, payload: &[u8], passed: bool) {
        self.count(&self.carried.down, payload, passed);
    }

    fn count(&self, bytes: &AtomicU64, payload: &[u8], passed: bool) {
        self.datagrams.fetch_add(1, Ordering::Relaxed);
        if passed {
            bytes.fetch_add(payload.len() as u64, Ordering::Relaxed);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One that can't be passed on.
    pub fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until nothing has moved for at least this long, and for at most twice as long.
    pub async fn idle(&self, patience: Duration) {
        let moved = || self.datagrams.load(Ordering::Relaxed);
        let mut before = moved();
        loop {
            sleep(patience).await;
            if std::mem::replace(&mut before, moved()) == before {
                return;
            }
        }
    }
}
