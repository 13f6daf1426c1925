//! `pcc recv --keep`: many transfers with one ticket.

use crate::common::{CONFIG, Pcc, names, receiver_command, sender_command, start, tree, write_file};
use crate::{Place, place};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

/// A sender with a key of its own.
pub struct Sender {
    config: PathBuf,
    /// What `--from` knows it by.
    pub name: String,
}

impl Sender {
    fn new(config: PathBuf) -> Self {
        // The key is made on first use, whatever comes of that.
        let file = config.with_extension("nothing");
        fs::write(&file, "").unwrap();
        let mut command = sender_command(&[&file], &[]);
        command.env(CONFIG, &config).env("PCC_TICKET", "no ticket");
        start(command).exits(3);
        let key = fs::read(config.join("pcc/sender")).unwrap();
        let (certificate, _): (Vec<u8>, Vec<u8>) = postcard::from_bytes(&key).unwrap();
        let hash = data_encoding::BASE32_NOPAD.encode(blake3::hash(&certificate).as_bytes());
        Self { config, name: format!("pccs{}", hash.to_lowercase()) }
    }

    pub fn send(&self, paths: &[&Path], ticket: &str, more: &[&str]) -> Pcc {
        let mut command = sender_command(paths, more);
        command.env("PCC_TICKET", ticket).env(CONFIG, &self.config);
        start(command)
    }
}

pub fn sender(p: &Place, name: &str) -> Sender {
    Sender::new(p.from.join(name))
}

/// Starts a receiver that takes what these senders send.
fn keep(p: &Place, senders: &[&Sender], more: &[&str]) -> Pcc {
    let mut command = receiver_command(&p.to, &["--keep", "--json"]);
    command.arg("--identity").arg(p.from.join("identity")).args(more);
    for sender in senders {
        command.args(["--from", &sender.name]);
    }
    start(command)
}

/// Waits until so many transfers are over, and tells their results.
fn results(recv: &Pcc, count: usize) -> Vec<serde_json::Value> {
    recv.until("the ends of transfers", || Some(recv.events("transfer")).filter(|events| events.len() >= count))
}

#[test]
fn one_ticket_is_for_many_transfers_of_known_senders() {
    let p = place();
    let (known, other, stranger) = (sender(&p, "known"), sender(&p, "other"), sender(&p, "stranger"));
    let (file, second, third) = (p.file("first", 300_000), p.file("second", 10), p.file("third", 2_000_000));
    let mut recv = keep(&p, &[&known, &other], &["--metrics", "0"]);
    let ticket = recv.ticket();
    known.send(&[&file], &ticket, &[]).exits(0);
    let [first] = &results(&recv, 1)[..] else { panic!("{:?}", recv.lines()) };
    assert_eq!((&first["result"], &first["sender"]), (&"complete".into(), &known.name.clone().into()));
    assert_eq!((&first["files"], &first["bytes"], &first["moved"]), (&1.into(), &300_000.into(), &300_000.into()));
    assert_eq!((&first["there"], &first["missing"]), (&0.into(), &0.into()));
    assert!(first["seconds"].as_f64() > Some(0.0) && first["bits_per_second"].as_f64() > Some(0.0), "{first}");
    assert!(first["date"].as_str().unwrap().ends_with("GMT"), "{first}");

    // Nobody else gets in, and what they tried leaves nothing.
    let mut refused = stranger.send(&[&second], &ticket, &["--json"]);
    refused.exits(4);
    assert!(refused.event("error")["message"].as_str().unwrap().contains(&stranger.name));
    assert_eq!(recv.event("refused")["kind"], "wrong-ticket");
    assert_eq!(names(&p.to), ["first"]);

    // Two at once.
    let mut slow = known.send(&[&third], &ticket, &["--json", "--max-rate", "10mbit"]);
    slow.stored(300_000);
    other.send(&[&second], &ticket, &[]).exits(0);
    assert_eq!(results(&recv, 2)[1]["sender"], other.name.clone());
    assert!(slow.is_running(), "the other one was not in its way");
    slow.exits(0);
    assert_eq!(results(&recv, 3)[2]["bytes"], 2_000_000);
    // What is there stays.
    let mut again = known.send(&[&file], &ticket, &["--json"]);
    again.exits(7);
    recv.until("the end of the refused one", || (names(&p.to).len() == 3).then_some(()));

    let page = page(&recv);
    for line in [
        "pcc_recv_transfers_total{result=\"complete\"} 3",
        "pcc_recv_files_total 3",
        "pcc_recv_bytes_total 2300010",
        "pcc_recv_refused_total 2",
        "pcc_recv_open_transfers 0",
    ] {
        assert!(page.lines().any(|other| other == line), "{line} is not in\n{page}");
    }
    assert!(page.contains(&format!("pcc_recv_last_completion_timestamp_seconds{{sender=\"{}\"}} ", other.name)));
    recv.signal(Signal::TERM);
    recv.exits(0);
    assert_eq!(names(&p.to), ["first", "second", "third"], "nothing else is left");
}

