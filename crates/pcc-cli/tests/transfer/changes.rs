//! Sources that change while they are sent.

use crate::common::{names, receiver, sender, tree, write_file};
use crate::place;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn append(path: &Path) {
    fs::File::options().append(true).open(path).unwrap().write_all(b"one more line\n").unwrap();
}

#[test]
fn the_new_version_of_a_file_is_sent() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    // More than is read ahead, so that the log is not read before it changes.
    write_file(&root.join("large"), 40_000_000, 1);
    write_file(&root.join("log"), 700_000, 2);
    write_file(&root.join("rest"), 100_000, 3);
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&root], &recv.ticket(), &["--json", "--max-rate", "50mbit"]);
    send.event("start");
    append(&root.join("log"));
    send.exits(0);
    recv.exits(0);
    assert_eq!(tree(&root), tree(&p.to.join("tree")));
    let starts = send.events("start");
    assert!(starts[1]["have"].as_u64() >= Some(40_100_000), "the rest is not sent again: {starts:?}");
    assert!(send.events("note").iter().any(|note| note["message"].as_str().unwrap().contains("\"tree/log\"")));
}

#[test]
fn all_but_a_file_that_changes_all_the_time_arrives() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    write_file(&root.join("a"), 300_000, 1);
    write_file(&root.join("log"), 40_000_000, 2);
    write_file(&root.join("rest"), 100_000, 3);
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&root], &recv.ticket(), &["--json", "--max-rate", "20mbit"]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                append(&root.join("log"));
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| send.exits(15)));
        stop.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
    recv.exits(15);
    for side in [&send, &recv] {
        assert_eq!(side.event("error")["kind"], "incomplete");
        let done = side.event("done");
        assert_eq!((&done["files"], &done["missing"], &done["there"]), (&2.into(), &1.into(), &0.into()), "{done}");
        assert!(side.events("note").iter().any(|note| note["message"].as_str().unwrap().contains("\"tree/log\"")));
    }
    fs::remove_file(root.join("log")).unwrap();
    let contents = |root| tree(root).into_iter().filter(|(path, _)| path.file_name().is_some()).collect::<Vec<_>>();
    assert_eq!(contents(&root), contents(&p.to.join("tree")), "and nothing else");
    assert_eq!(names(&p.to), ["tree"]);
}

/// It is open when it changes: only what is looked at after each block shows it.
#[test]
fn a_file_that_changes_while_it_is_read_ends_a_strict_transfer() {
    let p = place();
    let log = p.from.join("log");
    write_file(&log, 40_000_000, 1);
    let recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&log], &recv.ticket(), &["--json", "--strict", "--max-rate", "20mbit"]);
    recv.stored(1_000_000);
    append(&log);
    send.exits(11);
    assert!(send.event("error")["message"].as_str().unwrap().contains("changed while they were sent"));
    assert!(send.events("note").iter().any(|note| note["message"].as_str().unwrap().contains("\"log\"")));
    assert!(!p.to.join("log").exists());
    let reason = recv.event("lost")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("the sender gave up"), "{reason}");
    recv.kill();
}

/// Whoever may write around a named folder can't have another one sent in its place, whatever makes the sender list again.
#[test]
fn a_link_in_the_place_of_a_named_folder_is_not_followed() {
    let p = place();
    let (root, secret) = (p.from.join("tree"), p.from.join("secret"));
    for folder in [&root, &secret] {
        fs::create_dir(folder).unwrap();
    }
    write_file(&root.join("large"), 40_000_000, 1);
    fs::create_dir(root.join("sub")).unwrap();
    // To open it, the folder is looked for again.
    write_file(&root.join("sub/last"), 100_000, 2);
    fs::write(secret.join("shadow"), "secret").unwrap();
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&root], &recv.ticket(), &["--json", "--max-rate", "50mbit"]);
    send.event("start");
    fs::rename(&root, p.from.join("moved")).unwrap();
    symlink(&secret, &root).unwrap();
    send.exits(15);
    recv.wait();
    assert!(!p.to.join("tree/shadow").exists());
    let says = |note: &serde_json::Value| note["message"].as_str().unwrap().contains("is not what was named any more");
    assert!(send.events("note").iter().any(says), "{:?}", send.events("note"));
}

