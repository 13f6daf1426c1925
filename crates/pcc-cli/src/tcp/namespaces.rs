//! Network namespaces: this one, those that `ip netns` has names for, and those of processes.

use super::profiles::is_ours;
use crate::called;
use anyhow::Context;
use pcc_emulator::host::Namespace;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where `ip netns` keeps names.
const NAMED: &str = "/run/netns";
/// The default controller of the namespace that reads or writes it.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// The controllers that every user may choose.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// A network namespace, by where it was found.
pub struct Place {
    found: Found,
    /// `None`: this one, which needs no entering.
    namespace: Option<Namespace>,
}

enum Found {
    Here,
    Named(String),
    OfProcess(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Found::Here => f.write_str("this network namespace"),
            Found::Named(name) => write!(f, "the network namespace {name}"),
            Found::OfProcess(id) => write!(f, "the network namespace of process {id}"),
        }
    }
}

impl Place {
    /// The network namespace of this process.
    pub fn here() -> Place {
        Place { found: Found::Here, namespace: None }
    }

    /// The one that `ip netns` calls `name`.
    pub fn named(name: &str) -> anyhow::Result<Place> {
        let all = names();
        anyhow::ensure!(
            all.iter().any(|known| known == name),
            "there is no network namespace {name}: {}",
            match &all[..] {
                [] => "`ip netns` has names for none".to_owned(),
                all => format!("there are {}", all.join(", ")),
            }
        );
        let path = Path::new(NAMED).join(name);
        let namespace = Namespace::open(&path).with_context(|| format!("{}", path.display()))?;
        Ok(Place { found: Found::Named(name.to_owned()), namespace: Some(namespace) })
    }

    /// Does `work` on a thread in it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> anyhow::Result<R> + Send) -> anyhow::Result<R> {
        match &self.namespace {
            None => work(),
            Some(namespace) => namespace.run(|| Ok(work()))?,
        }
    }

    /// The controller of connections that don't choose one.
    pub fn default(&self) -> anyhow::Result<String> {
        self.run(|| Ok(fs::read_to_string(DEFAULT).context(DEFAULT)?.trim_end().to_owned()))
    }

    /// Sets the controller of connections that don't choose one.
    pub fn set_default(&self, controller: &str) -> anyhow::Result<()> {
        self.run(|| fs::write(DEFAULT, controller).context(DEFAULT))
    }

    /// The controllers that every user may choose. Outside the machine's first namespace, only these can be a default.
    pub fn allowed(&self) -> anyhow::Result<Vec<String>> {
        let allowed = self.run(|| fs::read_to_string(ALLOWED).context(ALLOWED))?;
        Ok(allowed.split_whitespace().map(str::to_owned).collect())
    }

    /// A controller that isn't PCC and can be the default here, for when nobody knows what it was before.
    pub fn other_than_ours(&self) -> String {
        let mut others = self.allowed().unwrap_or_default();
        others.retain(|name| !is_ours(name));
        let usual = others.iter().position(|name| name == "cubic").unwrap_or(0);
        // The kernel has always this one.
        if others.is_empty() { "reno".to_owned() } else { others.swap_remove(usual) }
    }

    /// The command that sets its default.
    pub fn command(&self, controller: &str) -> String {
        let set = format!("{} tcp default {controller}", called::name());
        match &self.found {
            Found::Here => format!("sudo {set}"),
            Found::Named(name) => format!("sudo {set} --netns {name}"),
            Found::OfProcess(id) => format!("sudo nsenter --target {id} --net {set}"),
        }
    }
}

/// Every network namespace that this user may enter, each once.
pub fn everywhere() -> Vec<Place> {
    let named = names().into_iter().map(|name| (Path::new(NAMED).join(&name), Found::Named(name)));
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let of_processes = ids.map(|id: u32| (PathBuf::from(format!("/proc/{id}/ns/net")), Found::OfProcess(id)));
    let inode = |path: &Path| fs::metadata(path).map(|namespace| namespace.ino()).ok();
    let mut seen: BTreeSet<_> = inode(Path::new("/proc/thread-self/ns/net")).into_iter().collect();
    let others = named.chain(of_processes).filter_map(|(path, found)| {
        let new = seen.insert(inode(&path)?);
        Some(Place { found, namespace: Some(new.then(|| Namespace::open(&path).ok())??) })
    });
    std::iter::once(Place::here()).chain(others).collect()
}

fn names() -> Vec<String> {
    let entries = fs::read_dir(NAMED).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
