//! The extreme of what was seen in a window of time, and the mean of a round trip.

/// The largest value of a sliding window, in constant memory: the best, and the best of what came after it, twice
/// (Linux, `lib/win_minmax.c`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    /// When each was seen, and what it was; the newest last.
    best: [(f64, f64); 3],
    is_set: bool,
}

impl WindowedMax {
    /// Adds a value that was seen at `now`, any number that doesn't fall, and forgets what is older than `window`.
    #[inline]
    pub fn update(&mut self, now: f64, value: f64, window: f64) {
        let sample = (now, value);
        if !self.is_set || value >= self.best[0].1 || now - self.best[2].0 > window {
            *self = WindowedMax { best: [sample; 3], is_set: true };
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        let age = now - self.best[0].0;
        if age > window {
            self.best = [self.best[1], self.best[2], sample];
            if now - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4.0 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if self.best[2].0 == self.best[1].0 && age > window / 2.0 {
            self.best[2] = sample;
        }
    }

    /// The largest value.
    pub fn get(&self) -> Option<f64> {
        self.is_set.then_some(self.best[0].1)
    }
}

/// The smallest value of a sliding window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMin(WindowedMax);

impl WindowedMin {
    /// As [`WindowedMax::update`].
    pub fn update(&mut self, now: f64, value: f64, window: f64) {
        self.0.update(now, -value, window);
    }

    /// The smallest value.
    pub fn get(&self) -> Option<f64> {
        self.0.get().map(|value| -value)
    }
}

/// Sums over what was seen in a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    sum: f64,
    squares: f64,
    count: f64,
}

impl Sums {
    pub fn add(&mut self, value: f64) {
        (self.sum, self.squares, self.count) = (self.sum + value, self.squares + value * value, self.count + 1.0);
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }

    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        if self.count < 1.0 { 0.0 } else { libm::sqrt((self.squares / self.count - mean * mean).max(0.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_values_go() {
        let mut min = WindowedMin::default();
        let mut seen = |now, value| {
            min.update(now, value, 1.0);
            min.get().unwrap()
        };
        assert_eq!([seen(0.0, 3.0), seen(0.3, 5.0), seen(0.6, 4.0), seen(0.9, 6.0)], [3.0; 4]);
        assert_eq!([seen(1.1, 6.0), seen(1.2, 6.0)], [4.0; 2]);
        assert_eq!(seen(9.0, 7.0), 7.0);
    }
}
