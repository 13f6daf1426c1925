//! Who may do what with what has arrived.

use crate::common::{sender, start, write_file};
use crate::place;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Permissions of what is below a folder.
fn modes(root: &Path, names: &[&str]) -> Vec<String> {
    let mode = |name| root.join(name).symlink_metadata().expect(name).permissions().mode() & 0o7777;
    names.iter().map(|name| format!("{name} {:o}", mode(*name))).collect()
}

#[test]
fn nothing_is_readable_by_more_than_before() {
    let p = place();
    let root = p.from.join("home");
    fs::create_dir_all(root.join("private")).unwrap();
    let names = ["", "private", "private/key", "shared", "script", "public", "setuid"];
    for name in &names[2..] {
        write_file(&root.join(name), 1000, 1);
    }
    for (name, mode) in names.iter().zip([0o755, 0o700, 0o600, 0o640, 0o750, 0o644, 0o4755]) {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let receive = |umask: &str, to: &str, more: &[&str]| {
        let mut command = Command::new("sh");
        let to = p.to.join(to);
        command.args(["-c", &format!("umask {umask}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_pcc"), "recv"]);
        command.arg(&to).args(["--listen", "127.0.0.1:0", "--from", "anyone"]).args(more);
        let mut recv = start(command);
        sender(&[&root], &recv.ticket(), &[]).exits(0);
        recv.exits(0);
        modes(&to.join("home"), &names)
    };
    let kept = ["755", "700", "600", "640", "750", "644", "755"];
    let masked = ["750", "700", "600", "640", "750", "640", "750"];
    let open = ["755", "755", "644", "644", "755", "644", "755"];
    let expected = |modes: [&str; 7]| names.iter().zip(modes).map(|(n, m)| format!("{n} {m}")).collect::<Vec<_>>();
    assert_eq!(receive("022", "kept", &[]), expected(kept));
    assert_eq!(receive("027", "masked", &[]), expected(masked));
    assert_eq!(receive("022", "open", &["--no-perms"]), expected(open));
}

/// An entry of an access control list: what kind, which bits, whose.
#[cfg(target_os = "linux")]
type AclEntry = (u16, u16, u32);

/// As the kernel keeps a list (linux/posix_acl_xattr.h).
#[cfg(target_os = "linux")]
fn encode(list: &[AclEntry]) -> Vec<u8> {
    let entry = |(tag, bits, id): &AclEntry| [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat();
    [2u32.to_le_bytes().to_vec(), list.iter().flat_map(entry).collect()].concat()
}

/// What a default access control list of the receiver's folder grants is limited by the bits of the group, as with `rsync -a`.
#[cfg(target_os = "linux")]
#[test]
fn a_default_list_of_the_receiver_grants_no_more_than_the_group_has() {
    use crate::common::receiver;
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let [user_obj, user, group_obj, mask, other] = [1, 2, 4, 0x10, 0x20];
    let p = place();
    fs::create_dir(&p.to).unwrap();
    // For one who is named, and the group, all; within what the mask grants.
    let list = |mode: u16| {
        let whose = [(user_obj, mode >> 6 & 7), (user, 7), (group_obj, 7), (mask, mode >> 3 & 7), (other, mode & 7)];
        encode(&whose.map(|(tag, bits)| (tag, bits, if tag == user { 1234 } else { u32::MAX })))
    };
    if let Err(error) = setxattr(&p.to, "system.posix_acl_default", &list(0o777), XattrFlags::empty()) {
        return println!("skipped: no access control lists here: {error}");
    }
    let modes: [u16; 5] = [0o600, 0o640, 0o644, 0o604, 0o755];
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o750)).unwrap();
    for mode in modes {
        let file = p.file(&format!("tree/{mode:o}"), 1000);
        fs::set_permissions(file, fs::Permissions::from_mode(mode.into())).unwrap();
    }
    let mut recv = receiver(&p.to, &[]);
    sender(&[&root], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    let files = modes.map(|mode| (format!("tree/{mode:o}"), mode));
    for (name, mode) in files.into_iter().chain([("tree".to_owned(), 0o750)]) {
        let mut there = [0; 256];
        let len = getxattr(p.to.join(&name), "system.posix_acl_access", &mut there).unwrap();
        assert_eq!(there[..len], list(mode), "{name}");
    }
}
