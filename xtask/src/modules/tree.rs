//! The modules of a crate, and where an item is defined.

use super::paths::{Paths, is_test};
use anyhow::Context;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Expr, ExprLit, Item, ItemMod, Lit, Meta};

/// A module by its path in the crate; the crate itself has an empty one.
pub type Module = Vec<String>;

/// All modules of a crate but those of tests.
#[derive(Debug, Default)]
pub struct Tree {
    modules: BTreeMap<Module, Node>,
    /// Lines in all of its files, those of tests as well.
    pub lines: usize,
}

/// A module of a crate: its file, and the paths that its code uses.
#[derive(Debug)]
pub struct Node {
    /// Where it is, from the folder of the source on.
    pub file: PathBuf,
    /// The paths that its code uses.
    pub paths: Vec<Vec<String>>,
    names: BTreeMap<String, Vec<String>>,
}

impl Tree {
    /// The crate whose root is the file `root` in `folder`.
    pub fn read(folder: &Path, root: &str) -> anyhow::Result<Tree> {
        let mut tree = Tree::default();
        tree.add(folder, PathBuf::from(root), PathBuf::new(), Module::new())?;
        tree.lines = lines(folder)?;
        Ok(tree)
    }

    /// All modules with their names.
    pub fn modules(&self) -> impl Iterator<Item = (&Module, &Node)> {
        self.modules.iter()
    }

    /// The file that defines what `path` means in a module, if it is in this crate.
    pub fn file_of(&self, module: &Module, path: &[String]) -> Option<PathBuf> {
        self.resolve(module, path, 0)
    }

    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Option<PathBuf> {
        // Names that refer to each other.
        if depth > 16 {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut place = module.clone();
        match first.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => drop(place.pop()?),
            child if self.modules.contains_key(&with(&place, child)) => place.push(child.to_owned()),
            name => {
                // What this module named itself was counted where it did so, unless it goes on from there.
                let target = self.modules[module].names.get(name).filter(|target| *target != path)?;
                let full: Vec<String> = target.iter().chain(rest).cloned().collect();
                return (!rest.is_empty()).then(|| self.resolve(module, &full, depth + 1))?;
            }
        }
        while let Some((next, after)) = rest.split_first() {
            if next == "super" {
                place.pop()?;
            } else if self.modules.contains_key(&with(&place, next)) {
                place.push(next.clone());
            } else {
                break;
            }
            rest = after;
        }
        let node = self.modules.get(&place)?;
        let elsewhere = rest.first().and_then(|name| node.names.get(name));
        match elsewhere {
            Some(target) => {
                let full: Vec<String> = target.iter().chain(&rest[1..]).cloned().collect();
                // What comes from another crate, this module passes on.
                self.resolve(&place, &full, depth + 1)
            }
            // The module itself as a name: what is used of it shows where it is used.
            None if rest.is_empty() => None,
            None => Some(node.file.clone()),
        }
    }

    /// Adds a module and those in it; `inside` is the folder of its children.
    fn add(&mut self, folder: &Path, file: PathBuf, inside: PathBuf, module: Module) -> anyhow::Result<()> {
        let text = fs::read_to_string(folder.join(&file)).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        self.add_items(folder, file, inside, module, &parsed.items)
    }

    fn add_items(
        &mut self,
        folder: &Path,
        file: PathBuf,
        inside: PathBuf,
        module: Module,
        items: &[Item],
    ) -> anyhow::Result<()> {
        for item in items {
            let Item::Mod(child) = item else { continue };
            if is_test(&child.attrs) {
                continue;
            }
            let (name, path) = (child.ident.to_string(), with(&module, &child.ident.to_string()));
            match &child.content {
                Some((_, items)) => self.add_items(folder, file.clone(), inside.join(&name), path, items)?,
                None => {
                    let given = given_path(child).map(|given| file.parent().unwrap_or(Path::new("")).join(given));
                    let files = [inside.join(format!("{name}.rs")), inside.join(&name).join("mod.rs")];
                    let found = given.or_else(|| files.into_iter().find(|file| folder.join(file).exists()));
                    let found = found.with_context(|| format!("{}: where is mod {name}?", file.display()))?;
                    self.add(folder, found, inside.join(&name), path)?;
                }
            }
        }
        let Paths { used, names } = Paths::of(items);
        self.modules.insert(module, Node { file, paths: used, names: names.into_iter().collect() });
        Ok(())
    }
}

fn with(module: &[String], child: &str) -> Module {
    module.iter().cloned().chain([child.to_owned()]).collect()
}

/// The file that `#[path = "..."]` gives.
fn given_path(module: &ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}

/// Lines of all source files in a folder and below.
fn lines(folder: &Path) -> anyhow::Result<usize> {
    let mut lines = 0;
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_dir() {
            lines += self::lines(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            lines += fs::read_to_string(&path)?.lines().count();
        }
    }
    Ok(lines)
}
