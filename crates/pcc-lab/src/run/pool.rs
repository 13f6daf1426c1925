//! Work on all cores.

use std::collections::BTreeMap;
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
    let finished = AtomicUsize::new(0);
    let counted = |item: &T| {
        let result = work(item);
        progress(finished.fetch_add(1, Ordering::Relaxed) + 1);
        result
    };
    let mut results = Vec::new();
    let Ok(()) = in_order(items, jobs, counted, |result| -> Result<(), std::convert::Infallible> {
        results.push(result);
        Ok(())
    });
    results
}

/// Does `work` for each item on `jobs` threads, begun in the order of the items, and gives each result to `take`, in that order too, as
/// soon as those before it are there.
///
/// # Errors
///
/// The first error of `take`: it gets no more results, and no more work begins.
pub(crate) fn in_order<T: Sync, R: Send, E: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> R + Sync,
    take: impl FnMut(R) -> Result<(), E> + Send,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let line = Mutex::new(Line { taken: 0, waiting: BTreeMap::new(), take, done: Ok(()) });
    let worker = || {
        while let Some((index, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, items.get(index)?)))
        {
            let result = work(item);
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            line.enter(index, result);
            if line.done.is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| (0..jobs.clamp(1, items.len().max(1))).for_each(|_| drop(scope.spawn(worker))));
    line.into_inner().unwrap_or_else(PoisonError::into_inner).done
}

/// Results that wait for those before them.
struct Line<R, E, F> {
    taken: usize,
    waiting: BTreeMap<usize, R>,
    take: F,
    done: Result<(), E>,
}

impl<R, E, F: FnMut(R) -> Result<(), E>> Line<R, E, F> {
    fn enter(&mut self, index: usize, result: R) {
        self.waiting.insert(index, result);
        while let (Ok(()), Some(result)) = (&self.done, self.waiting.remove(&self.taken)) {
            self.done = (self.take)(result);
            self.taken += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_on_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        for jobs in [1, 2, 7] {
            let slow_first = |item: &u64| std::thread::sleep(std::time::Duration::from_micros(200 - 2 * item));
            let mut taken = Vec::new();
            let done = in_order(
                &items,
                jobs,
                |item| (slow_first(item), *item).1,
                |item| {
                    taken.push(item);
                    if item == 90 { Err("enough") } else { Ok(()) }
                },
            );
            assert_eq!((done, taken), (Err("enough"), (0..=90).collect()));
            assert_eq!(map(&items, jobs, |item| item * 2, &|_| {}).len(), 100);
        }
    }
}
