//! A control group below this process' own, with this process in it.

use super::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

/// How the control groups made here are called, with a number behind.
const NAME: &str = "pcc-";
/// The file with the ids of a group's processes; each id that is written to it moves that process into the group.
const PROCESSES: &str = "cgroup.procs";
/// What stands for the process that writes.
const THIS_PROCESS: &str = "0";

/// How often processes are moved out: while they are, they may start others.
const ATTEMPTS: usize = 10;

/// A control group in which this process is, and so all that it starts from now on.
pub struct Cgroup {
    parent: PathBuf,
    path: PathBuf,
}

impl Cgroup {
    /// Makes one, and moves this process into it.
    pub fn enter() -> Result<Cgroup, Error> {
        let parent = own()?;
        remove_left_behind(&parent);
        loop {
            let path = make(&parent)?;
            match fs::write(path.join(PROCESSES), THIS_PROCESS) {
                Ok(()) => return Ok(Cgroup { parent, path }),
                // Somebody took it for one that was left behind.
                Err(_) if !path.exists() => {}
                Err(error) => {
                    let _ = fs::remove_dir(&path);
                    return Err(denied(&path)(error));
                }
            }
        }
    }

    /// The group's directory.
    pub fn open(&self) -> Result<File, Error> {
        File::open(&self.path).map_err(Error::file(&self.path))
    }

    /// The other processes in it.
    pub fn others(&self) -> usize {
        let this = std::process::id();
        processes(&self.path).lines().filter(|id| id.parse() != Ok(this)).count()
    }
}

impl Drop for Cgroup {
    /// Moves all processes back, and removes it.
    fn drop(&mut self) {
        for _ in 0..ATTEMPTS {
            for id in processes(&self.path).lines() {
                // It fails for those that have ended.
                let _ = fs::write(self.parent.join(PROCESSES), id);
            }
            if fs::remove_dir(&self.path).is_ok() {
                break;
            }
        }
    }
}

fn processes(group: &Path) -> String {
    fs::read_to_string(group.join(PROCESSES)).unwrap_or_default()
}

/// The directory of this process' own control group.
fn own() -> Result<PathBuf, Error> {
    let read = |file: &str| fs::read_to_string(file).map_err(Error::file(file));
    directory(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?).ok_or(Error::NoCgroups)
}

/// Where the control group of cgroups(7)'s `cgroup` file is, according to proc_pid_mountinfo(5).
fn directory(mounts: &str, cgroup: &str) -> Option<PathBuf> {
    let own = Path::new(cgroup.lines().find_map(|line| line.strip_prefix("0::"))?);
    // Above the root of this namespace of control groups.
    if own.components().any(|component| component == Component::ParentDir) {
        return None;
    }
    mounts.lines().find_map(|mount| {
        let (place, kind) = mount.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = own.strip_prefix(root).ok()?;
        kind.starts_with("cgroup2 ").then(|| Path::new(point).join(below))
    })
}

/// Removes the groups of commands that were killed, as far as there is nobody in them.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(NAME)).map(str::parse::<u32>);
        if number.is_some_and(|number| number.is_ok()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Makes a group under the first name that is free.
fn make(parent: &Path) -> Result<PathBuf, Error> {
    let mut number = 0_u32;
    loop {
        let path = parent.join(format!("{NAME}{number}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(denied(&path)(error)),
        }
    }
}

/// For `map_err`: what is needed where it isn't permitted.
fn denied(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
            Error::NotPermitted { what: "making a control group" }
        }
        _ => Error::file(path)(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        37 31 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
        40 37 0:36 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
        41 37 0:37 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    fn path(mounts: &str, own: &str) -> Option<PathBuf> {
        directory(mounts, &format!("4:memory:/elsewhere\n0::{own}\n"))
    }

    #[test]
    fn the_own_group_is_found_beside_those_of_version_one() {
        assert_eq!(path(MOUNTS, "/"), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(path(MOUNTS, "/user.slice/a"), Some("/sys/fs/cgroup/unified/user.slice/a".into()));
        assert_eq!(directory(MOUNTS, "4:memory:/\n"), None);
        assert_eq!(path("37 31 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n", "/"), None);
    }

    #[test]
    fn a_container_sees_a_part_of_the_groups() {
        let mount = "41 37 0:37 /box/7 /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(path(mount, "/box/7/job"), Some("/sys/fs/cgroup/job".into()));
        assert_eq!(path(mount, "/box/8"), None);
        assert_eq!(path(MOUNTS, "/../other"), None);
    }
}
