//! Results as HTML pages that need nothing but a browser: no network, no other files.
//!
//! The shell, the style, tables, and lines over time that can be zoomed and read are the same on all pages. A page adds
//! its own body and script to them, and its data as JSON.

mod runs;

pub use runs::{RunLines, runs_page};

use serde::Serialize;

const SHELL: &str = include_str!("shell.html");
const STYLE: &str = include_str!("shared.css");
const SCRIPT: &str = include_str!("shared.js");

/// What makes one kind of page different.
pub(crate) struct Page {
    /// HTML.
    pub body: &'static str,
    /// CSS.
    pub style: &'static str,
    /// JavaScript; it finds what it shows in `data`.
    pub script: &'static str,
}

impl Page {
    /// The page with these data.
    ///
    /// # Errors
    ///
    /// When they have no form in JSON.
    pub fn with(&self, data: &impl Serialize) -> serde_json::Result<String> {
        // A name must not end the script that the data are in.
        let data = serde_json::to_string(data)?.replace('<', "\\u003c");
        let page = SHELL.replace("/*BODY*/", self.body.trim_end());
        let page = page.replace("/*STYLE*/", &format!("{STYLE}{}", self.style));
        let page = page.replace("/*SCRIPT*/", &format!("{SCRIPT}{}", self.script));
        Ok(page.replace("/*DATA*/", &data))
    }
}
