//! `pcc get`: the same bytes arrive, from the right server, and a download that was cut goes on.

use crate::common::{names, pcc};
use crate::support::{SIZE, SLOW, Server, Site, has, lossy};
use std::time::{Duration, Instant};

#[test]
fn the_same_bytes_arrive() {
    let site = Site::new();
    let server = site.serve(&[]);
    for (size, name) in [(0, "empty"), (1, "one"), (300_000, "some"), (8_000_001, "many")] {
        let data = site.file(name, size, size as u64);
        let mut get = site.get(server.port(), name, "out", &["--overwrite"]);
        get.exits(0);
        assert!(std::fs::read(site.beside("out")).unwrap() == data, "{name}");
        let done = get.event("done");
        assert_eq!((done["bytes"].as_u64(), &done["verified"]), (Some(size as u64), &true.into()), "{name}");
        let line = server.logged(&format!("/{name}"));
        assert_eq!((line["bytes"].as_u64(), &line["version"]), (Some(size as u64), &"HTTP/3".into()));
    }
    let left: Vec<_> = names(site.dir.path()).into_iter().filter(|name| name.contains("part")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn they_arrive_over_a_path_that_loses_packets() {
    let site = Site::new();
    let data = site.file("file", 6_000_000, 1);
    let server = site.serve(&[]);
    let path = lossy(&server);
    site.get(path.addr().port(), "file", "out", &[]).exits(0);
    assert!(std::fs::read(site.beside("out")).unwrap() == data);
    let report = path.stop().unwrap();
    assert!(report.reverse.lost > 10, "{:?}", report.reverse);
}

#[test]
fn only_the_right_server_is_asked() {
    let site = Site::new();
    site.file("file", 10, 1);
    let server = site.serve(&[]);
    let (url, out) = (format!("https://localhost:{}/file", server.port()), site.beside("out"));
    let get = |how: &[&str], code: i32| {
        let mut get = pcc(&[&["get", &url, "-o", &out, "--overwrite", "--timeout", "1"], how].concat());
        get.exits(code);
        get.stderr()
    };
    get(&[], 16);
    get(&["--ca", &Site::new().beside("cert.pem")], 16);
    let error = get(&["--pin", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], 16);
    let pin = server.pcc.event("serving")["pin"].as_str().unwrap().to_owned();
    assert!(error.contains(&format!("its key is {pin}, and not the one that --pin names")), "{error}");
    get(&["--pin", "sha256//AAAA"], 2);
    get(&["--ca", &site.beside("key.pem")], 2);
    pcc(&["get", &url, "-o", &out, "--timeout", "0"]).exits(2);
    assert!(!std::fs::exists(&out).unwrap());
    get(&["--pin", &pin], 0);

    // A certificate of an authority is no server's.
    let authority = Site::of_authority();
    authority.file("file", 10, 1);
    let server = authority.serve(&[]);
    let mut get = authority.get(server.port(), "file", "out", &[]);
    get.exits(16);
    let message = get.event("error")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("(CA:TRUE)") && message.contains("--pin"), "{message}");

    // Without a certificate of the user's it makes one.
    let server = Server::new(pcc(&["serve", &site.beside("root"), "--json", "--listen", "127.0.0.1:0"]));
    let serving = server.pcc.event("serving");
    assert_eq!(serving["self_signed"], true);
    let url = format!("https://127.0.0.1:{}/file", server.port());
    pcc(&["get", &url, "-o", &out, "--overwrite", "--pin", serving["pin"].as_str().unwrap()]).exits(0);
}

#[test]
fn what_is_not_there_or_is_there_already() {
    let site = Site::new();
    std::fs::create_dir(site.path("sub")).unwrap();
    let server = site.serve(&[]);
    site.get(server.port(), "none", "out", &[]).exits(11);
    site.get(server.port(), ".hidden", "out", &[]).exits(11);
    assert!(!names(site.dir.path()).iter().any(|name| name.starts_with("out")), "nothing is left behind");
    std::fs::write(site.beside("out"), "mine").unwrap();
    site.get(server.port(), "sub/", "out", &[]).exits(7);
    assert_eq!(std::fs::read(site.beside("out")).unwrap(), b"mine");
    // A folder's URL without a slash leads to its listing.
    site.get(server.port(), "sub", "out", &["--overwrite"]).exits(0);
    assert!(std::fs::read_to_string(site.beside("out")).unwrap().contains("<title>/sub/</title>"));
    let mut nowhere = pcc(&["get", "https://nobody.invalid/file", "-o", &site.beside("other")]);
    nowhere.exits(6);
    assert!(nowhere.stderr().contains("cannot find nobody.invalid"), "{}", nowhere.stderr());
    pcc(&["get", "https://localhost/file", "-o", "-"]).exits(2);
    let began = Instant::now();
    let mut nobody = site.get(1, "file", "other", &["--timeout", "1"]);
    nobody.exits(6);
    assert!(began.elapsed() < Duration::from_secs(5), "as long as --timeout says: {:?}", began.elapsed());
    assert!(nobody.event("error")["message"].as_str().unwrap().contains("UDP"));
}

/// Starts a download from a slow server, kills both in the middle, and starts a server at the same address.
fn cut(site: &Site) -> Server {
    let slow = site.serve(&SLOW);
    let get = site.get(slow.port(), "file", "out", &[]);
    has(&get, 400_000);
    get.kill();
    let address = slow.address.to_string();
    slow.pcc.kill();
    site.serve_on(&address, &[])
}

#[test]
fn a_download_that_was_killed_goes_on() {
    let site = Site::new();
    let data = site.file("file", SIZE, 1);
    let server = cut(&site);
    let mut get = site.get(server.port(), "file", "out", &[]);
    get.exits(0);
    let have = get.event("start")["have"].as_u64().unwrap();
    assert!((1..SIZE as u64).contains(&have), "{have}");
    let done = get.event("done");
    assert_eq!((done["moved"].as_u64(), &done["verified"]), (Some(SIZE as u64 - have), &true.into()));
    assert!(std::fs::read(site.beside("out")).unwrap() == data);
}

#[test]
fn a_server_that_was_restarted_says_so() {
    let site = Site::new();
    let data = site.file("file", SIZE, 1);
    let slow = site.serve(&SLOW);
    let mut get = site.get(slow.port(), "file", "out", &[]);
    has(&get, 400_000);
    let address = slow.address.to_string();
    slow.pcc.kill();
    let _server = site.serve_on(&address, &[]);
    get.exits(0);
    // Without a word of the server there would be none of it before 30 s have passed, and then it would be another reason.
    let reasons: Vec<_> = get.events("lost").into_iter().map(|lost| lost["reason"].clone()).collect();
    assert_eq!(reasons, ["localhost was restarted"]);
    assert!(std::fs::read(site.beside("out")).unwrap() == data);
}

#[test]
fn what_has_changed_begins_anew() {
    let site = Site::new();
    site.file("file", SIZE, 1);
    let server = cut(&site);
    let data = site.file("file", 3_000_000, 2);
    let mut get = site.get(server.port(), "file", "out", &[]);
    get.exits(0);
    assert_eq!(get.event("start")["have"], 0);
    assert!(std::fs::read(site.beside("out")).unwrap() == data);
}

#[test]
fn names_that_no_file_can_have() {
    let site = Site::new();
    let out = |name: &str| site.beside(name);
    let url = "https://localhost:1/file";
    let refused = |arguments: &[&str], code: i32, why: &str| {
        let mut get = pcc(&[&["get"], arguments].concat());
        get.exits(code);
        assert!(get.stderr().contains(why), "{arguments:?}: {}", get.stderr());
    };
    refused(&["https://localhost:1/a%2fb"], 2, "can't be a file name here; name one with -o");
    for folder in ["new/", "new/.", "new/.."] {
        refused(&[url, "-o", &out(folder)], 2, "name a file, perhaps one in it");
    }
    refused(&[url, "-o", &out("root/")], 7, "is a folder");
    let fifo = out("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    refused(&[url, "-o", &fifo, "--overwrite"], 7, "is no file (a link or device)");
    // Nothing comes, and no folder is made.
    refused(&[url, "-o", &out("new/file"), "--timeout", "1s"], 6, "UDP");
    assert!(!std::fs::exists(out("new")).unwrap());
}

#[test]
fn a_file_that_changes_meanwhile_is_broken_off() {
    let site = Site::new();
    site.file("file", SIZE, 1);
    let slow = site.serve(&SLOW);
    let get = site.get(slow.port(), "file", "out", &[]);
    has(&get, 400_000);
    let mut file = std::fs::OpenOptions::new().append(true).open(site.path("file")).unwrap();
    std::io::Write::write_all(&mut file, b"more").unwrap();
    let reason = get.event("lost")["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason, "localhost broke off (perhaps the file changed)");
}

#[test]
fn what_does_not_match_the_digest_is_not_kept() {
    let site = Site::new();
    site.file("file", SIZE, 1);
    let server = cut(&site);
    let part = std::fs::OpenOptions::new().write(true).open(site.beside("out.part")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&part, b"something else", 1000).unwrap();
    drop(part);
    site.get(server.port(), "file", "out", &[]).exits(12);
    let left: Vec<_> = names(site.dir.path()).into_iter().filter(|name| name.starts_with("out")).collect();
    assert!(left.is_empty(), "{left:?}");
}