/// The page of metrics.
fn page(recv: &Pcc) -> String {
    let address = recv.event("listening")["address"].as_str().unwrap().to_owned();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// An alarm for a backup that doesn't come must not be silenced by one of which a part came.
#[test]
fn what_is_incomplete_counts_as_no_complete_transfer() {
    let p = place();
    let known = sender(&p, "known");
    let (large, log) = (p.file("large", 20_000_000), p.file("log", 700_000));
    let recv = keep(&p, &[&known], &["--metrics", "0"]);
    let mut send = known.send(&[&large, &log], &recv.ticket(), &["--json", "--max-rate", "50mbit"]);
    send.event("start");
    fs::remove_file(&log).unwrap();
    send.exits(15);
    let over = &results(&recv, 1)[0];
    assert_eq!(
        (&over["result"], &over["files"], &over["missing"]),
        (&"incomplete".into(), &1.into(), &1.into()),
        "{over}"
    );
    let page = page(&recv);
    assert!(page.contains("pcc_recv_transfers_total{result=\"incomplete\"} 1\n"), "{page}");
    assert!(page.contains("pcc_recv_files_total 0\n") && !page.contains(&known.name), "{page}");
}

#[test]
fn a_restart_changes_nothing() {
    let p = place();
    let known = sender(&p, "known");
    let root = p.from.join("tree");
    fs::create_dir(&root).unwrap();
    write_file(&root.join("large"), 6_000_000, 1);
    (0..20).for_each(|n| write_file(&root.join(format!("small{n}")), 1000, n));
    let recv = keep(&p, &[&known], &["--sync"]);
    let ticket = recv.ticket();
    let mut send = known.send(&[&root], &ticket, &["--json", "--max-rate", "20mbit"]);
    send.stored(1_000_000);
    recv.kill();
    assert_eq!(names(&p.to).len(), 1, "{:?}", names(&p.to));
    // The sender still tries, and goes on.
    let recv = keep(&p, &[&known], &["--sync"]);
    assert_eq!(recv.ticket(), ticket);
    send.exits(0);
    assert!(send.events("start")[1]["have"].as_u64() >= Some(1_000_000), "{:?}", send.events("start"));
    let over = &results(&recv, 1)[0];
    assert!(over["result"] == "complete" && over["moved"].as_u64() <= Some(5_100_000), "{over}");
    // Killed again while it waits; what comes next is a new transfer of what is new.
    recv.kill();
    let mut recv = keep(&p, &[&known], &["--sync"]);
    assert_eq!(recv.ticket(), ticket);
    write_file(&root.join("new"), 1000, 7);
    known.send(&[&root], &ticket, &[]).exits(0);
    assert_eq!(results(&recv, 1)[0]["moved"], 1000);
    recv.interrupt();
    recv.exits(0);
    assert_eq!(tree(&root)[1..], tree(&p.to.join("tree"))[1..]);
    assert_eq!(names(&p.to), ["tree"]);
}

/// One transfer whose list of files can't be read stops neither the receiver nor the other transfers, and begins anew when its sender comes back.
#[test]
fn a_damaged_list_of_files_stops_nothing_else() {
    let p = place();
    let (known, other) = (sender(&p, "known"), sender(&p, "other"));
    let (damaged, whole) = (p.file("damaged", 3_000_000), p.file("whole", 3_000_000));
    let recv = keep(&p, &[&known, &other], &[]);
    let ticket = recv.ticket();
    let slow = ["--json", "--max-rate", "20mbit"];
    let mut first = known.send(&[&damaged], &ticket, &slow);
    first.stored(500_000);
    let its_folder = names(&p.to).remove(0);
    let mut second = other.send(&[&whole], &ticket, &slow);
    second.stored(500_000);
    recv.kill();
    fs::write(p.to.join(&its_folder).join("manifest"), [0; 100]).unwrap();
    let mut recv = keep(&p, &[&known, &other], &[]);
    let note = format!("the list of files in {} is damaged", p.to.join(&its_folder).display());
    let message = recv.event("note")["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with(&note), "{message}");
    first.exits(0);
    second.exits(0);
    let have = |send: &Pcc| send.events("start")[1]["have"].as_u64().unwrap();
    assert_eq!((have(&first), have(&second) >= 500_000), (0, true));
    assert!(results(&recv, 2).iter().all(|over| over["result"] == "complete"));
    recv.interrupt();
    recv.exits(0);
    assert_eq!(names(&p.to), ["damaged", "whole"]);
}

/// More than there are places.
#[test]
fn refusals_keep_nobody_out() {
    let p = place();
    let known = sender(&p, "known");
    fs::create_dir(&p.to).unwrap();
    let files: Vec<_> = (0..70).map(|n| p.file(&format!("there{n}"), 10)).collect();
    for file in &files {
        fs::copy(file, p.to.join(file.file_name().unwrap())).unwrap();
    }
    let recv = keep(&p, &[&known], &[]);
    let ticket = recv.ticket();
    // At once, for it to take less long.
    let mut refused: Vec<_> = files.iter().map(|file| known.send(&[file], &ticket, &[])).collect();
    refused.iter_mut().for_each(|send| send.exits(7));
    known.send(&[&p.file("new", 10)], &ticket, &["--timeout", "30"]).exits(0);
}

/// What keeps an unfinished transfer from being taken up is told to its sender too.
#[test]
fn a_sender_hears_why_its_transfer_cannot_be_taken_up() {
    let p = place();
    let known = sender(&p, "known");
    let file = p.file("large", 3_000_000);
    let recv = keep(&p, &[&known], &[]);
    let ticket = recv.ticket();
    let mut send = known.send(&[&file], &ticket, &["--json", "--max-rate", "20mbit"]);
    send.stored(500_000);
    fs::write(p.to.join("large"), "somebody else's").unwrap();
    for _ in 0..2 {
        send.exits(7);
        let message = send.event("error")["message"].as_str().unwrap().to_owned();
        assert!(message.contains("appeared while it was received"), "{message}");
        send = known.send(&[&file], &ticket, &["--json"]);
    }
}

#[test]
fn a_service_keeps_its_ticket_out_of_its_log() {
    let p = place();
    let known = sender(&p, "known");
    let out = p.from.join("ticket");
    for json in [&["--json"][..], &[]] {
        let mut command = receiver_command(&p.to, &["--keep", "--overwrite", "--from", &known.name]);
        command.arg("--identity").arg(p.from.join("identity")).arg("--ticket-out").arg(&out).args(json);
        let mut recv = start(command);
        let shown = out.to_str().unwrap();
        recv.until("the ticket", || (recv.lines().concat() + &recv.stderr()).contains(shown).then_some(()));
        recv.signal(Signal::HUP);
        let ticket = fs::read_to_string(&out).unwrap();
        known.send(&[&p.file("file", 1000)], &ticket, &[]).exits(0);
        assert!(!(recv.lines().concat() + &recv.stderr()).contains("pcc1"), "{:?} {}", recv.lines(), recv.stderr());
        recv.interrupt();
        recv.exits(0);
    }
    let mut once = start(receiver_command(&p.to, &["--from", "anyone", "--ticket-out", "ticket"]));
    once.exits(2);
    assert!(once.stderr().contains("--keep"), "{}", once.stderr());
}

#[test]
fn another_receiver_leaves_its_transfers_alone() {
    let p = place();
    let known = sender(&p, "known");
    let file = p.file("large", 6_000_000);
    let recv = keep(&p, &[&known], &[]);
    let ticket = recv.ticket();
    let mut send = known.send(&[&file], &ticket, &["--json", "--max-rate", "20mbit"]);
    send.stored(500_000);
    recv.kill();
    let mut other = start(receiver_command(&p.to, &["--from", &known.name]));
    assert_ne!(other.ticket(), ticket);
    other.interrupt();
    other.exits(130);
    let recv = keep(&p, &[&known], &[]);
    send.exits(0);
    assert_eq!(results(&recv, 1)[0]["result"], "complete");
}

#[test]
fn the_ticket_is_kept_beside_the_sender_key() {
    use std::os::unix::fs::PermissionsExt;
    let p = place();
    let known = sender(&p, "known");
    let run = || {
        let mut command = receiver_command(&p.to, &["--keep", "--from", &known.name]);
        command.env(CONFIG, &known.config);
        let mut recv = start(command);
        let ticket = recv.ticket();
        recv.interrupt();
        recv.exits(0);
        ticket
    };
    assert_eq!(run(), run());
    let kept = known.config.join("pcc/receiver").metadata().unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);

    let mut anyone = start(receiver_command(&p.to, &["--keep", "--from", "anyone"]));
    anyone.exits(2);
    assert!(anyone.stderr().contains("--keep takes senders by their names"), "{}", anyone.stderr());
    start(receiver_command(&p.to, &["--keep"])).exits(2);
}
