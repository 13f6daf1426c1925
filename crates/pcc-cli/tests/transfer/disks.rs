//! File systems that can't keep all that is sent: an old one, and that of memory cards.

use crate::common::{receiver, sender};
use crate::mounted::{self, EXFAT, EXT2, EXT4_OF_OLD, FAT, Format, Mounted};
use crate::{Place, place};
use std::fs::{self, FileTimes, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A new file system that nobody else sees, mounted with these options; `None`, with a line that says why, where that can't be done.
fn mount(p: &Place, format: &Format, options: &str) -> Option<Mounted> {
    let image = p.from.with_file_name(options);
    let at = || p.to.join(options);
    let mounted = mounted::alone().and_then(|()| format.make(&image)).and_then(|()| {
        let by_kernel = Mounted::new(&image, at(), &["-o", options]);
        by_kernel.or_else(|_| Mounted::new(&image, at(), &["-o", options, "-t", &format!("{}-fuse", format.name)]))
    });
    mounted.map_err(|why| println!("skipped: {why}")).ok()
}

/// A file with this time.
fn write(path: PathBuf, modified: SystemTime) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "some text").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_times(FileTimes::new().set_modified(modified)).unwrap();
    path
}

/// Bytes that it took to have the same there.
fn moved(path: &Path, to: &Path) -> u64 {
    let mut recv = receiver(to, &["--sync", "--json"]);
    sender(&[path], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    recv.event("done")["moved"].as_u64().unwrap()
}

#[test]
fn a_time_that_is_not_kept_is_no_difference() {
    let p = place();
    let Some(disk) = mount(&p, &EXT4_OF_OLD, "loop") else { return };
    let root = p.from.join("tree");
    let [in_part, beyond] = [(0, 500_000_000), (4_100_000_000, 0)].map(|(secs, nanos)| Duration::new(secs, nanos));
    write(root.join("in part"), UNIX_EPOCH + in_part);
    write(root.join("beyond its range"), UNIX_EPOCH + beyond);
    assert_eq!(moved(&root, &disk.at), 18);
    assert_eq!(moved(&root, &disk.at), 0);
    write(root.join("in part"), UNIX_EPOCH + in_part + Duration::from_secs(1));
    assert_eq!(moved(&root, &disk.at), 9);
}

#[test]
fn what_a_memory_card_cannot_keep_is_said_before_anything_is_sent() {
    let p = place();
    // FUSE's exFAT has odd seconds only until it reads them from the disk again.
    let now = UNIX_EPOCH + Duration::from_millis(1_600_000_000_500);
    let root = p.from.join("tree");
    let file = write(root.join("a folder/private"), now);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    {
        let Some(card) = mount(&p, &EXFAT, "loop,umask=077") else { return };
        let odd = write(p.from.join("odd/10:30"), now);
        let (big, small) = (write(p.from.join("both/A"), now), write(p.from.join("both/a"), now));
        symlink("private", p.from.join("link")).unwrap();
        let linked = p.from.join("linked");
        fs::create_dir(&linked).unwrap();
        symlink("nowhere", linked.join("link")).unwrap();
        let mut recv = receiver(&card.at, &[]);
        for (path, why) in [
            (odd.parent(), "has a name that the file system of"),
            (big.parent(), "which ignores case"),
            (Some(&*linked), "makes none; have it sent with --links follow or --links skip"),
        ] {
            let mut send = sender(&[path.unwrap()], &recv.ticket(), &[]);
            send.exits(8);
            assert!(send.stderr().contains(why), "{}", send.stderr());
        }
        sender(&[&root], &recv.ticket(), &[]).exits(0);
        recv.exits(0);
        assert!(small.exists());
        assert_eq!(moved(&root, &card.at), 0, "its times are coarse");
        let mode = |path: &str| card.at.join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("tree/a folder"), mode("tree/a folder/private")), (0o700, 0o700));
    }
    {
        let Some(card) = mount(&p, &EXFAT, "loop,umask=022") else { return };
        let recv = receiver(&card.at, &[]);
        let mut send = sender(&[&file], &recv.ticket(), &[]);
        send.exits(10);
        assert!(send.stderr().contains("keeps no permissions"), "{}", send.stderr());
        drop(recv);
        let mut recv = receiver(&card.at, &["--no-perms"]);
        sender(&[&file], &recv.ticket(), &[]).exits(0);
        recv.exits(0);
        assert!(card.at.join("private").exists());
    }
    let Some(card) = mount(&p, &EXFAT, "loop,umask=0") else { return };
    let mut recv = receiver(&card.at, &[]);
    recv.exits(10);
    assert!(recv.stderr().contains("mount it so that it is yours alone"), "{}", recv.stderr());
    assert_eq!(fs::read_dir(&card.at).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_too_long_for_the_disk_is_named_before_anything_is_sent() {
    let p = place();
    for (format, options, bytes) in [(FAT, "loop,umask=077", 1 << 32), (EXT2, "loop", 1 << 35)] {
        let Some(disk) = mount(&p, &format, options) else { continue };
        let [long, short] = ["long", "short"].map(|name| p.from.join(name));
        fs::File::create(&long).unwrap().set_len(bytes).unwrap();
        fs::write(&short, "some text").unwrap();
        let mut recv = receiver(&disk.at, &[]);
        let mut send = sender(&[&long], &recv.ticket(), &[]);
        send.exits(9);
        assert!(send.stderr().contains(&format!("\"long\" has {bytes} bytes")), "{}", send.stderr());
        sender(&[&short], &recv.ticket(), &[]).exits(0);
        recv.exits(0);
    }
}

#[test]
fn a_disk_without_inodes_is_named() {
    let p = place();
    let root = p.from.join("tree");
    (0..20).for_each(|n| drop(write(root.join(n.to_string()), UNIX_EPOCH)));
    for inodes in [2, 3, 12] {
        let (at, options) = (p.to.join(inodes.to_string()), format!("nr_inodes={inodes}"));
        let mounted =
            mounted::alone().and_then(|()| Mounted::new("none".as_ref(), at, &["-t", "tmpfs", "-o", &options]));
        let disk = match mounted {
            Ok(disk) => disk,
            Err(why) => return println!("skipped: {why}"),
        };
        let mut recv = receiver(&disk.at, &[]);
        // With less there is not even a ticket.
        if inodes == 12 {
            sender(&[&root], &recv.ticket(), &[]).exits(9);
        }
        recv.exits(9);
        assert!(recv.stderr().contains("no inodes left on the disk"), "{inodes}: {}", recv.stderr());
    }
}
