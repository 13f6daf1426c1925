//! The paths in the code of a module.

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// What a module says of others.
#[derive(Debug, Default)]
pub struct Paths {
    /// The paths that its code uses.
    pub used: Vec<Vec<String>>,
    /// What it gives a name, by `use`: the name and the path.
    pub names: Vec<(String, Vec<String>)>,
}

impl Paths {
    /// Of these items, without tests and modules inside.
    pub fn of(items: &[Item]) -> Paths {
        let mut paths = Paths::default();
        items.iter().for_each(|item| paths.visit_item(item));
        paths
    }
}

/// Whether something is compiled for tests only.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if is_test(&item.attrs) {
            return;
        }
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (name, path) in leaves {
            // Showing what another module has is no use of it.
            if matches!(item.vis, Visibility::Inherited) {
                self.used.push(path.clone());
            }
            self.names.push((name, path));
        }
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.used.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

/// The paths of a `use`, each with the name that it gets.
fn flatten(tree: &UseTree, before: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, leaves);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((before.last().cloned().unwrap_or_default(), before.clone()));
        }
        UseTree::Name(name) => leaves.push((name.ident.to_string(), with(&name.ident))),
        UseTree::Rename(rename) => leaves.push((rename.rename.to_string(), with(&rename.ident))),
        UseTree::Glob(_) => leaves.push(("*".to_owned(), before.clone())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, leaves)),
    }
}
