//! `pcc recv --sync`: what is there already is not sent again.

use crate::common::{receiver, sender, tree, write_file};
use crate::{BLOCK, place, through_relay};
use std::fs::{self, FileTimes};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

#[test]
fn what_is_there_is_not_sent_again() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    for (n, name) in ["changed", "same", "touched"].iter().enumerate() {
        write_file(&root.join(name), 300_000, n as u64);
    }
    let mut recv = receiver(&p.to, &["--sync"]);
    sender(&[&root], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    let there = |name: &str| p.to.join("tree").join(name);
    let inode = there("same").metadata().unwrap().ino();
    fs::write(there("only here"), "mine").unwrap();
    write_file(&root.join("changed"), 300_001, 7);
    write_file(&root.join("touched"), 300_000, 2);
    write_file(&root.join("new"), 1000, 8);
    let mut recv = receiver(&p.to, &["--sync", "--json"]);
    let mut send = sender(&[&root], &recv.ticket(), &["--json"]);
    send.exits(0);
    recv.exits(0);
    assert_eq!(send.event("start")["have"], 300_000);
    for side in [&recv, &send] {
        let done = side.event("done");
        assert_eq!((&done["files"], &done["there"], &done["missing"]), (&4.into(), &1.into(), &0.into()), "{done}");
        assert_eq!(done["moved"], 601_001);
    }
    assert_eq!(there("same").metadata().unwrap().ino(), inode);
    assert_eq!(fs::read(there("only here")).unwrap(), b"mine", "nothing is deleted");
    fs::remove_file(there("only here")).unwrap();
    assert_eq!(tree(&root)[1..], tree(&p.to.join("tree"))[1..]);
}

#[test]
fn empty_files_stay_too() {
    let p = place();
    let (root, there) = (p.from.join("tree"), p.to.join("tree"));
    fs::create_dir(&root).unwrap();
    for name in ["empty", "touched", "filled"] {
        write_file(&root.join(name), 0, 1);
    }
    let inodes = || ["empty", "touched", "filled"].map(|name| there.join(name).metadata().unwrap().ino());
    let again = |options: &[&str]| {
        let mut recv = receiver(&p.to, &[&["--json"], options].concat());
        let mut send = sender(&[&root], &recv.ticket(), &["--json"]);
        send.exits(0);
        recv.exits(0);
        assert_eq!(tree(&root), tree(&there));
        let [sent, received] = [&send, &recv].map(|side| side.event("done")["there"].as_u64().unwrap());
        assert_eq!(sent, received);
        (received, inodes())
    };
    let (at_first, first) = again(&[]);
    assert_eq!((at_first, again(&["--sync"])), (0, (3, first)));
    fs::write(there.join("filled"), "content").unwrap();
    touch(&there.join("touched"), 1_000_000_000);
    let (stayed, second) = again(&["--sync", "--checksum"]);
    assert_eq!((stayed, second[..2] == first[..2], second[2] == first[2]), (2, true, false));
    touch(&there.join("touched"), 1_000_000_000);
    let (stayed, third) = again(&["--sync"]);
    assert_eq!((stayed, third[0] == second[0], third[1] == second[1]), (2, true, false));
}

/// Gives a file another time.
fn touch(path: &Path, seconds: u64) {
    let then = FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(seconds));
    fs::File::options().write(true).open(path).unwrap().set_times(then).unwrap();
}

fn change(path: &Path, at: u64) {
    fs::File::options().write(true).open(path).unwrap().write_all_at(b"changed", at).unwrap();
}

