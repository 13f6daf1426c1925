//! Progress of many runs.

use crate::progress::{self, Look};
use std::time::Duration;

/// How often a line is printed where there is no terminal to draw on.
const LINE_EVERY: Duration = Duration::from_secs(10);

const LOOK: Look = Look { template: "{bar:40} {pos}/{len} {msg}, {eta} left", chars: "━╸ " };

/// Counts what is done, from any thread.
pub struct Progress {
    all: u64,
    unit: &'static str,
    shown: progress::Progress,
}

impl Progress {
    /// Begins to show so many of a unit.
    pub fn start(all: u64, unit: &'static str) -> Progress {
        let progress = Progress { all, unit, shown: progress::Progress::new(&LOOK, all, LINE_EVERY) };
        progress.show(0);
        progress
    }

    /// Shows how many runs are done.
    pub fn show(&self, done: u64) {
        self.shown.show(done, self.unit, || format!("{done} of {} {}", self.all, self.unit));
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.shown.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_is_valid() {
        assert!(LOOK.is_valid());
    }
}
