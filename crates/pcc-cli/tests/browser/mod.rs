//! Looks at pages with a real browser.

use std::path::Path;
use std::process::Command;

/// The document that chromium makes of `page` and its scripts, `part` being what comes behind `#`; `None` without chromium.
pub fn shown(page: &Path, part: &str) -> Option<String> {
    let profile = tempfile::tempdir().expect("a folder");
    let quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
    let mut browser = Command::new("timeout");
    browser.args(["300", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    browser.arg(format!("--user-data-dir={}", profile.path().display())).args(quiet);
    let output = browser.arg(format!("file://{}#{part}", page.display())).output().expect("timeout runs");
    // What `timeout` says of a program that isn't there.
    if output.status.code() == Some(127) {
        println!("skipped: there is no chromium to look at the page with");
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
