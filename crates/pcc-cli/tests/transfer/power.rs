//! What is on the disk when `pcc` says that a transfer is complete, and whenever the power might be cut before.

use crate::common::{self, PATIENCE, Pcc, receiver, sender, write_file};
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An ext4 file system in a file, mounted.
struct Disk {
    image: PathBuf,
    mounted: PathBuf,
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

impl Disk {
    /// `None` where that is not allowed or cannot be done.
    fn make(folder: &Path) -> Option<Self> {
        let image = folder.join("image");
        fs::File::create(&image).expect("image").set_len(64 << 20).expect("length");
        let eager = "lazy_itable_init=0,lazy_journal_init=0";
        succeeds(Command::new("mkfs.ext4").args(["-q", "-F", "-E", eager]).arg(&image)).then_some(())?;
        Self::mount(image, folder.join("mounted"))
    }

    fn mount(image: PathBuf, mounted: PathBuf) -> Option<Self> {
        fs::create_dir_all(&mounted).expect("folder");
        // The file system commits by itself only after ten minutes: what is there sooner was asked for.
        let mount = succeeds(Command::new("mount").args(["-o", "loop,commit=600"]).arg(&image).arg(&mounted));
        mount.then_some(Self { image, mounted })
    }

    /// What would be found after a loss of power right now: what has reached the image.
    fn after_power_cut(&self, folder: &Path) -> Self {
        let image = folder.join("after");
        fs::copy(&self.image, &image).expect("copy");
        Self::mount(image, folder.join("then")).expect("the copy can be mounted")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !succeeds(Command::new("umount").arg(&self.mounted)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The disk of the receiver, and what is to be sent to it.
fn place(folder: &Path, sizes: &[usize]) -> Option<(Disk, PathBuf)> {
    let Some(disk) = Disk::make(folder) else {
        println!("skipped: no ext4 image can be made and mounted here");
        return None;
    };
    let from = folder.join("tree");
    fs::create_dir_all(from.join("below/empty")).expect("folder");
    for (n, size) in sizes.iter().enumerate() {
        let name = if n % 2 == 0 { format!("f{n}") } else { format!("below/f{n}") };
        write_file(&from.join(name), *size, n as u64);
    }
    Some((disk, from))
}

/// What has its final name must be what was sent; how many files that are.
fn published(from: &Path, to: &Path) -> usize {
    let sent = common::tree(from);
    let found = if to.exists() { common::tree(to) } else { Vec::new() };
    let files = found.iter().filter(|(_, what)| !what.starts_with("folder"));
    files.inspect(|file| assert!(sent.contains(file), "{file:?} is not what was sent")).count()
}

#[test]
fn what_is_complete_survives_a_power_cut() {
    let folder = tempfile::tempdir().expect("folder");
    let Some((disk, from)) = place(folder.path(), &[0, 10, 5000, 300_000, 7, 1_000_000]) else { return };
    let mut recv = receiver(&disk.mounted.join("new/to"), &["--json"]);
    let mut send = sender(&[&from], &recv.ticket(), &["--json"]);
    send.exits(0);
    {
        let then = disk.after_power_cut(folder.path());
        assert_eq!(common::tree(&from), common::tree(&then.mounted.join("new/to/tree")), "when send is done");
    }
    recv.exits(0);
    let then = disk.after_power_cut(folder.path());
    assert_eq!(common::tree(&from), common::tree(&then.mounted.join("new/to/tree")), "when recv is done");
    assert_eq!(common::names(&then.mounted.join("new/to")), ["tree"]);
}

#[test]
fn a_name_is_on_disk_only_with_its_contents() {
    let folder = tempfile::tempdir().expect("folder");
    let sizes: Vec<usize> = (0..400).map(|n| n * 37).collect();
    let Some((disk, from)) = place(folder.path(), &sizes) else { return };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let to = disk.mounted.join("to");
    let mut recv = receiver(&to, &["--json"]);
    let mut send = sender(&[&from], &recv.ticket(), &["--json", "--max-rate", "20mbit"]);
    // Before the end there are no names, so most cuts are to come there.
    let most = sizes.iter().sum::<usize>() as u64 / 10 * 8;
    recv.until("the end", || {
        let is_near = recv.events("progress").iter().any(|e| e["stored"].as_u64() >= Some(most));
        (is_near || !recv.events("done").is_empty()).then_some(())
    });
    let mut cuts = 0;
    while recv.is_running() && send.is_running() {
        std::thread::sleep(Duration::from_millis(rng.u64(1..30)));
        stopped(&recv, || {
            let then = disk.after_power_cut(folder.path());
            let files = published(&from, &then.mounted.join("to/tree"));
            println!("cut {cuts}: {files} files");
        });
        cuts += 1;
    }
    send.exits(0);
    recv.exits(0);
    assert_eq!(common::tree(&from), common::tree(&to.join("tree")));
}

/// Looks at something while the process does nothing, in the kernel neither.
fn stopped(pcc: &Pcc, look: impl FnOnce()) {
    pcc.signal(Signal::STOP);
    pcc.until("stop", || {
        // One that has ended has no threads left.
        let threads = fs::read_dir(format!("/proc/{}/task", pcc.id())).into_iter().flatten().flatten();
        let mut states = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
        let quiet = |stat: String| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 'Z', 'X']));
        states.all(quiet).then_some(())
    });
    look();
    pcc.signal(Signal::CONT);
}