#[test]
fn what_has_arrived_of_a_folder_that_goes_stays() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir_all(root.join("sub")).unwrap();
    write_file(&root.join("a"), 300_000, 1);
    write_file(&root.join("large"), 40_000_000, 2);
    write_file(&root.join("sub/last"), 100_000, 3);
    let a = fs::read(root.join("a")).unwrap();
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&root], &recv.ticket(), &["--json", "--max-rate", "50mbit"]);
    recv.stored(1_000_000);
    fs::remove_dir_all(&root).unwrap();
    for side in [&mut send, &mut recv] {
        side.exits(15);
        let done = side.event("done");
        assert_eq!((&done["files"], &done["missing"]), (&1.into(), &2.into()), "{done}");
        for missing in ["\"tree/large\"", "\"tree/sub/last\""] {
            let is_it = |note: &serde_json::Value| note["message"].as_str().unwrap().contains(missing);
            assert!(side.events("note").iter().any(is_it), "{missing}: {:?}", side.events("note"));
        }
    }
    assert_eq!(fs::read(p.to.join("tree/a")).unwrap(), a);
    assert_eq!(names(&p.to.join("tree")), ["a", "sub"]);
}

#[test]
fn a_named_file_that_goes_takes_nothing_else_with_it() {
    let p = place();
    let (large, log, other) = (p.file("large", 40_000_000), p.file("log", 700_000), p.file("other", 1000));
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&large, &log, &other], &recv.ticket(), &["--json", "--max-rate", "50mbit"]);
    send.event("start");
    fs::remove_file(&log).unwrap();
    send.exits(15);
    recv.exits(15);
    assert_eq!(names(&p.to), ["large", "other"]);
    assert_eq!((&send.event("done")["files"], &send.event("done")["missing"]), (&2.into(), &1.into()));
}

#[test]
fn an_empty_file_that_is_written_to_is_noticed() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    write_file(&root.join("large"), 40_000_000, 1);
    fs::write(root.join("new"), "").unwrap();
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&root], &recv.ticket(), &["--json", "--max-rate", "50mbit"]);
    send.event("start");
    append(&root.join("new"));
    let code = send.wait().code();
    recv.wait();
    let arrived = fs::read(p.to.join("tree/new")).unwrap();
    let noted = send.events("note").iter().any(|note| note["message"].as_str().unwrap().contains("\"tree/new\""));
    assert!(noted, "{:?}", send.events("note"));
    assert_eq!(code, Some(if arrived.is_empty() { 15 } else { 0 }));
}

#[test]
fn a_change_between_two_runs_costs_only_what_changed() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    write_file(&root.join("large"), 10_000_000, 1);
    write_file(&root.join("log"), 100_000, 2);
    let mut recv = receiver(&p.to, &["--json"]);
    let ticket = recv.ticket();
    let send = sender(&[&root], &ticket, &["--json", "--max-rate", "20mbit"]);
    recv.stored(3_000_000);
    send.kill();
    append(&root.join("log"));
    write_file(&root.join("new"), 1000, 3);
    let mut send = sender(&[&root], &ticket, &["--json"]);
    send.exits(0);
    recv.exits(0);
    assert!(send.event("start")["have"].as_u64() >= Some(3_000_000), "{}", send.event("start"));
    assert_eq!(tree(&root), tree(&p.to.join("tree")));
}

#[test]
fn what_was_named_and_is_missing_is_an_error() {
    let p = place();
    let recv = receiver(&p.to, &[]);
    sender(&[&p.from.join("missing")], &recv.ticket(), &[]).exits(11);
}
