//! What the path of a URL names below the folder.

use percent_encoding::percent_decode_str;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A name below the folder: a relative path of plain names, none of which leads anywhere else.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// Empty for the folder itself.
    pub path: PathBuf,
    /// Whether the URL ends with a slash, as those of folders do.
    pub is_folder: bool,
    /// Whether one of the names begins with a dot.
    pub is_hidden: bool,
}

/// Reads the path of a URL (RFC 3986 3.3). `None` if it is none, or has a name in it that no file below the folder has: an
/// empty one, `.`, `..`, or one with a slash or NUL in it.
pub fn parse(path: &str) -> Option<Place> {
    let path = path.strip_prefix('/')?;
    let mut place = Place { path: PathBuf::new(), is_folder: path.is_empty(), is_hidden: false };
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        if name.is_empty() && names.peek().is_none() {
            place.is_folder = true;
            break;
        }
        if !is_well_encoded(name) {
            return None;
        }
        let name: Vec<u8> = percent_decode_str(name).collect();
        if matches!(&name[..], b"" | b"." | b"..") || name.contains(&b'/') || name.contains(&0) {
            return None;
        }
        place.is_hidden |= name.starts_with(b".");
        place.path.push(OsStr::from_bytes(&name));
    }
    Some(place)
}

/// Whether each `%` has two digits behind it (RFC 3986 2.1).
fn is_well_encoded(name: &str) -> bool {
    let mut parts = name.split('%');
    parts.next();
    parts.all(|part| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded() {
        let place = |path: &str, is_folder| Some(Place { path: path.into(), is_folder, is_hidden: false });
        assert_eq!(parse("/"), place("", true));
        assert_eq!(parse("/a/b"), place("a/b", false));
        assert_eq!(parse("/a/b/"), place("a/b", true));
        assert_eq!(parse("/a%20b/%C3%A4+c"), place("a b/ä+c", false));
        assert!(parse("/a/.git/config").unwrap().is_hidden);
        assert!(parse("/a/%2Egit").unwrap().is_hidden);
    }

    #[test]
    fn nothing_leads_out() {
        let bad =
            ["", "a", "*", "//", "//etc/passwd", "/a//b", "/..", "/a/../b", "/%2e%2e/x", "/%2E./x", "/.", "/a/./b"];
        let encoded = ["/%2fetc/passwd", "/a%2F..%2F..", "/a%00b", "/a%", "/a%2", "/a%zz", "/a%+1"];
        for path in bad.into_iter().chain(encoded) {
            assert_eq!(parse(path), None, "{path}");
        }
    }
}
