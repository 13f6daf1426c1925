//! Inside: the guard itself, the first process of the program's namespace of process identifiers.

use super::proc;
use crate::host::open_files;
use crate::host::program;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;

/// The exit code of programs that run programs, when they can't.
const GUARD_FAILED: u8 = 125;

/// Runs a program for the process `parent` as [`super::Guarded`] asks for it, with a limit of so many open `files`, and returns its exit code.
pub fn guard(parent: u32, files: u64, program: &[OsString]) -> u8 {
    open_files::limit(files);
    match prepare(parent).and_then(|()| program::run(program)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: can't guard a program: {error}");
            GUARD_FAILED
        }
    }
}

/// Ties this process to its parent.
fn prepare(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before. In the /proc of its namespace, which is still mounted, this process can tell.
    if std::process::id() != 1 || proc::parent()? != parent {
        return Err(io::Error::other("`pcc guard` is a part of `pcc lab`"));
    }
    show_own_system()
}

/// What stays as it is in a new /sys: control groups and pinned BPF objects are those of the whole machine.
const KEPT: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/bpf"];

/// Mounts the /proc of this namespace of processes and the /sys of this network namespace, for this process and its children.
///
/// In a container it may be forbidden. Programs then see the processes and devices of the host, and no more than see.
fn show_own_system() -> io::Result<()> {
    const NONE: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Nothing of this gets out; what others mount still gets in.
    if mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_SLAVE, NONE).is_ok() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let _ = mount(Some("proc"), "/proc", Some("proc"), flags, NONE);
        let copy = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let kept = KEPT.map(|path| open_tree(CWD, path, copy).map(|tree| (tree, path)));
        let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), flags, NONE);
        for (tree, path) in kept.into_iter().flatten() {
            let _ = move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH);
        }
    }
    Ok(())
}
