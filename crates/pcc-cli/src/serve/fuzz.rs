//! Whatever a client asks for, it is something in the folder, or refused.
//!
//! Each test runs what `__fuzz__` beside this file has for it, if anything, and some random bytes. A fuzzer that watches which
//! code is reached finds more; CONTRIBUTING.md says how to run it.

use super::path;
use super::range::{self, Wanted};
use bolero::check;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

#[test]
fn paths() {
    check!().for_each(|bytes: &[u8]| {
        let Some(place) = path::parse(&format!("/{}", String::from_utf8_lossy(bytes))) else { return };
        let is_plain = |part| matches!(part, Component::Normal(_));
        assert!(place.path.components().all(is_plain) && !place.path.as_os_str().as_bytes().contains(&0), "{place:?}");
        assert!(Path::new("/srv").join(&place.path).starts_with("/srv"));
    });
}

#[test]
fn ranges() {
    check!().with_type().for_each(|(bytes, size): &(Vec<u8>, u64)| {
        let text = String::from_utf8_lossy(bytes);
        for field in [text.to_string(), format!("bytes={text}")] {
            if let Wanted::Part(range) = range::parse(&field, *size) {
                assert!(range.start < range.end && range.end <= *size, "{field:?} {range:?}");
            }
        }
    });
}
