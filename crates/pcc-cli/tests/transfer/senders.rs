//! Which sender is the right one: somebody else may have learnt the ticket.

use crate::common::{
    CONFIG, Pcc, names, receiver, receiver_command, sender, sender_command, start, start_reading, terminal, type_line,
};
use crate::{keep, place};
use std::fs;
use std::path::Path;

/// Starts a sender that has a key of its own.
fn other_sender(file: &Path, ticket: &str, config: &Path, more: &[&str]) -> Pcc {
    let mut command = sender_command(&[file], more);
    command.env("PCC_TICKET", ticket).env(CONFIG, config);
    start(command)
}

fn code(send: &Pcc) -> String {
    send.event("confirm")["code"].as_str().expect("a code").to_owned()
}

#[test]
fn whoever_learns_the_ticket_does_not_win() {
    let p = place();
    let (file, evil, elsewhere) = (p.file("right", 300_000), p.file("evil", 300_000), p.from.join("elsewhere"));
    let (user, input) = terminal();
    let mut recv = start_reading(receiver_command(&p.to, &["--json"]), input);
    let ticket = recv.ticket();
    // The other one is faster.
    let mut other = other_sender(&evil, &ticket, &elsewhere, &["--json"]);
    let wrong = code(&other);
    let mut send = sender(&[&file], &ticket, &["--json"]);
    let right = code(&send);
    recv.until("two questions", || (recv.events("ask").len() == 2).then_some(()));
    assert_ne!(wrong, right, "happens once in a million runs");
    assert_eq!(names(&p.to).len(), 1, "nothing but the staging folder: {:?}", names(&p.to));
    type_line(&user, "no code at all");
    let is_told = |note: &serde_json::Value| note["message"].as_str().unwrap().contains("this is no code");
    recv.until("an answer", || recv.events("note").iter().any(is_told).then_some(()));
    type_line(&user, &right);
    send.exits(0);
    recv.exits(0);
    other.exits(4);
    assert!(other.event("error")["message"].as_str().unwrap().contains("another sender"));
    assert_eq!(names(&p.to), ["right"]);
}

#[test]
fn without_a_terminal_the_sender_is_named() {
    let p = place();
    let (file, evil, elsewhere) = (p.file("right", 10), p.file("evil", 10), p.from.join("elsewhere"));
    let mut recv = start(receiver_command(&p.to, &[]));
    recv.exits(2);
    assert!(recv.stderr().contains("--from anyone"), "{}", recv.stderr());
    assert!(!p.to.exists());

    let (user, input) = terminal();
    let mut recv = start_reading(receiver_command(&p.to.join("first"), &[]), input);
    let mut send = sender(&[&file], &recv.ticket(), &["--json"]);
    type_line(&user, &code(&send));
    send.exits(0);
    recv.exits(0);
    let id = send.event("confirm")["sender"].as_str().unwrap().to_owned();
    assert!(recv.stderr().contains(&format!("--from {id}")), "{}", recv.stderr());

    // From now on it needs nobody.
    let mut recv = start(receiver_command(&p.to.join("second"), &["--from", &id]));
    let ticket = recv.ticket();
    let mut other = other_sender(&evil, &ticket, &elsewhere, &["--json"]);
    other.exits(4);
    assert!(other.event("error")["message"].as_str().unwrap().contains(&id), "it is told who may send");
    sender(&[&file], &ticket, &[]).exits(0);
    recv.exits(0);
    assert_eq!(names(&p.to.join("second")), ["right"]);
}

#[test]
fn an_unfinished_transfer_is_the_senders_own() {
    let p = place();
    let (file, elsewhere) = (p.file("large", 3_000_000), p.from.join("elsewhere"));
    let recv = receiver(&p.to, &["--json"]);
    let ticket = recv.ticket();
    let send = sender(&[&file], &ticket, &["--json", "--max-rate", "10mbit"]);
    send.stored(300_000);
    other_sender(&file, &ticket, &elsewhere, &[]).exits(4);
    send.kill();
    recv.kill();
    // After a restart too, and even of a receiver that takes anyone.
    let mut recv = receiver(&p.to, &[]);
    other_sender(&file, &ticket, &elsewhere, &[]).exits(4);
    sender(&[&file], &ticket, &[]).exits(0);
    recv.exits(0);
    assert_eq!(fs::read(&file).unwrap(), fs::read(p.to.join("large")).unwrap());
}

#[test]
fn the_unfinished_transfer_of_another_sender_keeps_nobody_out() {
    let p = place();
    let (one, two) = (keep::sender(&p, "one"), keep::sender(&p, "two"));
    let (large, small) = (p.file("large", 3_000_000), p.file("small", 10));
    let recv = start(receiver_command(&p.to, &["--from", &one.name]));
    let first = recv.ticket();
    let send = one.send(&[&large], &first, &["--json", "--max-rate", "10mbit"]);
    send.stored(300_000);
    send.kill();
    recv.kill();

    let mut recv = start(receiver_command(&p.to, &["--json", "--from", &two.name]));
    let second = recv.ticket();
    assert_ne!(first, second);
    let note = recv.event("note")["message"].as_str().unwrap().to_owned();
    assert!(note.contains("is left alone") && note.contains(&one.name), "{note}");
    one.send(&[&large], &second, &[]).exits(4);
    two.send(&[&small], &second, &[]).exits(0);
    recv.exits(0);

    let mut recv = start(receiver_command(&p.to, &["--from", &one.name]));
    assert_eq!(recv.ticket(), first);
    one.send(&[&large], &first, &[]).exits(0);
    recv.exits(0);
    assert_eq!(names(&p.to), ["large", "small"]);
}

#[test]
fn several_receivers_get_it_and_one_that_refuses_is_nothing_to_the_others() {
    let p = place();
    let file = p.file("data", 600_000);
    let places: Vec<_> = ["one", "two", "three"].iter().map(|name| p.to.join(name)).collect();
    let started = || places.iter().map(|place| receiver(place, &[])).collect::<Vec<_>>();
    let send = |receivers: &[Pcc]| {
        let mut tickets = Vec::new();
        for (n, recv) in receivers.iter().enumerate() {
            tickets.push(p.from.join(format!("{n}.ticket")));
            fs::write(&tickets[n], recv.ticket()).unwrap();
        }
        let mut command = sender_command(&[&file], &["--json"]);
        for ticket in &tickets {
            command.arg("--ticket-file").arg(ticket);
        }
        start(command)
    };
    let mut receivers = started();
    send(&receivers).exits(0);
    for (recv, place) in receivers.iter_mut().zip(&places) {
        recv.exits(0);
        assert_eq!(fs::read(place.join("data")).unwrap(), fs::read(&file).unwrap());
    }
    // It is there already in two of them.
    fs::remove_file(places[1].join("data")).unwrap();
    let mut receivers = started();
    let mut sender = send(&receivers);
    sender.exits(7);
    receivers[1].exits(0);
    assert!(places[1].join("data").exists());
    let done = sender.event("done");
    assert!(done["receiver"].as_str().unwrap().ends_with("1.ticket"), "{done}");
    let errors = sender.events("error");
    let last = errors.last().unwrap()["message"].as_str().unwrap();
    assert_eq!(errors.len(), 3, "one each, and one of all");
    assert!(last.starts_with("2 of 3 receivers do not have all of it: ") && last.ends_with("2.ticket"), "{last}");
}
