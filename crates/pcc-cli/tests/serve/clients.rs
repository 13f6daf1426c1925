//! Clients that others wrote. Each test is skipped, with a line, where the client is missing.

use crate::support::{Server, Site, lossy};
use ring::digest::{SHA256, digest};
use std::process::{Command, Output};

fn hex(data: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(digest(&SHA256, data).as_ref())
}

/// Runs a program for at most two minutes; `None` if it isn't there.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    let output = Command::new("timeout").arg("120").arg(program).args(arguments).output().expect("timeout runs");
    // What `timeout` says of a program that isn't there.
    if output.status.code() == Some(127) {
        println!("skipped: there is no {program}");
        return None;
    }
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output)
}

fn curl(site: &Site, server: &Server, arguments: &[&str]) -> Option<Vec<u8>> {
    let url = format!("https://localhost:{}/file", server.port());
    let (ca, resolve) = (site.beside("cert.pem"), format!("localhost:{}:127.0.0.1", server.port()));
    let all = [&["-sS", "--fail", "--cacert", &ca, "--resolve", &resolve, &url], arguments].concat();
    Some(run("curl", &all)?.stdout)
}

#[test]
fn curl_downloads() {
    let site = Site::new();
    let data = site.file("file", 3_000_000, 1);
    let server = site.serve(&[]);
    for version in ["--http1.1", "--http2"] {
        let Some(got) = curl(&site, &server, &[version]) else { return };
        assert!(got == data, "{version}");
        assert!(curl(&site, &server, &[version, "-r", "1000-1999"]).unwrap() == data[1000..2000]);
        let head = String::from_utf8(curl(&site, &server, &[version, "-I"]).unwrap()).unwrap();
        assert!(head.contains("content-length: 3000000") && head.contains("alt-svc: h3="), "{head}");
    }
    // Curl may have ended before the server has logged what it sent.
    server.pcc.until("six requests", || (server.pcc.events("request").len() == 6).then_some(()));
    let mut versions: Vec<_> =
        server.pcc.events("request").iter().map(|line| line["version"].as_str().expect("text").to_owned()).collect();
    versions.sort();
    assert_eq!(versions, ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/2", "HTTP/2", "HTTP/2"]);
    // The pin is what curl takes, too.
    let pin = server.pcc.event("serving")["pin"].as_str().unwrap().to_owned();
    assert!(curl(&site, &server, &["--pinnedpubkey", &pin]).unwrap() == data);
}

/// A Python with aioquic: the one that `PCC_PYTHON` names, or `python3`.
fn aioquic(port: u16, site: &Site, arguments: &[&str]) -> Option<String> {
    let python = std::env::var("PCC_PYTHON").unwrap_or("python3".to_owned());
    let has_it = Command::new(&python).args(["-c", "import aioquic"]).output().is_ok_and(|done| done.status.success());
    if !has_it {
        println!("skipped: {python} has no aioquic");
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/aioquic_get.py");
    let (port, ca) = (port.to_string(), site.beside("cert.pem"));
    let output = run(&python, &[&[script, &ca, &port], arguments].concat())?;
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn aioquic_downloads() {
    let site = Site::new();
    let data = site.file("file", 3_000_000, 1);
    let server = site.serve(&[]);
    let Some(said) = aioquic(server.port(), &site, &["GET", "/file"]) else { return };
    assert_eq!(said.trim(), format!("200 {}", hex(&data)));
    let ask = |arguments: &[&str]| aioquic(server.port(), &site, arguments).unwrap().trim().to_owned();
    assert_eq!(ask(&["GET", "/file", "range: bytes=1000-1999"]), format!("206 {}", hex(&data[1000..2000])));
    assert_eq!(ask(&["GET", "/%2e%2e/cert.pem"]).split(' ').next(), Some("400"));
    assert_eq!(ask(&["GET", "/none"]).split(' ').next(), Some("404"));
    assert_eq!(ask(&["POST", "/file"]).split(' ').next(), Some("405"));
    assert_eq!(ask(&["GET", "/file", &format!("x: {}", "y".repeat(20_000))]).split(' ').next(), Some("431"));
    let line = server.logged("-");
    assert_eq!((&line["version"], line["status"].as_u64()), (&"HTTP/3".into(), Some(431)));
    let long = format!("x: {}", "y".repeat(50_000));
    assert_eq!(ask(&["GET", "/file", &long, &long, &long]), "reset");
    // Over a path that loses packets.
    let path = lossy(&server);
    let said = aioquic(path.addr().port(), &site, &["GET", "/file"]).unwrap();
    assert_eq!(said.trim(), format!("200 {}", hex(&data)));
}

/// What the page says once it has fetched the file, by HTTP/3 through this port.
fn browse(server: &Server, port: u16) -> Option<String> {
    let profile = tempfile::tempdir().expect("a folder");
    let pin = server.pcc.event("serving")["pin"].as_str().expect("a pin").replace("sha256//", "");
    let [folder, force, pin, url] = [
        format!("--user-data-dir={}", profile.path().display()),
        format!("--origin-to-force-quic-on=localhost:{port}"),
        format!("--ignore-certificate-errors-spki-list={pin}"),
        format!("https://localhost:{port}/page.html"),
    ];
    let resolve = "--host-resolver-rules=MAP localhost 127.0.0.1";
    let quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
    // It shows the page once scripts and network have come to rest.
    let headless = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=60000"];
    let output = run("chromium", &[&headless[..], &quiet[..], &[resolve, &folder, &force, &pin, &url]].concat())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn chromium_downloads() {
    let site = Site::new();
    let data = site.file("file", 3_000_000, 1);
    std::fs::write(site.path("page.html"), include_str!("page.html")).unwrap();
    let server = site.serve(&[]);
    let expected = format!("h3 200 {}; HEAD 200 3000000", hex(&data));
    let Some(page) = browse(&server, server.port()) else { return };
    assert!(page.contains(&expected), "{page}");
    let path = lossy(&server);
    let page = browse(&server, path.addr().port()).unwrap();
    assert!(page.contains(&expected), "{page}");
    assert!(path.stop().unwrap().reverse.lost > 10);
}
