//! Tickets: what they are good for, and how they are given.

use crate::common::{
    Pcc, forge, names, pcc, receiver, receiver_command, sender, sender_command, start, start_reading, terminal,
    type_line,
};
use crate::place;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

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
    sender(&[&file], &ticket.replacen("pcc1", "pcc2", 1), &[]).exits(5);
    pcc(&["send", file.to_str().unwrap()]).exits(2);
    let junk = p.from.join("junk");
    fs::write(&junk, [0xff, 0, 0x80]).unwrap();
    pcc(&["send", file.to_str().unwrap(), "--ticket-file", junk.to_str().unwrap()]).exits(3);
}

#[test]
fn a_ticket_is_no_argument_and_no_mistake_shows_it() {
    let p = place();
    let file = p.file("a", 10);
    let recv = receiver(&p.to, &[]);
    let ticket = recv.ticket();
    let path = file.to_str().unwrap();
    let typo = ticket.replacen("aa", "ab", 1);
    let capitals = ticket.to_uppercase();
    let (as_value, as_pattern) = (format!("--json={ticket}"), format!("[{ticket}"));
    for arguments in [
        &["send", path, &ticket][..],
        &["send", path, &typo],
        &["send", &ticket, path, "--no-such"],
        &["send", path, "--ticket-file", &ticket],
        &["send", path, "--ticket-file", &capitals],
        &["send", path, &capitals],
        &["send", path, &as_value],
        &["send", path, "--exclude", &as_pattern],
        &[&ticket],
    ] {
        let mut send = pcc(arguments);
        send.exits(2);
        assert!(!send.stderr().to_lowercase().contains(&ticket[4..60]), "{}", send.stderr());
    }
}

#[test]
fn a_mistake_that_nobody_can_read_has_its_exit_code() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return println!("skipped: no /dev/full");
    };
    let send = sender_command(&["/etc/hostname".as_ref()], &["--exclude", "/"]).stderr(full).status().unwrap();
    assert_eq!(send.code(), Some(2));
}

#[test]
fn a_ticket_comes_from_a_file_or_standard_input_or_the_user() {
    let p = place();
    let file = p.file("a", 10);
    let (kept, missing) = (p.from.join("ticket"), p.from.join("missing"));
    let send = |command: Command, input: Stdio, ticket: &str| {
        fs::write(&kept, format!("{ticket}\n")).unwrap();
        start_reading(command, input)
    };
    let by_file = sender_command(&[&file], &["--ticket-file", kept.to_str().unwrap()]);
    let by_pipe = sender_command(&[&file], &["--ticket-file", "-"]);
    let by_user = sender_command(&[&file], &[]);
    for (n, command) in [by_file, by_pipe, by_user].into_iter().enumerate() {
        let mut recv = receiver(&p.to.join(n.to_string()), &[]);
        let ticket = recv.ticket();
        // What was typed is there only as long as the terminal is.
        let mut at_terminal = None;
        let mut send = match n {
            0 => send(command, Stdio::null(), &ticket),
            1 => {
                fs::write(&kept, &ticket).unwrap();
                send(command, fs::File::open(&kept).unwrap().into(), &ticket)
            }
            _ => {
                let (user, terminal) = terminal();
                let sent = send(command, terminal.into(), &ticket);
                sent.until("the question", || sent.stderr().contains("ticket").then_some(()));
                type_line(&user, &ticket);
                at_terminal = Some(user);
                sent
            }
        };
        send.exits(0);
        recv.exits(0);
        drop(at_terminal);
    }
    let mut send = start(sender_command(&[&file], &["--ticket-file", missing.to_str().unwrap()]));
    send.exits(1);
    assert!(send.stderr().contains("missing"), "{}", send.stderr());
    // Standard input that is empty.
    start(sender_command(&[&file], &["--ticket-file", "-"])).exits(3);
}

#[test]
fn a_ticket_that_cannot_be_printed_ends_the_wait() {
    let p = place();
    fs::create_dir(&p.to).unwrap();
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return println!("skipped: no /dev/full");
    };
    let identity = p.from.join("identity");
    let sender = format!("pccs{}", "a".repeat(52));
    let keep = ["--keep", "--from", &sender, "--identity", identity.to_str().unwrap()];
    for options in [&["--from", "anyone"][..], &["--json", "--from", "anyone"], &keep] {
        let mut command = receiver_command(&p.to, options);
        let recv = command.stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(recv.status.code(), Some(1), "{recv:?}");
        assert!(String::from_utf8_lossy(&recv.stderr).contains("cannot print the ticket"), "{recv:?}");
        assert!(names(&p.to).is_empty());
    }
}

/// Starts a receiver whose standard output goes elsewhere, as a shell writes it.
fn redirected(to: &Path, output: &str, more: &[&str]) -> Pcc {
    let recv = receiver_command(to, &[&["--from", "anyone"], more].concat());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$@\" {output}"), "sh"]).arg(recv.get_program()).args(recv.get_args());
    start(command)
}

#[test]
fn a_new_ticket_that_nobody_can_read_ends_the_wait() {
    let p = place();
    fs::create_dir(&p.to).unwrap();
    for output in [">&-", ">/dev/null"] {
        for more in [&[][..], &["--json"]] {
            let mut recv = redirected(&p.to, output, more);
            recv.exits(1);
            assert!(recv.stderr().contains("standard output is closed or /dev/null"), "{output}: {}", recv.stderr());
            assert!(names(&p.to).is_empty(), "nothing is left to take up");
        }
    }
}

#[test]
fn a_ticket_that_is_known_need_not_be_printed_again() {
    let p = place();
    let file = p.file("large", 3_000_000);
    let recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &recv.ticket(), &["--json", "--max-rate", "10mbit"]);
    send.stored(300_000);
    recv.kill();
    let mut recv = redirected(&p.to, ">/dev/null", &[]);
    send.exits(0);
    recv.exits(0);
}

#[test]
fn a_ticket_has_all_addresses_that_are_wanted_in_it() {
    let p = place();
    let mut wanted: Vec<String> =
        (1..=13).flat_map(|n| ["--advertise".to_owned(), format!("192.0.2.{n}:4433")]).collect();
    let recv = |wanted: &[String]| receiver(&p.to, &wanted.iter().map(String::as_str).collect::<Vec<_>>());
    let mut refused = recv(&wanted);
    refused.exits(2);
    let why = "--advertise is given 13 times, and a ticket has room for 12 addresses";
    assert!(refused.stderr().contains(why), "{}", refused.stderr());
    wanted.truncate(24);
    forge(&recv(&wanted).ticket(), |(_, _, addresses)| {
        assert!((1..=12).all(|n| addresses.contains(&format!("192.0.2.{n}:4433").parse().unwrap())), "{addresses:?}");
    });
}
