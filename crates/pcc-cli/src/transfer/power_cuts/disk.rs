//! A file system in memory, and the operations that change it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path};

/// A file, folder or link, whatever its names.
pub type Node = usize;

/// The folder that everything is in.
pub const ROOT: Node = 0;

/// Seconds and nanoseconds since 1970.
pub type Time = (i64, i64);

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub folder: Node,
    pub name: OsString,
}

/// What is written; shown as its length.
#[derive(Clone)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// What a new node is.
#[derive(Clone, Debug)]
pub enum New {
    Folder { mode: u32 },
    File { mode: u32 },
    Link { target: OsString },
}

/// One operation.
#[derive(Clone, Debug)]
pub enum Op {
    Make { at: Place, node: Node, new: New },
    Link { at: Place, node: Node },
    Unlink { at: Place },
    Rename { from: Place, to: Place },
    Write { node: Node, from: u64, data: Bytes },
    Resize { node: Node, len: u64 },
    Punch { node: Node, from: u64, len: u64 },
    Mode { node: Node, mode: u32 },
    Time { node: Node, time: Time },
    Sync { node: Node },
    SyncAll,
}

/// What a node contains.
#[derive(Clone)]
pub enum Content {
    Folder(BTreeMap<OsString, Node>),
    File(Vec<u8>),
    Link(OsString),
}

#[derive(Clone)]
struct State {
    content: Content,
    mode: u32,
    /// `None`: whenever it was last changed.
    time: Option<Time>,
}

/// The file system.
#[derive(Clone)]
pub struct Disk {
    nodes: HashMap<Node, State>,
    next: Node,
}

impl Disk {
    /// What is in this folder now.
    pub fn load(root: &Path) -> Self {
        let mut disk = Self { nodes: HashMap::new(), next: 0 };
        disk.load_node(root);
        disk
    }

    fn load_node(&mut self, path: &Path) -> Node {
        let node = self.new_node();
        let metadata = path.symlink_metadata().expect("metadata");
        let content = if metadata.is_dir() {
            let names = fs::read_dir(path).expect("folder").map(|entry| entry.expect("entry").file_name());
            Content::Folder(names.map(|name| (name.clone(), self.load_node(&path.join(&name)))).collect())
        } else if metadata.is_symlink() {
            Content::Link(path.read_link().expect("link").into_os_string())
        } else {
            Content::File(fs::read(path).expect("file"))
        };
        let (mode, time) = (metadata.mode() & 0o7777, Some((metadata.mtime(), metadata.mtime_nsec())));
        self.nodes.insert(node, State { content, mode, time });
        node
    }

    /// A number for a node that is to be made.
    pub fn new_node(&mut self) -> Node {
        self.next += 1;
        self.next - 1
    }

    /// What is at this path below the root.
    pub fn find(&self, path: &Path) -> Option<Node> {
        path.components().try_fold(ROOT, |folder, component| match component {
            Component::Normal(name) => self.names(folder)?.get(name).copied(),
            Component::CurDir => Some(folder),
            _ => None,
        })
    }

    /// The names in a folder.
    pub fn names(&self, folder: Node) -> Option<&BTreeMap<OsString, Node>> {
        match &self.nodes.get(&folder)?.content {
            Content::Folder(names) => Some(names),
            _ => None,
        }
    }

    /// The length of a file.
    pub fn len(&self, node: Node) -> u64 {
        match &self.nodes[&node].content {
            Content::File(data) => data.len() as u64,
            _ => 0,
        }
    }

    fn names_mut(&mut self, folder: Node) -> &mut BTreeMap<OsString, Node> {
        let state = self.nodes.get_mut(&folder).expect("a folder");
        state.time = None;
        match &mut state.content {
            Content::Folder(names) => names,
            _ => panic!("no folder"),
        }
    }

    fn data_mut(&mut self, node: Node) -> &mut Vec<u8> {
        let state = self.nodes.get_mut(&node).expect("a file");
        state.time = None;
        match &mut state.content {
            Content::File(data) => data,
            _ => panic!("no file"),
        }
    }

    fn put(&mut self, at: &Place, node: Node) {
        self.names_mut(at.folder).insert(at.name.clone(), node);
    }

