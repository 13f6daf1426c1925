//! `pcc send` and `pcc recv` over loopback.

#[cfg(target_os = "linux")]
#[path = "transfer/adversary.rs"]
mod adversary;
#[path = "transfer/changes.rs"]
mod changes;
#[cfg(target_os = "linux")]
#[path = "transfer/closed.rs"]
mod closed;
#[allow(dead_code, reason = "what only other commands need")]
mod common;
#[cfg(target_os = "linux")]
#[path = "transfer/disks.rs"]
mod disks;
#[cfg(target_os = "linux")]
#[path = "transfer/fidelity.rs"]
mod fidelity;
#[path = "transfer/keep.rs"]
mod keep;
#[path = "transfer/mistakes.rs"]
mod mistakes;
#[cfg(target_os = "linux")]
#[path = "transfer/mounted.rs"]
mod mounted;
#[path = "transfer/permissions.rs"]
mod permissions;
#[cfg(target_os = "linux")]
#[path = "transfer/power/mod.rs"]
mod power;
#[path = "transfer/removed.rs"]
mod removed;
#[path = "transfer/senders.rs"]
mod senders;
#[path = "transfer/sync.rs"]
mod sync;
#[path = "transfer/tickets.rs"]
mod tickets;
#[path = "transfer/weights.rs"]
mod weights;

use common::{Relay, forge, names, receiver, sender, sender_command, start, tree, write_file};
use rustix::process::Signal;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const BLOCK: usize = 256 * 1024;

/// A folder for a test, with a place to send from and one to receive in.
struct Place {
    _dir: tempfile::TempDir,
    from: PathBuf,
    to: PathBuf,
}

fn place() -> Place {
    let dir = tempfile::tempdir().expect("folder");
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fs::create_dir(&from).expect("folder");
    Place { _dir: dir, from, to }
}

impl Place {
    fn file(&self, name: &str, size: usize) -> PathBuf {
        let path = self.from.join(name);
        write_file(&path, size, size as u64);
        path
    }
}

#[test]
fn a_tree_arrives_as_it_was() {
    let p = place();
    let root = p.from.join("photos");
    fs::create_dir_all(root.join("2024/empty folder")).unwrap();
    for (name, size) in [
        ("nothing", 0),
        ("one", 1),
        ("exact", 2 * BLOCK),
        ("block", BLOCK),
        ("odd", 5 * BLOCK + 12345),
        ("2024/größe \u{1f4f7}", 70_000),
        ("2024/line\nbreak", 10),
    ] {
        write_file(&root.join(name), size, 1);
    }
    for n in 0..300 {
        write_file(&root.join(format!("2024/small{n}")), n * 7, n as u64);
    }
    fs::set_permissions(root.join("one"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("2024/small3", root.join("link")).unwrap();
    symlink("../one", root.join("2024/up")).unwrap();
    let single = p.file("notes.txt", 1000);

    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&root, &single], &recv.ticket(), &["--json"]);
    send.exits(0);
    recv.exits(0);
    assert_eq!(tree(&root), tree(&p.to.join("photos")));
    assert_eq!(names(&p.to), ["notes.txt", "photos"], "nothing else is left");
    assert_eq!(send.event("done")["bytes"], recv.event("done")["bytes"]);
    assert_eq!(send.event("done")["files"], 308);
}

#[test]
fn holes_stay_holes_and_are_not_sent() {
    use std::os::unix::fs::{FileExt, MetadataExt};
    let p = place();
    let (file, size) = (p.from.join("image"), 500 * BLOCK as u64 + 77);
    let image = fs::File::create(&file).unwrap();
    image.set_len(size).unwrap();
    image.write_all_at(b"in the middle", 250 * BLOCK as u64).unwrap();
    if file.metadata().unwrap().blocks() * 512 > size / 2 {
        return println!("skipped: this file system has no holes");
    }
    let mut recv = receiver(&p.to, &["--json"]);
    let (ticket, relay) = through_relay(&recv.ticket());
    let mut send = sender(&[&file], &ticket, &["--json"]);
    send.exits(0);
    recv.exits(0);
    for side in [&send, &recv] {
        assert_eq!(side.event("done")["moved"], BLOCK, "the one block that is no hole");
    }
    let there = p.to.join("image");
    assert_eq!(tree(&file), tree(&there));
    assert!(there.metadata().unwrap().blocks() <= file.metadata().unwrap().blocks() + BLOCK as u64 / 512);
    assert!(relay.bytes() < 2_000_000, "{} bytes for {size}", relay.bytes());
}

