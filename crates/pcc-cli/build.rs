//! Puts the figure files, `figures/*.toml`, into the binary.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // In the repository a link to the folder of all crates; in a package the files themselves.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("figures");
    println!("cargo::rerun-if-changed={}", folder.display());
    let missing = |why: String| io::Error::other(format!("{} should have the figures: {why}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| missing(error.to_string()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".toml") {
            files.push(name);
        }
    }
    if files.is_empty() {
        return Err(missing("there are no files *.toml in it".to_owned()));
    }
    files.sort();
    let mut list = String::from("[\n");
    for name in files {
        let path = folder.join(&name);
        // Writing to a string doesn't fail.
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&out).join("figures.rs"), list)
}
