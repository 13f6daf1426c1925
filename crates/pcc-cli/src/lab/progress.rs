//! Progress of many runs on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a line is printed where there is no terminal to draw on.
const LINE_EVERY: Duration = Duration::from_secs(10);

const TEMPLATE: &str = "{bar:40} {pos}/{len} runs, {eta} left";

/// Counts runs that are done, from any thread.
pub struct Progress {
    runs: usize,
    /// Absent where there is no terminal.
    bar: Option<ProgressBar>,
    last_line: Mutex<Instant>,
}

impl Progress {
    /// Begins to show that many runs.
    pub fn start(runs: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(runs as u64);
            // A test checks the template.
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style.progress_chars("━╸ "));
            }
            bar
        });
        Progress { runs, bar, last_line: Mutex::new(Instant::now()) }
    }

    /// So many are done.
    pub fn show(&self, done: usize) {
        if let Some(bar) = &self.bar {
            return bar.set_position(done as u64);
        }
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            eprintln!("{done} of {} runs", self.runs);
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