#[test]
fn the_ticket_is_all_that_recv_prints() {
    let p = place();
    let file = p.file("a", 100);
    let mut recv = receiver(&p.to, &[]);
    let ticket = recv.ticket();
    sender(&[&file], &ticket, &["--controller", "cubic"]).exits(0);
    recv.exits(0);
    assert_eq!(recv.lines(), [ticket]);
}

/// What ten kills may cost, as a share of all that is sent.
const SENT_TWICE: f64 = 0.05;

#[test]
fn ten_kills_resend_little() {
    let p = place();
    let root = p.from.join("data");
    fs::create_dir(&root).unwrap();
    write_file(&root.join("large"), 40_000_000, 1);
    write_file(&root.join("medium"), 7_654_321, 2);
    for n in 0..500 {
        write_file(&root.join(format!("small{n}")), 30_000, n);
    }
    // What it takes without kills, packet headers and all.
    let calm = p.to.join("calm");
    let mut recv = receiver(&calm, &["--json"]);
    let (ticket, relay) = through_relay(&recv.ticket());
    sender(&[&root], &ticket, &["--max-rate", "200mbit"]).exits(0);
    recv.exits(0);
    let expected = relay.bytes();

    // Slow enough that there is something left for the last kill, even if this test sleeps longer than it wants to.
    let rate = ["--json", "--max-rate", "60mbit"];
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let target = p.to.join("kills");
    let mut recv = receiver(&target, &["--json"]);
    let first_ticket = recv.ticket();
    let (ticket, relay) = through_relay(&first_ticket);
    let mut send = sender(&[&root], &ticket, &rate);
    let mut cuts = 0;
    for kill in 0..10 {
        let starts = send.events("start").len();
        if kill == 0 || kill % 2 == 1 {
            recv.event("start");
        }
        std::thread::sleep(Duration::from_millis(rng.u64(60..360)));
        if !send.is_running() {
            break;
        }
        cuts += 1;
        if kill % 2 == 0 {
            send.kill();
            send = sender(&[&root], &ticket, &rate);
            send.event("start");
        } else {
            recv.kill();
            recv = receiver(&target, &["--json"]);
            assert_eq!(recv.ticket(), first_ticket, "the ticket stays good");
            send.until("a new start", || (send.events("start").len() > starts).then_some(()));
        }
    }
    send.exits(0);
    recv.exits(0);
    assert_eq!(tree(&root), tree(&target.join("data")));
    assert_eq!(names(&target), ["data"]);
    let twice = relay.bytes() as f64 / expected as f64 - 1.0;
    println!("{cuts} kills, {expected} bytes without, {} with: {:.2} % sent twice", relay.bytes(), twice * 100.0);
    assert!(twice <= SENT_TWICE, "{:.2} % sent twice", twice * 100.0);
}

fn through_relay(ticket: &str) -> (String, Relay) {
    let mut relay = None;
    let ticket = forge(ticket, |(_, _, addresses)| {
        let started = Relay::start(addresses[0]);
        *addresses = vec![started.address];
        relay = Some(started);
    });
    (ticket, relay.expect("a relay"))
}

#[test]
fn an_interrupted_sender_goes_on_where_it_was() {
    let p = place();
    let file = p.file("large", 6_000_000);
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &recv.ticket(), &["--json", "--max-rate", "20mbit"]);
    send.stored(1_000_000);
    send.interrupt();
    send.exits(130);
    assert_eq!(send.event("error")["kind"], "interrupted");
    assert_eq!(recv.event("lost")["reason"], "the sender was interrupted");
    assert!(!p.to.join("large").exists(), "nothing unfinished has the final name");
    let mut send = sender(&[&file], &recv.ticket(), &["--json"]);
    send.exits(0);
    recv.exits(0);
    let start = send.event("start");
    assert!(start["have"].as_u64() >= Some(1_000_000), "{start}");
    let moved = send.event("done")["moved"].as_u64().unwrap();
    assert_eq!(moved + start["have"].as_u64().unwrap(), 6_000_000);
    assert_eq!(fs::read(&file).unwrap(), fs::read(p.to.join("large")).unwrap());
}

