//! The documents: their links lead somewhere, and what the README says of the reproduction is what came out.

use pcc::profiles;
use pcc::utility::UtilityConfig;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Markdown files of the repository.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

#[test]
fn links_lead_to_files() {
    let mut files = Vec::new();
    documents(&root(), &mut files);
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://") && !link.contains(' ')) {
            assert!(file.parent().unwrap().join(link).exists(), "{}: {link}", file.display());
        }
    }
}

#[test]
fn the_readme_counts_the_claims_that_agree() {
    let [readme, reproduction] =
        ["README.md", "figures/README.md"].map(|file| fs::read_to_string(root().join(file)).unwrap());
    let total = reproduction.lines().find_map(|line| line.strip_suffix(" do.")).expect("a total");
    assert!(readme.contains(total), "README.md should say {total}");
}

#[test]
fn every_name_is_in_the_documents() {
    let scenarios = fs::read_to_string(root().join("docs/scenarios.md")).unwrap();
    let kinds = UtilityConfig::BUILT_IN.iter().map(|(kind, _)| *kind);
    for name in pcc_lab::controller::names().chain(kinds) {
        assert!(scenarios.contains(&format!("`{name}`")), "docs/scenarios.md doesn't name {name}");
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for entry in &profiles::LIST {
        assert!(readme.contains(&format!("`{}`", entry.name)), "README.md doesn't name {}", entry.name);
    }
}
