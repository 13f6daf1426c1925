//! Work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Does `work` for each item on `jobs` threads, begun in the order of the items, and gives the results in that order. `progress` is called,
/// with the number of finished items, after each.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> R + Sync,
    progress: &(dyn Fn(usize) + Sync),
) -> Vec<R> {
    let [next, finished] = [0, 0].map(AtomicUsize::new);
    let results = Mutex::new(Vec::new());
    let worker = || {
        while let Some((index, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, items.get(index)?)))
        {
            let result = work(item);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            progress(finished.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| (0..jobs.clamp(1, items.len().max(1))).for_each(|_| drop(scope.spawn(worker))));
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