#[test]
fn an_interrupted_receiver_leaves_nothing_behind_or_all_of_it() {
    let p = place();
    let mut recv = receiver(&p.to, &[]);
    recv.ticket();
    recv.interrupt();
    recv.exits(130);
    assert!(names(&p.to).is_empty());

    let file = p.file("large", 6_000_000);
    let mut recv = receiver(&p.to, &["--json"]);
    let ticket = recv.ticket();
    let mut send = sender(&[&file], &ticket, &["--json", "--max-rate", "20mbit"]);
    recv.stored(1_000_000);
    recv.interrupt();
    recv.exits(130);
    send.event("lost");
    let [staging] = &names(&p.to)[..] else { panic!("one folder to resume from") };
    assert_eq!(p.to.join(staging).metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(p.to.join(staging).join("receiver").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut recv = receiver(&p.to, &["--json"]);
    assert_eq!(recv.ticket(), ticket);
    send.exits(0);
    recv.exits(0);
    assert!(recv.event("start")["have"].as_u64() >= Some(1_000_000));
    assert_eq!(names(&p.to), ["large"]);
}

#[test]
fn damaged_blocks_are_sent_again() {
    let p = place();
    let file = p.file("large", 4_000_000);
    let recv = receiver(&p.to, &["--json"]);
    let ticket = recv.ticket();
    let send = sender(&[&file], &ticket, &["--json", "--max-rate", "20mbit"]);
    recv.stored(1_500_000);
    recv.kill();
    send.kill();
    let staged = p.to.join(&names(&p.to)[0]).join("data");
    let staged = staged.join(&names(&staged)[0]);
    let mut data = fs::read(&staged).unwrap();
    data[100] ^= 1;
    fs::write(&staged, data).unwrap();
    let mut recv = receiver(&p.to, &["--json"]);
    sender(&[&file], &ticket, &[]).exits(0);
    recv.exits(0);
    assert_eq!(fs::read(&file).unwrap(), fs::read(p.to.join("large")).unwrap());
}

#[test]
fn strangers_are_turned_away_and_the_receiver_lives() {
    let began = Instant::now();
    let p = place();
    let file = p.file("a", 300_000);
    let mut recv = receiver(&p.to, &["--json"]);
    let ticket = recv.ticket();

    let wrong_secret = forge(&ticket, |(_, secret, _)| secret[5] ^= 1);
    let mut send = sender(&[&file], &wrong_secret, &["--json"]);
    send.exits(4);
    assert!(send.event("error")["message"].as_str().unwrap().contains("secret"), "{:?}", send.lines());
    assert_eq!(recv.event("refused")["kind"], "wrong-ticket");

    let wrong_certificate = forge(&ticket, |(certificate, _, _)| certificate[5] ^= 1);
    sender(&[&file], &wrong_certificate, &[]).exits(4);
    for _ in 0..3 {
        sender(&[&file], &wrong_secret, &[]).exits(4);
    }
    let lines = recv.events("refused").iter().filter(|event| event["kind"] == "wrong-ticket").count() as u64;
    assert!(lines <= 1 + began.elapsed().as_secs() / 10, "{lines} lines; one in ten seconds at most");

    let address = forge_address(&ticket);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut rng = fastrand::Rng::with_seed(3);
    for n in 0..3000 {
        let mut datagram = vec![0; rng.usize(0..1500)];
        rng.fill(&mut datagram);
        // Some look like the first packet of a QUIC connection, whole or cut short.
        if n % 2 == 0 && datagram.len() > 8 {
            datagram[0] = 0xc0 | (datagram[0] & 0x0f);
            datagram[1..6].copy_from_slice(&[0, 0, 0, 1, 8]);
        }
        socket.send_to(&datagram, address).unwrap();
    }
    assert!(recv.is_running());
    sender(&[&file], &ticket, &[]).exits(0);
    recv.exits(0);
    assert_eq!(fs::read(&file).unwrap(), fs::read(p.to.join("a")).unwrap());
}

fn forge_address(ticket: &str) -> std::net::SocketAddr {
    let mut address = None;
    forge(ticket, |(_, _, addresses)| address = Some(addresses[0]));
    address.expect("an address")
}

#[test]
fn existing_files_stay() {
    let p = place();
    let file = p.file("a", 1000);
    fs::create_dir(&p.to).unwrap();
    fs::write(p.to.join("a"), "mine").unwrap();
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &recv.ticket(), &["--json"]);
    send.exits(7);
    assert!(send.event("error")["message"].as_str().unwrap().contains("--overwrite"));
    recv.event("refused");
    assert!(recv.is_running());
    assert_eq!(fs::read(p.to.join("a")).unwrap(), b"mine");
    // The ticket is still good for something else.
    sender(&[&p.file("b", 10)], &recv.ticket(), &[]).exits(0);
    recv.exits(0);

    let mut recv = receiver(&p.to, &["--overwrite"]);
    sender(&[&file], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    assert_eq!(fs::read(&file).unwrap(), fs::read(p.to.join("a")).unwrap());
}

#[test]
fn a_file_that_appears_meanwhile_stays() {
    let p = place();
    let file = p.file("a", 2_000_000);
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &recv.ticket(), &["--json", "--max-rate", "20mbit"]);
    recv.stored(500_000);
    fs::write(p.to.join("a"), "mine").unwrap();
    send.exits(7);
    recv.exits(7);
    assert_eq!(fs::read(p.to.join("a")).unwrap(), b"mine");
    // Nothing needs to be sent again once the way is free.
    fs::remove_file(p.to.join("a")).unwrap();
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &recv.ticket(), &["--json"]);
    send.exits(0);
    recv.exits(0);
    assert_eq!(send.event("done")["moved"], 0);
    assert_eq!(fs::read(&file).unwrap(), fs::read(p.to.join("a")).unwrap());
}

