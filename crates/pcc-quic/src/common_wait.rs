//! How long packets may stay in a socket that several connections share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The shortest of the waits that connections allow; zero while none allows any.
#[derive(Debug, Default)]
pub(crate) struct CommonWait {
    /// In nanoseconds.
    shortest: AtomicU64,
    /// How many connections allow each wait, in nanoseconds.
    connections: Mutex<BTreeMap<u64, usize>>,
}

impl CommonWait {
    pub(crate) fn shortest(&self) -> Duration {
        Duration::from_nanos(self.shortest.load(Ordering::Relaxed))
    }

    fn replace(&self, before: Option<u64>, now: Option<u64>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = now {
            *connections.entry(now).or_default() += 1;
        }
        if let Some(before) = before
            && let Some(count) = connections.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                connections.remove(&before);
            }
        }
        let shortest = connections.first_key_value().map_or(0, |(wait, _)| *wait);
        self.shortest.store(shortest, Ordering::Relaxed);
    }
}

/// What one connection allows, until this is dropped.
#[derive(Debug)]
pub(crate) struct OwnWait {
    common: Arc<CommonWait>,
    /// In nanoseconds. `None` before the connection has said anything.
    allowed: Option<u64>,
}

impl OwnWait {
    pub(crate) fn new(common: Arc<CommonWait>) -> OwnWait {
        OwnWait { common, allowed: None }
    }

    /// The connection allows this wait from now on. It locks only if that is another one than before.
    pub(crate) fn allow(&mut self, wait: Duration) {
        let wait = Some(wait.as_nanos() as u64);
        if wait != self.allowed {
            self.common.replace(self.allowed, wait);
            self.allowed = wait;
        }
    }
}

impl Drop for OwnWait {
    fn drop(&mut self) {
        if self.allowed.is_some() {
            self.common.replace(self.allowed, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn no_connection_waits_longer_than_it_allows() {
        let common = Arc::new(CommonWait::default());
        let [mut a, mut b, mut silent] = [(); 3].map(|()| OwnWait::new(common.clone()));
        assert_eq!(common.shortest(), Duration::ZERO);
        a.allow(2 * MS);
        b.allow(3 * MS);
        assert_eq!(common.shortest(), 2 * MS);
        b.allow(MS);
        a.allow(MS);
        assert_eq!(common.shortest(), MS);
        drop(b);
        assert_eq!(common.shortest(), MS);
        silent.allow(Duration::ZERO);
        assert_eq!(common.shortest(), Duration::ZERO);
        drop(silent);
        a.allow(4 * MS);
        assert_eq!(common.shortest(), 4 * MS);
        drop(a);
        assert_eq!(common.shortest(), Duration::ZERO);
        assert!(common.connections.lock().expect("no panic").is_empty());
    }
}
