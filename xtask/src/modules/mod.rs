//! Whether the modules of the crates use each other in circles.
//!
//! What counts: every path in the code of a file that is not a test. A file that uses an item through a re-export uses the file
//! that defines it. A re-export alone is no use: a `mod.rs` may show what its files have. What doesn't show: calls of methods.

mod graph;
mod paths;
mod tree;

use anyhow::{Context, ensure};
use graph::circles;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tree::Tree;

/// For each file, the files that it uses.
type Uses = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// Prints the lines and files of each crate, and fails if there is a circle.
pub fn run() -> anyhow::Result<()> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut found = Vec::new();
    for folder in folders(&crates)? {
        let (uses, lines) = uses(&folder.join("src"))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        println!("{name}: {} files, {lines} lines", uses.len());
        found.extend(circles_of(&uses).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    ensure!(found.is_empty(), "modules use each other in circles:\n{}", found.join("\n"));
    println!("no circles");
    Ok(())
}

fn folders(crates: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = crates.read_dir().with_context(|| crates.display().to_string())?;
    let mut folders = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    folders.retain(|folder| folder.join("Cargo.toml").exists());
    folders.sort();
    Ok(folders)
}

/// Who uses whom in the crate whose source is in `folder`, by paths in it, and how many lines there are, tests included.
fn uses(folder: &Path) -> anyhow::Result<(Uses, usize)> {
    let root = ["lib.rs", "main.rs"].into_iter().find(|root| folder.join(root).exists());
    let tree = Tree::read(folder, root.context("a crate has a lib.rs or a main.rs")?)?;
    let mut uses = Uses::new();
    for (module, node) in tree.modules() {
        let users = uses.entry(node.file.clone()).or_default();
        let used = node.paths.iter().filter_map(|path| tree.file_of(module, path));
        users.extend(used.filter(|file| *file != node.file));
    }
    Ok((uses, tree.lines))
}

/// The circles among files, and among what stands side by side in each folder.
fn circles_of(uses: &Uses) -> Vec<String> {
    let mut found: BTreeSet<String> = circles(uses).into_iter().map(|circle| shown(&circle)).collect();
    let folders: BTreeSet<&Path> = uses.keys().flat_map(|file| file.ancestors().skip(1)).collect();
    for folder in folders {
        let child = |file: &PathBuf| file.strip_prefix(folder).ok()?.iter().next().map(|name| folder.join(name));
        let mut between = Uses::new();
        for (user, used) in uses {
            let Some(user) = child(user) else { continue };
            let used = used.iter().filter_map(child).filter(|used| *used != user);
            between.entry(user.clone()).or_default().extend(used.collect::<Vec<_>>());
        }
        found.extend(circles(&between).into_iter().map(|circle| shown(&circle)));
    }
    found.into_iter().collect()
}

fn shown(circle: &[PathBuf]) -> String {
    circle.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" <-> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_module_of_ours_is_in_a_circle() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for folder in folders(&crates).unwrap() {
            let (uses, _) = uses(&folder.join("src")).unwrap();
            assert_eq!(circles_of(&uses), [""; 0], "{}", folder.display());
        }
    }

    #[test]
    fn circles_are_found_through_re_exports_and_folders() {
        let folder = std::env::temp_dir().join(format!("modules-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("lib.rs", "mod a; mod b; mod c; pub use a::A;");
        write("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::c::x::X; }");
        write("b/mod.rs", "mod y; pub use y::Y;");
        write("b/y.rs", "use crate::A; pub struct Y(A, crate::c::X);");
        write("c/mod.rs", "mod x; mod z; pub use x::X;");
        write("c/x.rs", "use super::z::Z; pub struct X(Z);");
        write("c/z.rs", "pub struct Z;");
        assert_eq!(circles_of(&uses(&folder).unwrap().0), [""; 0]);
        write("c/z.rs", "pub struct Z(crate::b::Y);");
        let found = circles_of(&uses(&folder).unwrap().0);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["b <-> c", "b/y.rs <-> c/x.rs <-> c/z.rs"]);
    }
}
