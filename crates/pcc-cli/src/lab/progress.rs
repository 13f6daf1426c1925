//! Progress of many runs on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar that counts runs; none where there is no terminal.
pub fn bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    // The template is well-formed: a test reads it.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

const TEMPLATE: &str = "{bar:40} {pos}/{len} runs, {eta} left";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_well_formed() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
