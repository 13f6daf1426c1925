//! How a server ends, and what its clients notice of it.

use crate::support::{SIZE, SLOW, Server, Site, ask, has, tls};
use rustix::process::Signal;
use std::net::TcpStream;

#[test]
fn what_is_on_its_way_may_finish() {
    let site = Site::new();
    let data = site.file("file", SIZE, 1);
    let mut server = site.serve(&SLOW);
    // It has nothing to do, and is closed at once.
    let mut idle = tls(&site, &server);
    assert_eq!(ask(&mut idle, "GET", "/", &[]).status, 200);
    let mut get = site.get(server.port(), "file", "out", &[]);
    has(&get, 1);
    server.pcc.signal(Signal::TERM);
    server.pcc.event("draining");
    server.pcc.until("closed port", || TcpStream::connect(server.address).is_err().then_some(()));
    get.exits(0);
    assert!(std::fs::read(site.beside("out")).unwrap() == data);
    server.pcc.exits(0);
    let line = server.logged("/file");
    assert_eq!((line["bytes"].as_u64(), &line["complete"]), (Some(SIZE as u64), &true.into()));
}

#[test]
fn a_download_goes_on_after_a_restart_of_the_server() {
    let site = Site::new();
    let data = site.file("file", SIZE, 1);
    let mut server = site.serve(&SLOW);
    let mut get = site.get(server.port(), "file", "out", &[]);
    has(&get, 400_000);
    server.pcc.interrupt();
    server.pcc.event("draining");
    server.pcc.interrupt();
    server.pcc.exits(130);
    assert_eq!(server.logged("/file")["complete"], false);
    get.event("lost");
    let _again = site.serve_on(&server.address.to_string(), &[]);
    get.exits(0);
    assert!(std::fs::read(site.beside("out")).unwrap() == data);
    let begins: Vec<_> = get.events("start").iter().map(|start| start["have"].as_u64().unwrap()).collect();
    assert!(begins.len() == 2 && begins[1] > 0, "{begins:?}");
}

#[test]
fn a_renewed_certificate_is_for_new_connections() {
    let (site, renewed) = (Site::new(), Site::new());
    let data = site.file("file", SIZE, 1);
    let mut server = site.serve(&SLOW);
    let mut old = tls(&site, &server);
    assert_eq!(ask(&mut old, "GET", "/", &[]).status, 200);
    let mut get = site.get(server.port(), "file", "out", &[]);
    has(&get, 1);
    for file in ["cert.pem", "key.pem"] {
        std::fs::copy(renewed.beside(file), site.beside(file)).unwrap();
    }
    server.pcc.signal(Signal::HUP);
    let pin = server.pcc.event("reloaded")["pin"].as_str().unwrap().to_owned();
    assert_ne!(pin, server.pcc.event("serving")["pin"]);
    // Over TCP and QUIC.
    assert_eq!(ask(&mut tls(&renewed, &server), "GET", "/", &[]).status, 200);
    site.file("small", 1000, 2);
    let url = format!("https://127.0.0.1:{}/small", server.port());
    crate::common::pcc(&["get", "--pin", &pin, "-o", &site.beside("small"), &url]).exits(0);
    // What can't be used changes nothing.
    std::fs::write(site.beside("key.pem"), "no key").unwrap();
    server.pcc.signal(Signal::HUP);
    let note = server.pcc.event("note")["message"].as_str().unwrap().to_owned();
    assert!(note.contains("stays as it was") && note.contains("key.pem"), "{note}");
    assert_eq!(ask(&mut tls(&renewed, &server), "GET", "/", &[]).status, 200);
    // And what was there before goes on.
    assert_eq!(ask(&mut old, "GET", "/", &[]).status, 200);
    get.exits(0);
    assert!(std::fs::read(site.beside("out")).unwrap() == data);
    server.pcc.signal(Signal::TERM);
    server.pcc.exits(0);
}

#[test]
fn a_server_with_a_certificate_of_its_own_has_nothing_to_read_again() {
    let site = Site::new();
    let arguments = ["serve", &site.beside("root"), "--json", "--listen", "127.0.0.1:0"];
    let mut server = Server::new(crate::common::pcc(&arguments));
    server.pcc.signal(Signal::HUP);
    assert!(server.pcc.event("note")["message"].as_str().unwrap().contains("nothing to read again"));
    assert!(server.pcc.is_running());
}

#[test]
fn folders_and_certificates_that_are_none() {
    let site = Site::new();
    let serve = |arguments: &[&str], code: i32| {
        let mut pcc = crate::common::pcc(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat());
        pcc.exits(code);
        pcc.stderr()
    };
    assert!(serve(&[&site.beside("none")], 11).contains("there is no folder"));
    assert!(serve(&[&site.beside("cert.pem")], 11).contains("no folder"));
    let root = site.beside("root");
    serve(&[&root, "--cert", &site.beside("cert.pem")], 2);
    let swapped = ["--cert", &site.beside("key.pem"), "--key", &site.beside("cert.pem")];
    assert!(serve(&[&[&root[..]], &swapped[..]].concat(), 2).contains("key.pem"));
    let other = Site::new();
    let mixed = ["--cert", &site.beside("cert.pem"), "--key", &other.beside("key.pem")];
    assert!(serve(&[&[&root[..]], &mixed[..]].concat(), 2).contains("certificate"));
}
