//! What of the found is sent.

use crate::exit::usage;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::ffi::OsStr;
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
            if pattern.starts_with('/') || pattern.starts_with("./") {
                let why = "no path begins like that: begin with the name of a folder that is sent, as in 'photos/raw', or with '**/'";
                return Err(usage(format!("--exclude {pattern}: {why}")));
            }
            let glob = GlobBuilder::new(pattern.trim_end_matches('/')).literal_separator(true).build();
            let glob = glob.map_err(|e| usage(format!("--exclude: {e}")))?;
            if glob.glob().contains('/') { &mut paths } else { &mut names }.add(glob);
        }
        let built = |set: GlobSetBuilder| set.build().map_err(|e| usage(format!("--exclude: {e}")));
        Ok(Self { links, names: built(names)?, paths: built(paths)? })
    }

    /// Whether what has this path is not wanted.
    pub fn excludes(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        path.file_name().is_some_and(|name| self.names.is_match(name)) || self.paths.is_match(path)
    }
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
        for pattern in ["/photos/raw", "./photos/raw"] {
            let error = Selection::new(Links::Keep, &[pattern.to_owned()]).unwrap_err();
            assert!(error.to_string().contains("no path begins like that"), "{error}");
        }
    }
}
