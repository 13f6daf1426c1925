//! Progress of many runs on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a line is printed where there is no terminal to draw on.
const LINE_EVERY: Duration = Duration::from_secs(10);

const TEMPLATE: &str = "{bar:40} {pos}/{len} {msg}, {eta} left";

/// Counts what is done, from any thread.
pub struct Progress {
    all: u64,
    unit: &'static str,
    /// Absent where there is no terminal.
    bar: Option<ProgressBar>,
    last_line: Mutex<Instant>,
}

impl Progress {
    /// Begins to show so many of a unit.
    pub fn start(all: u64, unit: &'static str) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(all).with_message(unit);
            // A test checks the template.
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style.progress_chars("━╸ "));
            }
            bar
        });
        Progress { all, unit, bar, last_line: Mutex::new(Instant::now()) }
    }

    /// So many are done.
    pub fn show(&self, done: u64) {
        if let Some(bar) = &self.bar {
            return bar.set_position(done);
        }
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            eprintln!("{done} of {} {}", self.all, self.unit);
        }
    }

    /// All are done: the bar goes.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_well_formed() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
