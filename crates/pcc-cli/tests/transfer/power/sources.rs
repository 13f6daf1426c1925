//! What is sent.

use crate::common::{self, write_file};
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Two versions of a folder. The second has the names of the first; some of the files are the same, with the same time.
pub struct Sources {
    folder: PathBuf,
    lines: Vec<Vec<Line>>,
}

/// A path in it, and what is there.
pub type Line = (PathBuf, String);

impl Sources {
    /// Writes both.
    pub fn new(folder: &Path) -> Self {
        let mut sources = Self { folder: folder.to_owned(), lines: Vec::new() };
        for version in 0..2 {
            let tree = sources.version(version);
            fs::create_dir_all(tree.join("below/empty")).expect("folder");
            for n in 0..30 {
                let name = if n % 2 == 0 { format!("f{n}") } else { format!("below/f{n}") };
                let seed = if n % 3 == 0 { n } else { n + 100 * version as u64 };
                file(&tree.join(name), n as usize * 500, seed);
            }
            file(&tree.join("large"), 900_000, version as u64);
            file(&tree.join("same"), 700_000, 0);
            fs::set_permissions(tree.join("same"), fs::Permissions::from_mode(0o400)).expect("mode");
            let sparse = fs::File::create(tree.join("sparse")).expect("file");
            sparse.write_all_at(b"after a hole", 300_000 + version as u64).expect("write");
            dated(&tree.join("sparse"), version as u64);
            symlink("below/f1", tree.join("link")).expect("link");
            ["below/empty", "below", ""].iter().for_each(|folder| dated(&tree.join(folder), 0));
            sources.lines.push(common::tree(&tree));
        }
        sources
    }

    /// Where this version is.
    pub fn version(&self, version: usize) -> PathBuf {
        self.folder.join(version.to_string()).join("tree")
    }

    /// What is in it.
    pub fn lines(&self, version: usize) -> &[Line] {
        &self.lines[version]
    }
}

/// A file whose content and time depend on the seed.
fn file(path: &Path, size: usize, seed: u64) {
    write_file(path, size, seed);
    dated(path, seed);
}

fn dated(path: &Path, seed: u64) {
    let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seed);
    fs::File::open(path).and_then(|file| file.set_modified(time)).expect("time");
}
