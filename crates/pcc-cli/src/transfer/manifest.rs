//! What is sent: the list of files, folders and links, and the rules that a list from the network must obey.

use super::blocks;
use crate::failure::{Failure, Kind, Result, printable};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The encoded list may be this long at most.
pub const MAX_BYTES: usize = 64 << 20;
/// The most files, folders and links.
pub const MAX_ENTRIES: usize = 1_000_000;
/// The longest file, in bytes.
pub const MAX_FILE: u64 = 1 << 46;
const MAX_NAME: usize = 255;
const MAX_PATH: usize = 4096;
/// Folders within folders.
pub const MAX_DEPTH: usize = 128;

/// Reading, writing and executing; not setuid, setgid and sticky.
pub const PERMISSIONS: u32 = 0o777;

/// The name of our own folder inside the destination starts with this.
pub const STAGING_PREFIX: &str = ".pcc-";

/// A modification time: seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mtime {
    /// Seconds, negative before 1970.
    pub secs: i64,
    /// Nanoseconds, below 10^9.
    pub nanos: u32,
}

/// The kinds of entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A folder.
    Dir {
        /// Who may do what in it: the nine bits.
        mode: u32,
        /// When it was last modified.
        mtime: Mtime,
    },
    /// A file.
    File {
        /// Its length in bytes.
        size: u64,
        /// Who may do what with it: the nine bits.
        mode: u32,
        /// When it was last modified.
        mtime: Mtime,
    },
    /// A symbolic link.
    Link {
        /// Where it points.
        target: Vec<u8>,
    },
}

/// One file, folder or link. Every folder is listed before what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The path below the destination, components separated by `/`. Bytes, because names need not be UTF-8.
    pub path: Vec<u8>,
    /// The kind of entry, and what it needs.
    pub what: What,
}

impl Entry {
    /// The path as it may be shown.
    pub fn shown(&self) -> String {
        printable(&self.path)
    }

    /// The name of its data until it has its own: the same in every list that has this version of it.
    pub fn staged_name(&self) -> String {
        let mut version = blake3::Hasher::new();
        version.update(&self.path);
        match &self.what {
            What::Dir { .. } => &mut version,
            What::File { size, mtime, .. } => version
                .update(b"\0file")
                .update(&size.to_le_bytes())
                .update(&mtime.secs.to_le_bytes())
                .update(&mtime.nanos.to_le_bytes()),
            What::Link { target } => version.update(b"\0link").update(target),
        };
        version.finalize().to_hex()[..32].to_owned()
    }

    /// The path as the system wants it.
    pub fn os_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// Its name in the folder that it is in.
    pub fn name(&self) -> &[u8] {
        self.path.rsplit(|&b| b == b'/').next().unwrap_or(&self.path)
    }

    /// The size of a file, nothing for the rest.
    pub fn size(&self) -> u64 {
        match self.what {
            What::File { size, .. } => size,
            _ => 0,
        }
    }

    /// Whether it is a file, and no folder or link.
    pub fn is_file(&self) -> bool {
        matches!(self.what, What::File { .. })
    }
}

/// A list that obeys the rules, and where each file's blocks lie in the sequence of all blocks.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// All files, folders and links of the transfer.
    pub entries: Vec<Entry>,
    first_block: Vec<u64>,
    /// The number of blocks of all files.
    pub blocks: u64,
    /// The bytes of all files.
    pub bytes: u64,
    /// The number of files.
    pub files: usize,
}

impl Manifest {
    /// Checks the entries, all of them or nothing.
    pub fn new(entries: Vec<Entry>) -> Result<Self> {
        check(&entries)?;
        let mut manifest = Self { first_block: Vec::with_capacity(entries.len()), ..Self::default() };
        for entry in &entries {
            manifest.first_block.push(manifest.blocks);
            manifest.blocks += blocks::count(entry.size());
            let total = manifest.bytes.checked_add(entry.size());
            manifest.bytes = total.ok_or_else(|| Failure::new(Kind::BadName, "the files are impossibly large"))?;
            manifest.files += usize::from(matches!(entry.what, What::File { .. }));
        }
        manifest.entries = entries;
        Ok(manifest)
    }

    /// What is the same in every list of one transfer: the names of what the user sends.
    pub fn transfer(&self) -> [u8; 32] {
        let mut names = blake3::Hasher::new();
        for entry in self.entries.iter().filter(|entry| parent(&entry.path).is_none()) {
            names.update(&entry.path).update(b"/");
        }
        *names.finalize().as_bytes()
    }

    /// The place of a block in the sequence of all blocks, if the file has such a block.
    pub fn block_id(&self, file: u32, block: u64) -> Option<u64> {
        let entry = self.entries.get(file as usize)?;
        (block < blocks::count(entry.size())).then(|| self.first_block[file as usize] + block)
    }

