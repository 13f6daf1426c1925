//! Folders at the receiver that nothing can be put into: that is said before anything is sent.

use crate::adversary::{NOBODY, may_run};
use crate::common::{CONFIG, Pcc, receiver, receiver_command, sender, start, tree};
use crate::mounted::{self, Mounted};
use crate::{Place, place};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tree to send, with one file in a folder of it.
fn tree_with(p: &Place, file: &str) -> PathBuf {
    let root = p.from.join("tree");
    fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
    p.file("tree/above", 10);
    p.file(&format!("tree/{file}"), 1000);
    root
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Sends it, in vain; both ends say why, and nothing was sent.
fn is_refused(recv: &Pcc, root: &Path, code: i32, why: &str) {
    let mut send = sender(&[root], &recv.ticket(), &["--json"]);
    send.exits(code);
    let said = send.event("error")["message"].as_str().unwrap().to_owned();
    assert!(said.contains(why), "{said}");
    assert!(send.events("start").is_empty(), "before anything is sent");
    recv.until("the reason", || recv.stderr().contains(&said).then_some(()));
}

#[test]
fn a_folder_that_may_not_be_written_in_is_named_before_anything_is_sent() {
    let user = rustix::process::geteuid().is_root().then_some(NOBODY);
    if user.is_some() && !may_run(user) {
        return println!("skipped: another user may not run what is under test");
    }
    let p = place();
    let root = tree_with(&p, "shut/new");
    let (shut, config) = (p.to.join("tree/shut"), p.from.join("config"));
    fs::create_dir_all(&shut).unwrap();
    fs::create_dir(&config).unwrap();
    permit(p.to.parent().unwrap(), 0o755);
    for folder in [&p.to, &p.to.join("tree"), &config] {
        chown(folder, user, user).unwrap();
    }
    let receive = |more: &[&str]| {
        let mut command = receiver_command(&p.to, &[&["--from", "anyone"], more].concat());
        command.env(CONFIG, &config).current_dir("/");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        start(command)
    };
    permit(&shut, 0o555);
    let mut recv = receive(&[]);
    let why = "\"tree/shut/new\" cannot be put into the folder \"tree/shut\" in";
    is_refused(&recv, &root, 10, why);
    permit(&shut, 0o777);
    sender(&[&root], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    assert!(shut.join("new").exists());

    // Nothing is to be put into it.
    permit(&shut, 0o555);
    let mut recv = receive(&["--sync"]);
    sender(&[&root], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    // With --sync a folder of one's own is opened.
    p.file("tree/shut/newer", 2000);
    chown(&shut, user, user).unwrap();
    permit(&shut, 0o555);
    let mut recv = receive(&["--sync"]);
    sender(&[&root], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    assert_eq!(tree(&root), tree(&p.to.join("tree")));
}

#[test]
fn a_mount_inside_is_named_before_anything_is_sent() {
    let p = place();
    let root = tree_with(&p, "disk/below/new");
    let (same, at) = (p.from.join("same file system"), p.to.join("tree/disk"));
    fs::create_dir_all(&same).unwrap();
    let mounted = mounted::alone().and_then(|()| Mounted::new(&same, at, &["--bind"]));
    let _disk = match mounted {
        Ok(mounted) => mounted,
        Err(why) => return println!("skipped: {why}"),
    };
    let mut recv = receiver(&p.to, &[]);
    is_refused(&recv, &root, 1, "cannot be put into the folder \"tree/disk\" in");
    sender(&[&root], &recv.ticket(), &["--exclude", "tree/disk"]).exits(0);
    recv.exits(0);
    assert_eq!(fs::read_dir(&same).unwrap().count(), 0);

    // A file can be one, too.
    let (file, there) = (p.file("file", 20), p.to.join("file"));
    fs::write(&there, "older").unwrap();
    let bound = Command::new("mount").arg("--bind").args([&p.file("another", 30), &there]).status().unwrap();
    assert!(bound.success());
    let _file = Mounted { at: there };
    let recv = receiver(&p.to, &["--overwrite"]);
    is_refused(&recv, &file, 1, "is a mount of its own, which cannot be replaced");
}
