//! Mistakes in the command line of a sender: they are seen before anything is asked for, written or sent.

use crate::common::{names, pcc, receiver, sender, sender_command, start};
use crate::place;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixListener;

#[test]
fn a_log_replaces_nothing() {
    let p = place();
    let (file, log) = (p.file("file", 10_000), p.from.join("log.qlog"));
    let sent = fs::read(&file).unwrap();
    let recv = receiver(&p.to, &[]);
    let ticket = recv.ticket();
    let log_into = |path: &std::path::Path, ticket: &str, code: i32| {
        let mut send = sender(&[&file], ticket, &["--qlog", path.to_str().unwrap()]);
        send.exits(code);
        send.stderr()
    };
    let refused = log_into(&file, &ticket, 7);
    assert!(refused.contains("file is there already; name another file"), "{refused}");
    assert_eq!(fs::read(&file).unwrap(), sent);
    log_into(&log, "no ticket", 3);
    assert!(!log.exists(), "a mistyped ticket leaves nothing behind");
    let tree = p.from.join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("a"), "a").unwrap();
    let mut inside = sender(&[&tree], &ticket, &["--qlog", tree.join("log").to_str().unwrap()]);
    inside.exits(11);
    assert!(inside.stderr().contains("which is sent, and change meanwhile"), "{}", inside.stderr());
    assert_eq!(names(&tree), ["a"]);
    log_into(&log, &ticket, 0);
    assert!(fs::read(&log).unwrap().starts_with(b"\x1e"));
}

#[test]
fn sources_are_looked_at_before_a_ticket_is_asked_for() {
    let p = place();
    let mut send = start(sender_command(&["nofile".as_ref()], &["--json"]));
    send.exits(11);
    let message = send.event("error")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("cannot send \"nofile\": No such file"), "{message}");
    for folder in ["d1", "d2"] {
        fs::create_dir(p.from.join(folder)).unwrap();
        fs::write(p.from.join(folder).join("f"), folder).unwrap();
    }
    let mut send = start(sender_command(&[&p.from.join("d1/f"), &p.from.join("d2/f")], &["--dry-run"]));
    send.exits(8);
    let error = send.stderr();
    assert!(error.contains("d1/f\" and \"") && error.contains("d2/f\" would both arrive as \"f\""), "{error}");
}

/// What can be written no more than a file on a full disk.
fn full() -> fs::File {
    fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_list_that_cannot_be_printed_is_a_failure() {
    let p = place();
    let file = p.file("file", 10);
    let full = full();
    for options in [&["--dry-run"][..], &["--dry-run", "--json"]] {
        let send = sender_command(&[&file], options).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(send.status.code(), Some(1), "{send:?}");
        let said = String::from_utf8_lossy(&send.stderr);
        assert!(said.contains("error: cannot print the list: No space left on device"), "{said}");
    }
}

#[test]
fn a_transfer_goes_on_if_its_events_cannot_be_printed() {
    let p = place();
    let file = p.file("file", 100_000);
    let full = full();
    let mut recv = receiver(&p.to, &[]);
    let mut send = sender_command(&[&file], &["--json"]);
    let send = send.env("PCC_TICKET", recv.ticket()).stdout(full).output().unwrap();
    assert_eq!(send.status.code(), Some(0), "{send:?}");
    let said = String::from_utf8_lossy(&send.stderr);
    assert_eq!(said.matches("cannot write to standard output").count(), 1, "{said}");
    recv.exits(0);
}

#[test]
fn a_ticket_is_given_once() {
    let p = place();
    let file = p.file("file", 10);
    let recv = receiver(&p.to, &[]);
    let [one, two] = ["one", "two"].map(|name| p.from.join(name));
    fs::write(&one, recv.ticket()).unwrap();
    fs::write(&two, format!("{}\n", recv.ticket().to_uppercase())).unwrap();
    let files = [&one, &two].map(|path| path.to_str().unwrap());
    let mut send = start(sender_command(&[&file], &["--ticket-file", files[0], "--ticket-file", files[1]]));
    send.exits(2);
    assert!(send.stderr().contains("is given twice"), "{}", send.stderr());
}

#[test]
fn times_are_seconds_or_have_a_unit() {
    for command in [&["send", "x"][..], &["recv"], &["get", "https://localhost/x"], &["proxy", "serve"]] {
        let mut wrong = pcc(&[command, &["--timeout", "-1"]].concat());
        wrong.exits(2);
        assert!(wrong.stderr().contains("as 90, or a time with its unit"), "{command:?}: {}", wrong.stderr());
    }
    let p = place();
    let file = p.file("file", 10);
    let mut recv = receiver(&p.to, &["--timeout", "2min"]);
    sender(&[&file], &recv.ticket(), &["--timeout", "90s"]).exits(0);
    recv.exits(0);
}

#[test]
fn what_is_left_out_has_a_line_for_scripts() {
    let p = place();
    let tree = p.from.join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "file").unwrap();
    let odd = std::ffi::OsString::from_vec(b"odd\xff".to_vec());
    let Ok(_socket) = UnixListener::bind(tree.join(&odd)) else {
        return println!("skipped: this file system takes only names that are text");
    };
    for more in [&["--dry-run"][..], &[]] {
        let recv = receiver(&p.to, &[]);
        let mut send = sender(&[&tree], &recv.ticket(), &[&["--json"], more].concat());
        send.exits(15);
        let left_out = send.event("left-out");
        assert_eq!((&left_out["path"], &left_out["path_bytes"]), (&"tree/odd\u{fffd}".into(), &"dHJlZS9vZGT/".into()));
        assert!(left_out["reason"].as_str().unwrap().contains("neither a file"), "{left_out}");
        let message = send.event("error")["message"].as_str().unwrap().to_owned();
        assert!(message.contains("--exclude") && !message.contains("again"), "{message}");
    }
}