#[test]
fn links_do_not_lead_out() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir_all(root.join("inner")).unwrap();
    write_file(&root.join("inner/file"), 10, 1);
    // A link in the destination in place of a folder that comes.
    let elsewhere = p.from.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir_all(p.to.join("tree")).unwrap();
    symlink(&elsewhere, p.to.join("tree/inner")).unwrap();
    let recv = receiver(&p.to, &["--overwrite"]);
    sender(&[&root], &recv.ticket(), &[]).exits(7);
    assert!(names(&elsewhere).is_empty());
    // Nor is one taken that would lead out here, if that is not wanted.
    let recv = receiver(&p.to.join("safe"), &["--safe-links"]);
    symlink("../../secret", root.join("bad link")).unwrap();
    let mut send = sender(&[&root], &recv.ticket(), &[]);
    send.exits(8);
    assert!(send.stderr().contains("tree/bad link"), "{}", send.stderr());
}

#[test]
fn what_can_be_kept_is_kept_and_the_rest_named() {
    let p = place();
    let root = p.from.join("tree");
    fs::create_dir_all(root.join("units")).unwrap();
    write_file(&root.join("units/dev-disk-by\\x2duuid.swap"), 100, 1);
    symlink("/usr/bin/python3", root.join("python")).unwrap();
    symlink("../../elsewhere", root.join("units/out")).unwrap();
    let mut recv = receiver(&p.to, &[]);
    sender(&[&root], &recv.ticket(), &[]).exits(0);
    recv.exits(0);
    assert_eq!(tree(&root), tree(&p.to.join("tree")));

    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let mut list = start(sender_command(&[&root], &["--dry-run", "--exclude", "python"]));
    list.exits(15);
    assert_eq!(
        list.lines(),
        [
            "     folder  tree",
            "     folder  tree/units",
            "      100 B  tree/units/dev-disk-by\\x2duuid.swap",
            "       link  tree/units/out"
        ]
    );
    assert!(list.stderr().contains("1 file, 100 B\n"), "{}", list.stderr());
    let hidden = p.file("a\x1b\\", 1);
    let mut json = start(sender_command(&[&hidden], &["--dry-run", "--json"]));
    json.exits(0);
    assert_eq!(json.event("entry")["path"], "a\x1b\\", "as it is");
    assert_eq!((json.event("total")["files"].as_u64(), json.event("total")["bytes"].as_u64()), (Some(1), Some(1)));
    assert!(list.stderr().contains("\"tree/socket\" is left out"), "{}", list.stderr());
    start(sender_command(&[&root], &["--dry-run", "--strict"])).exits(11);
    let mut recv = receiver(&p.to.join("second"), &[]);
    let mut strict = sender(&[&root], &recv.ticket(), &["--strict"]);
    strict.exits(11);
    assert!(strict.stderr().contains("\"tree/socket\" is left out"), "{}", strict.stderr());
    let mut send = sender(&[&root], &recv.ticket(), &[]);
    send.exits(15);
    assert!(send.stderr().contains("\"tree/socket\" is left out"), "{}", send.stderr());
    recv.exits(0);
    assert_eq!(names(&p.to.join("second/tree")), ["python", "units"]);

    let mut recv = receiver(&p.to.join("third"), &[]);
    sender(&[&root], &recv.ticket(), &["--exclude", "sock*", "--exclude", "tree/units", "--strict"]).exits(0);
    recv.exits(0);
    assert_eq!(names(&p.to.join("third/tree")), ["python"]);
}