    /// The bytes that go over the wire.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let failed = |e| Failure::new(Kind::Other, format!("cannot encode the list of files: {e}"));
        let mut bytes = Vec::new();
        for entry in &self.entries {
            bytes = postcard::to_extend(entry, bytes).map_err(failed)?;
        }
        if bytes.len() > MAX_BYTES {
            let (mebibytes, entries) = (MAX_BYTES >> 20, self.entries.len());
            return Err(Failure::new(
                Kind::BadName,
                format!(
                    "the names of {entries} files and folders make a list of more than {mebibytes} MiB; send fewer at a time"
                ),
            ));
        }
        Ok(bytes)
    }

    /// Reads and checks what came over the wire as a list of this transfer.
    pub fn decode_of(transfer: [u8; 32], bytes: &[u8]) -> Result<Self> {
        let manifest = Self::decode(bytes)?;
        if manifest.transfer() != transfer {
            return Err(Failure::new(Kind::Corrupt, "the list of files is not of the transfer that was announced"));
        }
        Ok(manifest)
    }

    /// Reads and checks what came over the wire.
    pub fn decode(mut bytes: &[u8]) -> Result<Self> {
        // One by one, so that a short message cannot ask for a large allocation.
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            if entries.len() == MAX_ENTRIES {
                return Err(too_many());
            }
            let (entry, rest) = postcard::take_from_bytes::<Entry>(bytes)
                .map_err(|e| Failure::new(Kind::BadName, format!("the list of files cannot be read: {e}")))?;
            entries.push(entry);
            bytes = rest;
        }
        Self::new(entries)
    }
}

fn too_many() -> Failure {
    Failure::new(
        Kind::BadName,
        format!("more than {MAX_ENTRIES} files and folders in one transfer; send fewer at a time"),
    )
}

fn check(entries: &[Entry]) -> Result<()> {
    if entries.is_empty() {
        return Err(Failure::new(Kind::BadName, "there is nothing to send"));
    }
    if entries.len() > MAX_ENTRIES {
        return Err(too_many());
    }
    let mut seen = HashSet::with_capacity(entries.len());
    let mut dirs: HashSet<&[u8]> = HashSet::new();
    for entry in entries {
        let refuse = |why: &str| Failure::new(Kind::BadName, format!("\"{}\" {why}", entry.shown()));
        check_path(&entry.path).map_err(refuse)?;
        if !seen.insert(&*entry.path) {
            return Err(refuse("is listed twice"));
        }
        // Parents are folders of this list, so nothing is ever written through a link that came with it.
        if let Some(parent) = parent(&entry.path)
            && !dirs.contains(parent)
        {
            return Err(refuse("is in a folder that is not listed before it"));
        }
        match &entry.what {
            What::Dir { mode, mtime } => {
                check_mtime(mtime).and(check_mode(*mode)).map_err(refuse)?;
                dirs.insert(&entry.path);
            }
            What::File { size, mode, mtime } => {
                check_mtime(mtime).and(check_mode(*mode)).map_err(refuse)?;
                if *size > MAX_FILE {
                    return Err(refuse("is impossibly large"));
                }
            }
            What::Link { target } if target.is_empty() || target.len() > MAX_PATH || target.contains(&0) => {
                return Err(refuse("is a link to an impossible place"));
            }
            What::Link { .. } => {}
        }
    }
    Ok(())
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    path.iter().rposition(|&b| b == b'/').map(|slash| &path[..slash])
}

fn check_mtime(mtime: &Mtime) -> Result<(), &'static str> {
    if mtime.nanos < 1_000_000_000 { Ok(()) } else { Err("has an impossible modification time") }
}

/// Whoever receives a file never gets one that runs as somebody else.
fn check_mode(mode: u32) -> Result<(), &'static str> {
    if mode & !PERMISSIONS == 0 { Ok(()) } else { Err("has permissions that are not transferred") }
}

fn check_component(name: &[u8]) -> Result<(), &'static str> {
    match name {
        b"" => Err("has an empty name in its path, or is absolute"),
        b"." | b".." => Err("has . or .. in its path"),
        _ if name.len() > MAX_NAME => Err("has too long a name"),
        _ if name.contains(&0) => Err("has a NUL in its name"),
        _ => Ok(()),
    }
}

/// Whether `pcc recv` gives its own folders such names.
pub fn is_staging(name: &[u8]) -> bool {
    let id = name.strip_prefix(STAGING_PREFIX.as_bytes());
    id.is_some_and(|id| id.len() == 12 && id.iter().all(u8::is_ascii_hexdigit))
}

/// Whether what is sent may have this path.
pub fn check_path(path: &[u8]) -> Result<(), &'static str> {
    if path.len() > MAX_PATH {
        return Err("has too long a path");
    }
    let mut depth = 0;
    for (at, name) in path.split(|&b| b == b'/').enumerate() {
        check_component(name)?;
        let prefix = STAGING_PREFIX.as_bytes();
        let is_reserved = at == 0 && name.len() >= prefix.len() && name[..prefix.len()].eq_ignore_ascii_case(prefix);
        // Below it too: a later `pcc recv` into that folder would take up what the sender made up.
        if is_reserved || is_staging(name) {
            return Err("has a name that pcc keeps for itself");
        }
        depth = at;
    }
    if depth >= MAX_DEPTH { Err("is too deep in folders") } else { Ok(()) }
}

/// Whether a link could lead out of the sent folder that it is in. It may go up, but not above that folder, and then only
/// down: with `..` after a name it could go up from wherever another link leads.
pub fn leads_out(path: &[u8], target: &[u8]) -> bool {
    let folders_above = path.iter().filter(|&&b| b == b'/').count();
    let mut names = target.split(|&b| b == b'/').peekable();
    let mut ups = 0;
    while names.next_if(|name| *name == b"..").is_some() {
        ups += 1;
    }
    // The topmost of the folders above is the one that is sent; a link beside it has no folder to stay in.
    ups >= folders_above || names.any(|name| check_component(name).is_err())
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