#[test]
fn contents_are_compared_and_only_what_changed_is_sent() {
    let p = place();
    let (root, there) = (p.from.join("tree"), p.to.join("tree"));
    fs::create_dir(&root).unwrap();
    // The same, with other times.
    for (name, size) in [("small", 5000), ("large", 12 * BLOCK + 77), ("block", BLOCK)] {
        write_file(&root.join(name), size, 1);
    }
    for name in ["a block changed", "cut", "grown", "grown from a block"] {
        write_file(&root.join(name), 9 * BLOCK, 2);
    }
    for name in ["other", "time alone"] {
        write_file(&root.join(name), 5000, 3);
    }
    fs::create_dir_all(&there).unwrap();
    for entry in fs::read_dir(&root).unwrap() {
        let name = entry.unwrap().file_name();
        fs::copy(root.join(&name), there.join(&name)).unwrap();
        touch(&there.join(&name), 1_000_000_000);
    }
    let kept = ["small", "large", "block"].map(|name| there.join(name).metadata().unwrap().ino());
    change(&there.join("a block changed"), 4 * BLOCK as u64 + 9);
    fs::File::options().append(true).open(there.join("cut")).unwrap().write_all(b"more").unwrap();
    fs::File::options().append(true).open(root.join("grown")).unwrap().write_all(&[7; 1000]).unwrap();
    fs::File::options().write(true).open(there.join("grown from a block")).unwrap().set_len(BLOCK as u64).unwrap();
    write_file(&there.join("other"), 5000, 4);
    // Time and size are the same, the content is not.
    write_file(&there.join("time alone"), 5000, 5);
    for folder in [&root, &there] {
        touch(&folder.join("time alone"), 1_700_000_000);
    }

    let mut recv = receiver(&p.to, &["--sync", "--checksum", "--json"]);
    let (ticket, relay) = through_relay(&recv.ticket());
    let mut send = sender(&[&root], &ticket, &["--json"]);
    send.exits(0);
    recv.exits(0);
    assert_eq!(tree(&root)[1..], tree(&there)[1..], "times too");
    assert_eq!(["small", "large", "block"].map(|name| there.join(name).metadata().unwrap().ino()), kept);
    // One changed block; the last block of what was longer; what is new, and the block before it; all but nothing of what
    // was a block; the small ones.
    let expected = (BLOCK + BLOCK + (BLOCK + 1000) + 9 * BLOCK + 2 * 5000) as u64;
    for side in [&recv, &send] {
        let done = side.event("done");
        assert_eq!((&done["moved"], &done["there"]), (&expected.into(), &kept.len().into()), "{done}");
    }
    assert!(relay.bytes() < expected + expected / 5, "{} bytes for {expected}", relay.bytes());
}

#[test]
fn sending_again_with_checksum_verifies_both_disks() {
    let p = place();
    let (root, there) = (p.from.join("tree"), p.to.join("tree"));
    fs::create_dir(&root).unwrap();
    for (n, name) in ["fine", "torn", "rotten"].iter().enumerate() {
        write_file(&root.join(name), 3 * BLOCK, n as u64);
    }
    let moved = |options: &[&str]| {
        let mut recv = receiver(&p.to, &[options, &["--json"]].concat());
        sender(&[&root], &recv.ticket(), &[]).exits(0);
        recv.exits(0);
        recv.event("done")["moved"].as_u64()
    };
    assert_eq!(moved(&[]), Some(9 * BLOCK as u64));
    // Neither shows in size and time.
    for file in [root.join("torn"), there.join("rotten")] {
        let then = file.metadata().unwrap().modified().unwrap();
        change(&file, BLOCK as u64);
        fs::File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
    }
    assert_eq!(moved(&["--sync"]), Some(0));
    assert_eq!(moved(&["--sync", "--checksum"]), Some(2 * BLOCK as u64));
    for name in ["fine", "torn", "rotten"] {
        assert!(fs::read(root.join(name)).unwrap() == fs::read(there.join(name)).unwrap(), "{name}");
    }
    assert_eq!(moved(&["--sync", "--checksum"]), Some(0));
}

#[test]
fn a_comparison_that_was_cut_goes_on() {
    let p = place();
    let file = p.file("large", 40 * BLOCK);
    fs::create_dir(&p.to).unwrap();
    let there = p.to.join("large");
    fs::copy(&file, &there).unwrap();
    for block in (0..40).step_by(2) {
        change(&there, block * BLOCK as u64);
    }
    let options = ["--sync", "--checksum", "--json"];
    let recv = receiver(&p.to, &options);
    let ticket = recv.ticket();
    let mut send = sender(&[&file], &ticket, &["--json", "--max-rate", "30mbit"]);
    recv.stored(10 * BLOCK as u64);
    recv.kill();
    let mut recv = receiver(&p.to, &options);
    assert_eq!(recv.ticket(), ticket);
    send.exits(0);
    recv.exits(0);
    assert!(recv.event("start")["have"].as_u64() >= Some(10 * BLOCK as u64));
    assert!(recv.event("done")["moved"].as_u64() <= Some(15 * BLOCK as u64), "{}", recv.event("done"));
    assert!(fs::read(&file).unwrap() == fs::read(&there).unwrap());
}

#[test]
fn a_change_between_file_and_folder_is_named_and_nothing_is_touched() {
    let p = place();
    for is_folder_here in [true, false] {
        let name = format!("changed{is_folder_here}");
        let (from, to) = (p.from.join(&name), p.to.join(&name));
        fs::create_dir_all(if is_folder_here { &to } else { &from }).unwrap();
        fs::write(if is_folder_here { &from } else { &to }, "a file").unwrap();
        let recv = receiver(&p.to, &["--json", "--sync"]);
        let mut send = sender(&[&from], &recv.ticket(), &["--json"]);
        send.exits(7);
        let message = send.event("error")["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&name) && message.contains("move it away"), "{message}");
        assert_eq!(to.is_dir(), is_folder_here);
    }
}
