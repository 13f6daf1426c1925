//! File systems, and mounts that nobody else sees and that end with whoever made them.

use crate::common::PATIENCE;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A file system, and the smallest disk that it can be made on.
pub struct Format {
    pub name: &'static str,
    len: u64,
    make: &'static [&'static str],
}

pub const EXT4: Format =
    Format { name: "ext4", len: 64 << 20, make: &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"] };
/// Times in whole seconds, until 2038.
pub const EXT4_OF_OLD: Format = Format { name: "ext4", len: 64 << 20, make: &["-q", "-F", "-I", "128"] };
pub const EXFAT: Format = Format { name: "exfat", len: 64 << 20, make: &[] };
/// Files of less than 4 GiB.
pub const FAT: Format = Format { name: "vfat", len: 64 << 20, make: &[] };
/// Files of 16 GiB at most.
pub const EXT2: Format = Format { name: "ext2", len: 64 << 20, make: &["-q", "-F", "-b", "1024"] };
pub const XFS: Format = Format { name: "xfs", len: 300 << 20, make: &["-q", "-f"] };
pub const BTRFS: Format = Format { name: "btrfs", len: 128 << 20, make: &["-q", "-f"] };

impl Format {
    /// Makes one in a new file. The error says why that cannot be done here.
    pub fn make(&self, image: &Path) -> Result<(), String> {
        fs::File::create(image).and_then(|file| file.set_len(self.len)).map_err(|e| e.to_string())?;
        run(Command::new(format!("mkfs.{}", self.name)).args(self.make).arg(image))
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{program}: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// From now on nobody but this thread, and what it starts, sees what it mounts. The last of these to end undoes it all.
pub fn alone() -> Result<(), String> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    let done =
        unshare(CloneFlags::CLONE_NEWNS).and_then(|()| mount(None::<&str>, "/", None::<&str>, private, None::<&str>));
    done.map_err(|e| format!("mounts of one's own: {e}"))
}

/// A mounted file system; unmounted when it goes out of scope.
pub struct Mounted {
    /// Where.
    pub at: PathBuf,
}

impl Mounted {
    /// Mounts what is on this disk, as a machine does at its start.
    pub fn new(disk: &Path, at: PathBuf, options: &[&str]) -> Result<Self, String> {
        fs::create_dir_all(&at).expect("folder");
        run(Command::new("mount").args(options).arg(disk).arg(&at))?;
        Ok(Self { at })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that was killed may have files open for a moment still.
        let deadline = Instant::now() + PATIENCE;
        while run(Command::new("umount").arg(&self.at)).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
