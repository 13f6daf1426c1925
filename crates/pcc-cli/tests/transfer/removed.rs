//! What somebody removes at the receiver, such as a cleaner of temporary folders, while it is received.

use super::common::{Pcc, names, receiver, sender, write_file};
use super::{Place, place};
use std::fs;
use std::path::PathBuf;

/// A transfer of a long file, which is on its way, and perhaps of a short one after it.
fn under_way(p: &Place, with_short: bool) -> (Pcc, Pcc) {
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    write_file(&root.join("long"), 20_000_000, 1);
    if with_short {
        write_file(&root.join("short"), 1000, 2);
    }
    let recv = receiver(&p.to, &["--json"]);
    let send = sender(&[&root], &recv.ticket(), &["--json", "--max-rate", "40mbit"]);
    recv.stored(1_000_000);
    (recv, send)
}

fn staging(p: &Place) -> PathBuf {
    let name = names(&p.to).into_iter().find(|name| name.starts_with(".pcc-"));
    p.to.join(name.expect("a transfer that is not complete"))
}

#[test]
fn a_file_that_is_removed_is_named_by_both_sides() {
    let p = place();
    let (mut recv, mut send) = under_way(&p, true);
    let data = staging(&p).join("data");
    for name in names(&data) {
        fs::remove_file(data.join(name)).unwrap();
    }
    for side in [&mut send, &mut recv] {
        side.exits(15);
        assert_eq!(side.event("done")["missing"], 1, "{:?}", side.lines());
        assert!(side.events("note").iter().any(|note| note["message"].as_str().unwrap().contains("\"tree/long\"")));
    }
    assert_eq!(fs::read(p.to.join("tree/short")).unwrap(), fs::read(p.from.join("tree/short")).unwrap());
    assert_eq!(names(&p.to), ["tree"], "nothing is stuck");
    assert_eq!(names(&p.to.join("tree")), ["short"]);
}

#[test]
fn a_folder_that_is_removed_is_a_failure_of_both_sides() {
    for whole in [false, true] {
        let p = place();
        // With another file to be made there, it would show anyway.
        let (mut recv, mut send) = under_way(&p, false);
        fs::remove_dir_all(if whole { p.to.clone() } else { staging(&p) }).unwrap();
        send.exits(1);
        recv.exits(1);
        assert!(!p.to.join("tree/long").exists());
    }
}
