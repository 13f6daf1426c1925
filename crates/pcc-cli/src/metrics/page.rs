//! Prometheus' text exposition format, version 0.0.4.

use std::fmt::{Display, Write};

/// The numbers of one command.
pub struct Page {
    prefix: &'static str,
    text: String,
}

impl Page {
    /// One whose names all begin with this and an underscore.
    pub fn new(prefix: &'static str) -> Page {
        Page { prefix, text: String::new() }
    }

    /// Adds a metric with its type and meaning, and its values, each with its labels: pairs of a name and a value without
    /// quotes, backslashes and ends of lines.
    pub fn add<V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        meaning: &str,
        samples: impl IntoIterator<Item = (Vec<(&'static str, String)>, V)>,
    ) {
        let Page { prefix, text } = self;
        // Writing to a string can't fail.
        let _ = write!(text, "# HELP {prefix}_{name} {meaning}.\n# TYPE {prefix}_{name} {kind}\n");
        for (labels, value) in samples {
            let labels: Vec<_> = labels.into_iter().map(|(label, of)| format!("{label}=\"{of}\"")).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(text, "{prefix}_{name}{labels} {value}");
        }
    }

    /// The same with one value without labels.
    pub fn add_one(&mut self, name: &str, kind: &str, meaning: &str, value: impl Display) {
        self.add(name, kind, meaning, [(Vec::new(), value)]);
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}