#[test]
fn a_full_disk_is_told_to_both() {
    let p = place();
    let file = p.file("large", 3_000_000);
    // A limit on the size of files fails like a full disk, in the middle of writing.
    let script = "ulimit -f $0; exec \"$@\"";
    let limited = |blocks: &str| {
        let mut limited = Command::new("sh");
        limited.args(["-c", script, blocks, env!("CARGO_BIN_EXE_pcc"), "recv"]).arg(&p.to);
        limited.args(["--listen", "127.0.0.1:0", "--from", "anyone", "--json"]);
        start(limited)
    };
    limited("0").exits(9);
    assert!(names(&p.to).is_empty(), "a start that fails leaves nothing: {:?}", names(&p.to));
    let mut recv = limited("2000");
    let ticket = recv.ticket();
    let mut send = sender(&[&file], &ticket, &["--json", "--max-rate", "50mbit"]);
    send.exits(9);
    recv.exits(9);
    assert!(send.event("error")["message"].as_str().unwrap().contains("\"large\""));
    // With enough space, it goes on from there.
    let mut recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &ticket, &["--json"]);
    send.exits(0);
    recv.exits(0);
    assert!(send.event("start")["have"].as_u64() > Some(0));
}

#[test]
fn too_little_room_is_said_before_anything_is_sent() {
    let p = place();
    let file = p.from.join("sparse");
    fs::File::create(&file).unwrap().set_len(1 << 43).unwrap_or_else(|e| println!("no large sparse file here: {e}"));
    if file.metadata().unwrap().len() == 0 {
        return println!("skipped");
    }
    let recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &recv.ticket(), &["--json"]);
    send.exits(9);
    assert_eq!(recv.event("refused")["kind"], "disk-full");
}

#[test]
fn a_file_is_no_folder_to_receive_in() {
    let p = place();
    let file = p.file("a", 10);
    let mut recv = receiver(&file, &[]);
    recv.exits(1);
    assert!(recv.stderr().contains("a is no folder"), "{}", recv.stderr());
}

#[test]
fn a_folder_that_may_not_be_written() {
    if rustix::process::geteuid().is_root() {
        return println!("skipped: root may write everywhere");
    }
    let p = place();
    fs::create_dir(&p.to).unwrap();
    fs::set_permissions(&p.to, fs::Permissions::from_mode(0o555)).unwrap();
    let mut recv = receiver(&p.to, &[]);
    recv.exits(10);
    assert!(recv.stderr().contains(Path::new("to").to_str().unwrap()), "{}", recv.stderr());
}

#[test]
fn a_receiver_that_is_stopped_is_waited_for_as_long_as_timeout_says() {
    let p = place();
    let file = p.file("a", 20_000_000);
    let recv = receiver(&p.to, &["--json"]);
    let mut send = sender(&[&file], &recv.ticket(), &["--json", "--timeout", "3", "--max-rate", "20mbit"]);
    recv.stored(1_000_000);
    recv.signal(Signal::STOP);
    let began = Instant::now();
    send.exits(14);
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[test]
fn a_receiver_that_is_not_there() {
    let p = place();
    let file = p.file("a", 10);
    let recv = receiver(&p.to, &[]);
    let ticket = recv.ticket();
    recv.kill();
    let began = Instant::now();
    let mut send = sender(&[&file], &ticket, &["--timeout", "1"]);
    send.exits(6);
    assert!(send.stderr().contains("gave up after 1 s"), "{}", send.stderr());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    sender(&[&file], &ticket, &["--timeout", "0"]).exits(2);
    let mut send = sender(&[&file], &ticket, &["--json"]);
    send.event("lost");
    send.interrupt();
    send.exits(130);
}
