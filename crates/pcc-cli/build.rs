//! Puts the figure files of the repository into the binary.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../figures");
    println!("cargo::rerun-if-changed={}", folder.display());
    // A crate outside of the repository has no figures.
    let entries = fs::read_dir(&folder).into_iter().flatten();
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut files = names.collect::<io::Result<Vec<String>>>()?;
    files.retain(|name| name.ends_with(".toml"));
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
