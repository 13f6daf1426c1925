//! Programs of PCC that the kernel has, whoever loaded them, and also old ones that still have connections.

use super::Error;
use super::layout::{LAYOUT, Watcher};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, ProgramType};
use std::collections::BTreeMap;
use zerocopy::{FromBytes, IntoBytes};

/// The key of the only value in a map that is a section of variables.
const ONLY: [u8; 4] = [0; 4];

/// The maps of programs that were loaded together.
pub struct Loaded {
    /// The number by which the kernel knows the map of connections.
    pub id: u32,
    /// The map with the state of each connection.
    pub flows: MapHandle,
    /// The ring buffer that the programs write records to.
    pub records: MapHandle,
    watcher: MapHandle,
    dropped: MapHandle,
}

impl Loaded {
    /// Who watches.
    pub fn watcher(&self) -> Result<Watcher, Error> {
        let bytes = self.watcher.lookup(&ONLY, MapFlags::ANY).map_err(Error::bpf("reading who watches"))?;
        bytes.and_then(|bytes| Watcher::read_from_bytes(&bytes).ok()).ok_or(Error::OtherVersion)
    }

    /// Sets who watches.
    pub fn set_watcher(&self, watcher: &Watcher) -> Result<(), Error> {
        self.watcher.update(&ONLY, watcher.as_bytes(), MapFlags::ANY).map_err(Error::bpf("saying who watches"))
    }

    /// Records that were dropped since the programs were loaded, because the ring buffer was full.
    pub fn dropped(&self) -> Result<u64, Error> {
        let bytes = self.dropped.lookup(&ONLY, MapFlags::ANY).map_err(Error::bpf("reading a counter"))?;
        let bytes = bytes.as_deref().and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| u64::from_ne_bytes(*bytes)).ok_or(Error::OtherVersion)
    }
}

/// Finds all that are loaded.
///
/// # Errors
///
/// [`Error::NotLoaded`] if there are none, [`Error::OtherVersion`] if none is of this build's source.
pub fn loaded() -> Result<Vec<Loaded>, Error> {
    let (mut found, mut others) = (BTreeMap::new(), false);
    for program in ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default().include_map_ids(true)) {
        let candidate = program.ty == ProgramType::StructOps && program.name == "on_ack";
        let Some(loaded) = candidate.then(|| open(&program.map_ids)).flatten() else { continue };
        match loaded.watcher() {
            Ok(watcher) if watcher.layout == LAYOUT => drop(found.insert(loaded.id, loaded)),
            _ => others = true,
        }
    }
    if found.is_empty() {
        return Err(if others {
            Error::OtherVersion
        } else if rustix::process::geteuid().is_root() {
            Error::NotLoaded
        } else {
            Error::NotPermitted { what: "looking for the programs" }
        });
    }
    Ok(found.into_values().collect())
}

/// The maps of a program; `None` if it isn't one of PCC, or has just ended.
fn open(ids: &[u32]) -> Option<Loaded> {
    let (mut flows, mut records, mut watcher, mut dropped) = (None, None, None, None);
    for &id in ids {
        let map = MapHandle::from_map_id(id).ok()?;
        let slot = match (map.map_type(), map.name().to_str()) {
            (MapType::SkStorage, Some("pcc_flows")) => &mut flows,
            (MapType::RingBuf, Some("pcc_records")) => &mut records,
            (MapType::Array, Some(".data.watcher")) => &mut watcher,
            (MapType::Array, Some(".data.dropped")) => &mut dropped,
            _ => continue,
        };
        *slot = Some((id, map));
    }
    let ((id, flows), (_, records), (_, watcher), (_, dropped)) = (flows?, records?, watcher?, dropped?);
    Some(Loaded { id, flows, records, watcher, dropped })
}
