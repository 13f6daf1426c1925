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
