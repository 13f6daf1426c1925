//! What is open, and the end of a command: what is open may finish, nothing new is begun.

use crate::signals::Signals;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long what is open may take to finish.
const PATIENCE: Duration = Duration::from_secs(30);

/// Places for what can be open at once.
#[derive(Clone)]
pub struct Places {
    free: Arc<Semaphore>,
    all: u32,
}

impl Places {
    /// So many.
    pub fn new(all: u32) -> Places {
        Places { free: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// A place, if there is one and this side is not about to end. It is free again when this is dropped.
    pub fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.free.clone().try_acquire_owned().ok()
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.all as usize - self.free.available_permits()
    }

    /// Gives no place away any more, and waits until all are free, for a while, or for the next signal; whether they are.
    /// How many are taken is told to `begin`, if any is.
    pub async fn drain(&self, signals: &mut Signals, begin: impl FnOnce(usize)) -> bool {
        let taken = self.taken();
        if taken > 0 {
            begin(taken);
        }
        tokio::select! {
            // Whoever waits for all of them comes before all others.
            drained = timeout(PATIENCE, self.free.acquire_many(self.all)) => drained.is_ok(),
            () = signals.next() => false,
        }
    }
}
