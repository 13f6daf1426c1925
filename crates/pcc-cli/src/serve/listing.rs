//! The page that lists a folder.

use super::site::{Entry, Listing, MAX_ENTRIES};
use indicatif::HumanBytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// All that means something in a URL or in HTML.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const STYLE: &str =
    "body{font:1em sans-serif;margin:2em}td{padding:.1em 1.5em .1em 0}td+td{text-align:right;color:#666}";

/// The page for the folder at this path of a URL.
pub fn page(path: &str, listing: &Listing) -> String {
    let title = escape(&percent_decode_str(path).decode_utf8_lossy());
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
        <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
        <h1>{title}</h1>\n<table>\n"
    );
    if path != "/" {
        page += "<tr><td><a href=\"../\">../</a>\n";
    }
    for Entry { name, size, modified } in &listing.entries {
        let slash = if size.is_none() { "/" } else { "" };
        let link = percent_encode(name.as_bytes(), ENCODED);
        let name = escape(&name.to_string_lossy());
        let size = size.map_or(String::new(), |size| HumanBytes(size).to_string());
        let modified = modified.map_or(String::new(), httpdate::fmt_http_date);
        // Writing to a string doesn't fail. "./" because a name may have a colon in it.
        let _ = writeln!(page, "<tr><td><a href=\"./{link}{slash}\">{name}{slash}</a><td>{size}<td>{modified}");
    }
    page += "</table>\n";
    if listing.is_cut {
        let _ = writeln!(
            page,
            "<p>There is more in this folder than can be listed: these are the first {MAX_ENTRIES} names."
        );
    }
    page
}

/// Text as HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_becomes_markup() {
        let entry = |name: &str, size| Entry { name: name.into(), size, modified: None };
        let entries = vec![entry("a&b", None), entry("<script>\"' #?%:.js", Some(2048))];
        let page = page("/%3Cb%3E/", &Listing { entries, is_cut: false });
        assert!(page.contains("<title>/&lt;b&gt;/</title>"), "{page}");
        assert!(page.contains("<a href=\"../\">../</a>"), "{page}");
        assert!(page.contains("<a href=\"./a%26b/\">a&amp;b/</a><td><td>\n"), "{page}");
        assert!(
            page.contains(
                "\"./%3Cscript%3E%22%27%20%23%3F%25%3A.js\">&lt;script&gt;&quot;&#39; #?%:.js</a><td>2.00 KiB"
            ),
            "{page}"
        );
        assert!(!page.contains("<p>"), "{page}");
        let cut = super::page("/", &Listing { entries: Vec::new(), is_cut: true });
        assert!(!cut.contains("../"), "{cut}");
        assert!(cut.contains("these are the first 10000 names"), "{cut}");
    }
}
