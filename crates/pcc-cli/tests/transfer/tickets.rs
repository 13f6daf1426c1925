//! Tickets: what they are good for, and how they are given.

use crate::common::{names, pcc, receiver, sender};
use crate::place;
use std::fs;
use std::process::Command;

#[test]
fn a_ticket_is_for_one_transfer() {
    let p = place();
    let (file, other) = (p.file("large", 3_000_000), p.file("other", 10));
    let mut recv = receiver(&p.to, &["--json"]);
    let ticket = recv.ticket();
    let mut send = sender(&[&file], &ticket, &["--json", "--max-rate", "10mbit"]);
    send.stored(300_000);
    let mut replay = sender(&[&other], &ticket, &["--json"]);
    replay.exits(4);
    assert!(replay.event("error")["message"].as_str().unwrap().contains("another transfer"));
    recv.event("refused");
    // The same transfer from a second sender takes over from the first.
    let mut newer = sender(&[&file], &ticket, &[]);
    send.exits(13);
    newer.exits(0);
    recv.exits(0);
    assert_eq!(names(&p.to), ["large"]);
    // And when all is done nobody answers any more.
    sender(&[&file], &ticket, &["--timeout", "1"]).exits(6);
}

#[test]
fn tickets_that_cannot_be_read() {
    let p = place();
    let file = p.file("a", 10);
    let recv = receiver(&p.to, &[]);
    let ticket = recv.ticket();
    let typo = format!("{}{}", &ticket[..20], ticket[20..].replacen('a', "b", 1));
    assert_ne!(typo, ticket);
    let mut send = sender(&[&file], &typo, &[]);
    send.exits(3);
    assert!(send.stderr().contains("mistyped"), "{}", send.stderr());
    sender(&[&file], "hello", &[]).exits(3);
    // From standard input, which is empty here.
    sender(&[&file], "-", &[]).exits(3);
    sender(&[&file], &ticket.replacen("pcc1", "pcc2", 1), &[]).exits(5);
    pcc(&["send", "x"]).exits(2);
}

#[test]
fn options_may_stand_anywhere_and_no_mistake_shows_the_ticket() {
    let p = place();
    let file = p.file("a", 10);
    let mut recv = receiver(&p.to, &[]);
    let ticket = recv.ticket();
    let path = file.to_str().unwrap();
    for arguments in [&["send", &ticket][..], &["send", path, &ticket, "--no-such-option"]] {
        let mut send = pcc(arguments);
        send.exits(2);
        assert!(!send.stderr().contains(&ticket[4..]), "{}", send.stderr());
    }
    let mut send = pcc(&["send", path, "--json", &ticket, "--timeout", "60"]);
    send.exits(0);
    recv.exits(0);
    send.event("done");
}

#[test]
fn a_ticket_that_cannot_be_printed_ends_the_wait() {
    let p = place();
    fs::create_dir(&p.to).unwrap();
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return println!("skipped: no /dev/full");
    };
    for json in [&[][..], &["--json"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        command.arg("recv").arg(&p.to).args(["--listen", "127.0.0.1:0"]).args(json);
        let recv = command.stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(recv.status.code(), Some(1), "{recv:?}");
        assert!(names(&p.to).is_empty());
    }
}
