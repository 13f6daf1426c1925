//! Controllers that stay when their loader ends: pinned in the BPF filesystem.

use super::holders::{PINS, holders, path};
use super::{Controller, Error, Holder, Registered, load};
use libbpf_rs::Link;
use rustix::fs::statfs;
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const BPFFS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` of `linux/magic.h`.
const BPFFS_MAGIC: u64 = 0xcafe_4a11;

/// Lets the controllers stay when this process ends, until [`unpin`] or a restart of the machine.
///
/// Mounts the BPF filesystem where it isn't yet.
///
/// # Errors
///
/// When that filesystem can't be had, or a pin is there already; then none of them stays.
pub fn pin(mut registered: Registered) -> Result<(), Error> {
    mount_bpffs()?;
    fs::create_dir_all(PINS).map_err(Error::file(PINS))?;
    check_folder(Path::new(PINS))?;
    let pinned = registered.links.iter_mut().try_for_each(|(controller, link)| link.pin(path(*controller)));
    if pinned.is_err() {
        for (_, link) in &mut registered.links {
            // Those without a pin refuse.
            let _ = link.unpin();
        }
    }
    pinned.map_err(Error::bpf("pinning the controllers"))
}

/// Puts the programs of this build in the place of those of pinned controllers. Each name is there all the time;
/// connections keep the programs that they have until they end.
///
/// # Errors
///
/// When one of them isn't pinned, or the caller may not do it.
pub fn replace(controllers: &[Controller]) -> Result<(), Error> {
    let links = controllers.iter().map(|&controller| Ok((controller, open(controller)?)));
    load::replace(&links.collect::<Result<Vec<_>, Error>>()?)
}

/// Unregisters a pinned controller. Connections that use it keep it until they end.
///
/// # Errors
///
/// When it isn't pinned, or the caller may not do it; or it isn't pinned any more, but something else keeps it registered.
pub fn unpin(controller: Controller) -> Result<(), Error> {
    let path = path(controller);
    fs::remove_file(&path).map_err(Error::file(path))?;
    // With others in it, it stays.
    let _ = fs::remove_dir(PINS);
    let patience = Instant::now() + Duration::from_secs(2);
    loop {
        match holders().remove(&controller) {
            None => return Ok(()),
            // The kernel takes a moment.
            Some(Holder::Unknown) if Instant::now() < patience => thread::sleep(Duration::from_millis(10)),
            Some(holder) => return Err(Error::Kept { controller, holder }),
        }
    }
}

fn open(controller: Controller) -> Result<Link, Error> {
    check_folder(Path::new(PINS))?;
    Link::open(path(controller)).map_err(Error::bpf("opening a pin"))
}

/// Whoever else may write there could put something of theirs in the place of a pin.
fn check_folder(folder: &Path) -> Result<(), Error> {
    let about = fs::symlink_metadata(folder).map_err(Error::file(folder))?;
    if about.is_dir() && about.uid() == 0 && about.mode() & 0o022 == 0 {
        return Ok(());
    }
    let why = "it is not a folder of root's in which nobody else may write; remove it";
    Err(Error::file(folder)(io::Error::new(io::ErrorKind::PermissionDenied, why)))
}

fn mount_bpffs() -> Result<(), Error> {
    let is_there = || statfs(BPFFS).is_ok_and(|about| about.f_type as u64 == BPFFS_MAGIC);
    if is_there() {
        return Ok(());
    }
    let mounts = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    if mounts("self") != mounts("1") {
        return Err(Error::NoBpffs(io::Error::other(
            "this process has mounts of its own, as in a container or under `ip netns exec`, and what is pinned there may be \
             gone with them: run it outside, or mount one here yourself: mount -t bpf bpf /sys/fs/bpf",
        )));
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("bpf", BPFFS, "bpf", flags, Some(c"mode=0700")).map_err(|error| Error::NoBpffs(io::Error::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::process::Command;

    /// Set for a test that runs once more, in a mount namespace of its own.
    const INSIDE: &str = "PCC_TEST_INSIDE";

    fn is_inside() -> bool {
        std::env::var_os(INSIDE).is_some()
    }

    /// Runs a test of this module once more, in a mount namespace of its own. There an empty folder, or what `prepare` makes of it, is in the
    /// place of the machine's `/sys/fs/bpf`.
    fn run_inside(test: &str, prepare: &str) {
        let script = format!(
            "{{ mount -t tmpfs none /sys/fs && mkdir /sys/fs/bpf && {prepare}; }} || exit 77; \
             exec \"$0\" --exact --nocapture kernel::pins::tests::{test}"
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", &script]).arg(std::env::current_exe().unwrap()).env(INSIDE, "1");
        match unshare.output() {
            Ok(output) if output.status.code() != Some(77) && !output.stdout.is_empty() => {
                assert!(String::from_utf8_lossy(&output.stdout).contains(" 1 passed"), "{output:?}");
            }
            _ => println!("skipped: there can be no mount namespace, or no BPF filesystem in it, here"),
        }
    }

    #[test]
    fn where_mounts_go_with_a_container_none_is_made() {
        if is_inside() {
            let hint = mount_bpffs().unwrap_err().to_string();
            assert!(hint.contains("mounts of its own, as in a container"), "{hint}");
            assert!(hint.ends_with("mount one here yourself: mount -t bpf bpf /sys/fs/bpf"), "{hint}");
            let mounted = Command::new("mount").args(["-t", "bpf", "bpf", BPFFS]).status().unwrap();
            // Where it can be done, the hint helps.
            return assert!(!mounted.success() || mount_bpffs().is_ok());
        }
        run_inside("where_mounts_go_with_a_container_none_is_made", "true");
    }

    #[test]
    fn what_somebody_else_pinned_is_not_used() {
        if !is_inside() {
            let prepare = "mount -t bpf bpf /sys/fs/bpf && mkdir /sys/fs/bpf/pcc && chown 1 /sys/fs/bpf/pcc";
            return run_inside("what_somebody_else_pinned_is_not_used", prepare);
        }
        let refused = |result: Result<(), Error>| result.unwrap_err().to_string();
        let [pinned, replaced] = [pin(Registered { links: Vec::new() }), replace(&[Controller::Vivace])].map(refused);
        assert!(pinned.contains("not a folder of root's"), "{pinned}");
        assert!(replaced.contains("not a folder of root's"), "{replaced}");
    }

    #[test]
    fn only_a_folder_of_root_has_pins() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("pcc");
        fs::create_dir(&folder).unwrap();
        if fs::metadata(&folder).unwrap().uid() != 0 {
            assert!(check_folder(&folder).is_err());
            return println!("skipped: only root has folders of root");
        }
        let allow = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        allow(0o755);
        check_folder(&folder).unwrap();
        allow(0o775);
        assert!(check_folder(&folder).is_err());
        allow(0o700);
        symlink(&folder, dir.path().join("link")).unwrap();
        assert!(check_folder(&dir.path().join("link")).is_err());
        chown(&folder, Some(1), None).unwrap();
        assert!(check_folder(&folder).unwrap_err().to_string().contains("pcc: it is not a folder of root's"));
    }
}
