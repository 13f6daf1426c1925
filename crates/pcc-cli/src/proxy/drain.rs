//! Tunnels that are open, and the end of a command: what is open may finish, nothing new is begun.

use super::report::{Event, Reporter};
use crate::signals::Signals;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long tunnels that are open may take to finish.
const PATIENCE: Duration = Duration::from_secs(30);

/// Places for tunnels.
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

    /// Gives no place away any more, and waits until all are free, for a while, or for the next signal; whether they are.
    pub async fn drain(&self, signals: &mut Signals, reporter: &Reporter) -> bool {
        let open = self.all as usize - self.free.available_permits();
        if open > 0 {
            reporter.event(&Event::Draining { open });
        }
        tokio::select! {
            // Whoever waits for all of them comes before all others.
            drained = timeout(PATIENCE, self.free.acquire_many(self.all)) => drained.is_ok(),
            () = signals.next() => false,
        }
    }
}
