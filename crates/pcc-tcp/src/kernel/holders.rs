//! Which controllers are registered or pinned, and what keeps them so.

use super::holder::Holder;
use crate::controller::Controller;
use libbpf_rs::MapType;
use libbpf_rs::query::MapInfoIter;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the links of pinned controllers are, under the kernel's names of the controllers.
pub const PINS: &str = "/sys/fs/bpf/pcc";

/// Where the link of a pinned controller is.
pub(super) fn path(controller: Controller) -> PathBuf {
    Path::new(PINS).join(controller.name())
}

/// The controllers that are pinned, as far as this user can see them.
pub fn pinned() -> Vec<Controller> {
    Controller::ALL.into_iter().filter(|&controller| path(controller).exists()).collect()
}

/// The congestion controls that the kernel has now, those of others included.
pub fn available() -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// The controllers that are registered, and what keeps them so.
pub fn holders() -> BTreeMap<Controller, Holder> {
    let available = available();
    let registered = Controller::ALL.into_iter().filter(|controller| available.iter().any(|a| a == controller.name()));
    let mut holders: BTreeMap<_, _> = registered.map(|controller| (controller, Holder::Unknown)).collect();
    if !holders.is_empty() {
        let by_processes = processes();
        for (controller, holder) in by_processes.into_iter().chain(pinned().into_iter().map(|pin| (pin, Holder::Pin))) {
            holders.entry(controller).and_modify(|known| *known = holder);
        }
    }
    holders
}

/// How many versions of each controller the kernel keeps: the registered one, and unloaded ones that connections or
/// defaults of network namespaces still use. Only root sees them.
pub fn versions() -> BTreeMap<Controller, usize> {
    let mut versions = BTreeMap::new();
    for controller in maps().into_values() {
        *versions.entry(controller).or_default() += 1;
    }
    versions
}

/// The maps that have the programs of controllers.
fn maps() -> BTreeMap<u32, Controller> {
    let struct_ops = MapInfoIter::default().filter(|map| map.ty == MapType::StructOps);
    let ours = struct_ops.filter_map(|map| Some((map.id, Controller::ALL.into_iter().find(|c| map.name == c.name())?)));
    ours.collect()
}

/// The processes that have a link to a controller.
fn processes() -> Vec<(Controller, Holder)> {
    let maps = maps();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_process = |process: fs::DirEntry| {
        let id = process.file_name().to_str()?.parse().ok()?;
        let files = fs::read_dir(process.path().join("fdinfo")).ok()?;
        let links = files.flatten().filter_map(|file| map_of_link(&fs::read_to_string(file.path()).ok()?));
        let controllers: Vec<_> = links.filter_map(|map| maps.get(&map).copied()).collect();
        let holder = Holder::Process { id, name: name(&process.path()) };
        Some(controllers.into_iter().map(move |controller| (controller, holder.clone())))
    };
    processes.filter_map(of_process).flatten().collect()
}

/// The map with the programs of a link, from what the kernel tells about a file descriptor.
fn map_of_link(fdinfo: &str) -> Option<u32> {
    let value = |key| fdinfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(str::trim));
    (value("link_type")? == "struct_ops").then(|| value("map_id")?.parse().ok())?
}

fn name(process: &Path) -> String {
    fs::read_to_string(process.join("comm")).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_of_a_link_is_found() {
        let link = "pos:\t0\nflags:\t02000002\nlink_type:\tstruct_ops\nlink_id:\t7\nmap_id:\t42\n";
        assert_eq!(map_of_link(link), Some(42));
        assert_eq!(map_of_link("link_type:\tcgroup\nmap_id:\t42\n"), None);
        assert_eq!(map_of_link("pos:\t0\n"), None);
    }
}
