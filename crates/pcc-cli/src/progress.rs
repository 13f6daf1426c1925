//! Progress on standard error: a bar on a terminal, elsewhere a line now and then.

use indicatif::style::TemplateError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The look of a progress bar.
pub struct Look {
    /// The template, in the syntax of indicatif.
    pub template: &'static str,
    /// What the bar itself is made of: done, being done, to be done.
    pub chars: &'static str,
}

impl Look {
    fn style(&self) -> Result<ProgressStyle, TemplateError> {
        Ok(ProgressStyle::with_template(self.template)?.progress_chars(self.chars))
    }

    /// Whether it can be drawn, for tests: a bar that can't be looks as indicatif's do.
    #[cfg(test)]
    pub fn is_valid(&self) -> bool {
        self.style().is_ok()
    }
}

/// How far a command is. It can be used from any thread.
pub struct Progress {
    /// Absent where there is no terminal.
    bar: Option<ProgressBar>,
    every: Duration,
    /// When the next line is due where there is no terminal.
    due: Mutex<Instant>,
}

impl Progress {
    /// Progress towards `length`; nothing is drawn yet. Lines come `every` so often where there is no terminal.
    pub fn new(look: &Look, length: u64, every: Duration) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
            if let Ok(style) = look.style() {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar, ..Self::of_lines(every) }
    }

    /// Lines alone, also on a terminal.
    pub fn of_lines(every: Duration) -> Progress {
        Progress { bar: None, every, due: Mutex::new(Instant::now() + every) }
    }

    /// What the template calls `prefix`.
    pub fn with_prefix(self, prefix: &str) -> Progress {
        if let Some(bar) = &self.bar {
            bar.set_prefix(prefix.to_owned());
        }
        self
    }

    /// Shows a position and what the template calls `msg`, or `line` if one is due.
    pub fn show(&self, position: u64, message: &str, line: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
            bar.set_message(message.to_owned());
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                // Else what was there before would count as done since then.
                bar.reset_eta();
                bar.tick();
            }
        } else if self.is_due() {
            self.line(&line());
        }
    }

    /// Changes the length that counts as complete.
    pub fn set_length(&self, length: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(length);
        }
    }

    fn is_due(&self) -> bool {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let late = Instant::now().checked_duration_since(*due);
        if let Some(late) = late {
            // After a long silence not two lines at once.
            *due += if late > self.every { late + self.every } else { self.every };
        }
        late.is_some()
    }

    /// Writes a line, above the bar if there is one.
    pub fn line(&self, text: &str) {
        let write = || {
            // Nobody reads it.
            let _ = writeln!(std::io::stderr(), "{text}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Leaves the full bar with this message, or a line.
    pub fn finish(&self, message: &str, line: impl FnOnce() -> String) {
        match &self.bar {
            Some(bar) => bar.finish_with_message(message.to_owned()),
            None => self.line(&line()),
        }
    }
}

/// The rate that is shown is that of about this long.
const RATE_WINDOW: Duration = Duration::from_secs(3);

/// How fast something came of late.
#[derive(Default)]
pub struct Rates(Mutex<Vec<(Instant, u64)>>);

impl Rates {
    /// The rate of late in bit/s, given how many bytes are there now.
    pub fn of_late(&self, there: u64) -> f64 {
        let mut rates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // An attempt that begins anew may start lower.
        rates.retain(|(at, bytes)| now - *at <= RATE_WINDOW && *bytes <= there);
        rates.push((now, there));
        let (start, before) = rates[0];
        let seconds = (now - start).as_secs_f64();
        if seconds > 0.0 { (there - before) as f64 * 8.0 / seconds } else { 0.0 }
    }
}

/// A rate for people.
pub fn rate(bits_per_second: f64) -> String {
    match bits_per_second {
        r if r >= 1e9 => format!("{:.2} Gbit/s", r / 1e9),
        r if r >= 1e6 => format!("{:.1} Mbit/s", r / 1e6),
        r => format!("{:.0} kbit/s", r / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due_in(every: Duration, due: Instant) -> Progress {
        Progress { bar: None, every, due: Mutex::new(due) }
    }

    #[test]
    fn lines_come_in_time_and_not_in_pairs() {
        let hour = Duration::from_secs(3600);
        assert!(!due_in(hour, Instant::now() + hour).is_due());
        let due = Instant::now();
        let progress = due_in(hour, due);
        assert!(progress.is_due() && !progress.is_due());
        assert_eq!(*progress.due.lock().unwrap(), due + hour, "late by less than the interval, the next is in time");
        let progress = due_in(Duration::from_millis(1), Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        assert!(progress.is_due());
        assert!(*progress.due.lock().unwrap() >= due + Duration::from_millis(21));
    }
}
