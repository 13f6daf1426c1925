//! The largest value of a sliding window, in constant memory.

/// Kathleen Nichols' estimator, as in Linux `lib/win_minmax.c`: the best value and the best two after it.
///
/// For the smallest value, filter [`core::cmp::Reverse`]. Time is any count that doesn't fall: nanoseconds or rounds.
/// What it returns is at most one window old, and the window's true best unless several values were better in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowedMax<V> {
    /// With their times, from the best to the newest; `None` before the first value.
    best: Option<[(u64, V); 3]>,
}

impl<V> Default for WindowedMax<V> {
    fn default() -> Self {
        WindowedMax { best: None }
    }
}

impl<V: Copy + PartialOrd> WindowedMax<V> {
    /// The best value of the window, as of the last update.
    pub fn get(&self) -> Option<V> {
        self.best.map(|best| best[0].1)
    }

    /// Adds the value of `time` and returns the best of the last `window`.
    pub fn update(&mut self, time: u64, value: V, window: u64) -> V {
        let new = (time, value);
        let age = |sample: (u64, V)| time.saturating_sub(sample.0);
        let best = match self.best {
            Some(best) if value < best[0].1 && age(best[2]) <= window => best,
            _ => [new; 3],
        };
        let [first, mut second, mut third] = best;
        if value >= second.1 {
            (second, third) = (new, new);
        } else if value >= third.1 {
            third = new;
        }
        let kept = if age(first) > window {
            // The best has left the window: the others move up.
            if age(second) > window { [third, new, new] } else { [second, third, new] }
        } else if second.0 == first.0 && age(first) > window / 4 {
            // A quarter of the window passed without a second best: take one from the second quarter.
            [first, new, new]
        } else if third.0 == second.0 && age(first) > window / 2 {
            [first, second, new]
        } else {
            [first, second, third]
        };
        self.best = Some(kept);
        kept[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cmp::Reverse;
    use proptest::prelude::*;

    #[test]
    fn forgets_what_left_the_window() {
        let mut max = WindowedMax::default();
        let best: Vec<u32> = [(0, 9), (1, 3), (4, 7), (9, 5), (10, 1), (11, 2), (14, 0), (15, 1), (30, 0)]
            .map(|(time, value)| max.update(time, value, 10))
            .to_vec();
        assert_eq!(best, [9, 9, 9, 9, 9, 7, 7, 5, 0]);
        let mut min = WindowedMax::default();
        min.update(0, Reverse(5), 10);
        assert_eq!(min.update(1, Reverse(6), 10), Reverse(5));
    }

    proptest! {
        /// Never better than the best of the window, never worse than the newest value.
        #[test]
        fn stays_between_the_newest_and_the_best(steps in prop::collection::vec((0..6u64, 0..50u32), 1..80)) {
            let mut max = WindowedMax::default();
            let (mut time, mut seen) = (0, Vec::new());
            for (step, value) in steps {
                time += step;
                seen.push((time, value));
                let best = seen.iter().filter(|(t, _)| time - t <= 20).map(|(_, v)| *v).max();
                let got = max.update(time, value, 20);
                prop_assert!(got >= value && Some(got) <= best, "{got} of {seen:?}");
            }
        }
    }
}