    /// Does what was done.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Make { at, node, new } => {
                let (content, mode) = match new {
                    New::Folder { mode } => (Content::Folder(BTreeMap::new()), *mode),
                    New::File { mode } => (Content::File(Vec::new()), *mode),
                    New::Link { target } => (Content::Link(target.clone()), 0o777),
                };
                self.nodes.insert(*node, State { content, mode, time: None });
                self.put(at, *node);
            }
            Op::Link { at, node } => self.put(at, *node),
            Op::Unlink { at } => {
                self.names_mut(at.folder).remove(&at.name);
            }
            Op::Rename { from, to } => {
                if let Some(node) = self.names_mut(from.folder).remove(&from.name) {
                    self.put(to, node);
                }
            }
            Op::Write { node, from, data } => self.write(*node, *from, &data.0, |_| true),
            Op::Resize { node, len } => self.data_mut(*node).resize(*len as usize, 0),
            Op::Punch { node, from, len } => {
                let data = self.data_mut(*node);
                let end = data.len();
                data[end.min(*from as usize)..end.min((from + len) as usize)].fill(0);
            }
            Op::Mode { node, mode } => self.nodes.get_mut(node).expect("a node").mode = *mode,
            Op::Time { node, time } => self.nodes.get_mut(node).expect("a node").time = Some(*time),
            Op::Sync { .. } | Op::SyncAll => {}
        }
    }

    /// Writes those pages of the data that are to be written; the file has its new length in any case.
    pub fn write(&mut self, node: Node, from: u64, new: &[u8], mut page: impl FnMut(u64) -> bool) {
        const PAGE: u64 = 4096;
        let data = self.data_mut(node);
        let end = from + new.len() as u64;
        data.resize(data.len().max(end as usize), 0);
        let mut at = from;
        while at < end {
            let next = end.min((at / PAGE + 1) * PAGE);
            if page(at / PAGE) {
                data[at as usize..next as usize].copy_from_slice(&new[(at - from) as usize..(next - from) as usize]);
            }
            at = next;
        }
    }

    /// Makes it real in an empty folder.
    pub fn store(&self, root: &Path) {
        self.store_node(ROOT, root);
    }

    fn store_node(&self, node: Node, path: &Path) {
        let State { content, mode, time } = &self.nodes[&node];
        match content {
            Content::Folder(names) => {
                if node != ROOT {
                    fs::create_dir(path).expect("folder");
                }
                names.iter().for_each(|(name, node)| self.store_node(*node, &path.join(name)));
            }
            Content::File(data) => fs::write(path, data).expect("file"),
            Content::Link(target) => return symlink(target, path).expect("link"),
        }
        if let Some((seconds, nanos)) = time {
            let time = std::time::UNIX_EPOCH + std::time::Duration::new(*seconds as u64, *nanos as u32);
            fs::File::open(path).and_then(|file| file.set_modified(time)).expect("time");
        }
        fs::set_permissions(path, fs::Permissions::from_mode(*mode)).expect("mode");
    }

    /// Everything in it as lines; without times that nobody set.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.describe(ROOT, Path::new(""), &mut lines);
        lines
    }

    fn describe(&self, node: Node, path: &Path, lines: &mut Vec<String>) {
        let State { content, mode, time } = &self.nodes[&node];
        let time = time.map_or(String::new(), |(seconds, nanos)| format!(" {seconds}.{nanos:09}"));
        let path_shown = path.as_os_str().as_bytes().escape_ascii();
        match content {
            Content::Folder(names) => {
                lines.push(format!("{path_shown}/ {mode:o}{time}"));
                names.iter().for_each(|(name, node)| self.describe(*node, &path.join(name), lines));
            }
            Content::File(data) => lines.push(format!("{path_shown} {mode:o}{time} {}", blake3::hash(data))),
            Content::Link(target) => lines.push(format!("{path_shown} -> {}", target.display())),
        }
    }

    /// How what is in this folder differs from it.
    pub fn difference(&self, root: &Path) -> Option<String> {
        let mut real = Self::load(root);
        self.forget_times(ROOT, &mut real, ROOT);
        let (expected, found) = (self.lines(), real.lines());
        let differs = |(expected, found): &(&String, &String)| expected != found;
        let first = expected.iter().zip(&found).find(differs);
        (expected != found).then(|| format!("{first:?} of {expected:#?} and {found:#?}"))
    }

    fn forget_times(&self, node: Node, other: &mut Self, same: Node) {
        let (Some(state), Some(found)) = (self.nodes.get(&node), other.nodes.get_mut(&same)) else { return };
        if state.time.is_none() {
            found.time = None;
        }
        let (Content::Folder(names), Content::Folder(found)) = (&state.content, found.content.clone()) else { return };
        for (name, node) in names {
            if let Some(same) = found.get::<OsStr>(name) {
                self.forget_times(*node, other, *same);
            }
        }
    }
}
