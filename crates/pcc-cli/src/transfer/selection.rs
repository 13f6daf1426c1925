//! What of the found is sent.

use crate::exit::usage;
use crate::failure::printable;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What becomes of symbolic links below the named folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Links {
    /// They arrive as links to the same place
    Keep,
    /// What they lead to arrives in their place
    Follow,
    /// They are not sent
    Skip,
}

/// What of the found is sent.
#[derive(Clone, Debug)]
pub struct Selection {
    /// What becomes of links.
    pub links: Links,
    names: GlobSet,
    paths: GlobSet,
}

impl Selection {
    /// All but what matches a pattern. One without a slash is for names, others are for paths from the named folder on.
    pub fn new(links: Links, exclude: &[String]) -> anyhow::Result<Self> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in exclude {
            if let Some(name) = names_of(pattern).find(|name| matches!(*name, "" | "." | "..")) {
                let what = match name {
                    "" if pattern.starts_with('/') => "begins with '/'".to_owned(),
                    "" => "has an empty name in it".to_owned(),
                    name => format!("has '{name}' in it"),
                };
                let right = "write a name, as in '*.tmp', or a path that begins with the name of what is sent, as in 'photos/raw'";
                return Err(matches_nothing(pattern, format!("no path that is sent {what}; {right}")));
            }
            let glob = glob(pattern.trim_end_matches('/'))?;
            if glob.glob().contains('/') { &mut paths } else { &mut names }.add(glob);
        }
        let built = |set: GlobSetBuilder| set.build().map_err(|e| usage(format!("--exclude: {e}")));
        Ok(Self { links, names: built(names)?, paths: built(paths)? })
    }

    /// Makes sure that each pattern for paths begins like the path of something that is sent; these are the names that the user gave.
    pub fn check_beginnings(exclude: &[String], sent: &[OsString]) -> anyhow::Result<()> {
        for pattern in exclude.iter().filter(|pattern| names_of(pattern).nth(1).is_some()) {
            let Some(first) = names_of(pattern).next().filter(|first| !first.contains(['{', '[', '\\'])) else {
                continue;
            };
            let glob = glob(first)?.compile_matcher();
            if let Some(example) = sent.first()
                && !sent.iter().any(|name| glob.is_match(name))
            {
                let example = printable(example.as_bytes());
                let right = format!("'{example}/{pattern}', if you mean what is in {example}, or '**/{pattern}'");
                return Err(matches_nothing(
                    pattern,
                    format!("nothing is sent whose path begins with '{first}'; write {right}"),
                ));
            }
        }
        Ok(())
    }

    /// Whether what has this path is not wanted.
    pub fn excludes(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        path.file_name().is_some_and(|name| self.names.is_match(name)) || self.paths.is_match(path)
    }
}

/// The names that a pattern is made of.
fn names_of(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.trim_end_matches('/').split('/')
}

fn glob(pattern: &str) -> anyhow::Result<Glob> {
    GlobBuilder::new(pattern).literal_separator(true).build().map_err(|e| usage(format!("--exclude: {e}")))
}

fn matches_nothing(pattern: &str, why: String) -> anyhow::Error {
    usage(format!("--exclude '{pattern}' matches nothing: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_for_names_or_paths() {
        let patterns = ["*.tmp", "cache/", "photos/raw/*.nef", "**/build/out"].map(str::to_owned);
        let selection = Selection::new(Links::Keep, &patterns).unwrap();
        for path in ["photos/a.tmp", "photos/x/.tmp", "photos/cache", "photos/raw/1.nef", "photos/a/build/out"] {
            assert!(selection.excludes(path.as_bytes()), "{path}");
        }
        for path in ["photos/a.tmp/b", "photos/caches", "photos/raw/x/1.nef", "raw/1.nef", "photos/out"] {
            assert!(!selection.excludes(path.as_bytes()), "{path}");
        }
        assert!(selection.excludes(b"photos/\xff.tmp"));
        let error = Selection::new(Links::Keep, &["[a".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("--exclude"), "{error}");
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_refused() {
        for pattern in [
            "/photos/raw",
            "./photos/raw",
            "../x",
            "photos/../x",
            "photos/./raw",
            "photos//raw",
            "**/..",
            "..",
            "./",
            "/",
            "",
        ] {
            let error = Selection::new(Links::Keep, &[pattern.to_owned()]).unwrap_err();
            assert!(error.to_string().contains("matches nothing: no path that is sent"), "{pattern}: {error}");
        }
        for pattern in ["...", "..x", "**/x", ".hidden/x"] {
            Selection::new(Links::Keep, &[pattern.to_owned()]).unwrap();
        }
    }

    #[test]
    fn a_path_begins_with_a_name_that_is_sent() {
        let check =
            |pattern: &str| Selection::check_beginnings(&[pattern.to_owned()], &["photos".into(), "notes.txt".into()]);
        for pattern in ["photos/raw", "ph*/raw", "**/raw", "*/raw", "raw", "raw/", "{photos,x}/raw", "notes.txt/x"] {
            check(pattern).unwrap();
        }
        let error = check("raw/*.nef").unwrap_err().to_string();
        assert!(
            error.contains("begins with 'raw'; write 'photos/raw/*.nef'") && error.contains("'**/raw/*.nef'"),
            "{error}"
        );
        check("photo/raw").unwrap_err();
    }
}
