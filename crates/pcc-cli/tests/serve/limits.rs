//! What clients can make the server keep.

use crate::support::{Server, Site, Tls, ask, tls};
use std::fs::File;
use std::io::Write;

/// The server's memory in bytes.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pcc.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Asks for a file and doesn't read it.
fn stall(site: &Site, server: &Server) -> Tls {
    let mut tls = tls(site, server);
    tls.get_mut().write_all(b"GET /big HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    tls
}

#[test]
fn who_does_not_read_costs_little() {
    let site = Site::new();
    File::create(site.path("big")).unwrap().set_len(1 << 30).unwrap();
    let server = site.serve(&[]);
    let mut warm = tls(&site, &server);
    assert_eq!(ask(&mut warm, "HEAD", "/big", &[]).status, 200);
    let before = memory(&server);
    let readers: Vec<_> = (0..40).map(|_| stall(&site, &server)).collect();
    // Until the buffers of the kernel are full.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let each = memory(&server).saturating_sub(before) / readers.len() as u64;
    assert!(each < 1 << 20, "{each} bytes each");
    assert_eq!(ask(&mut warm, "HEAD", "/big", &[]).status, 200, "others don't notice");
}

#[test]
fn one_address_has_no_more_than_its_share() {
    let site = Site::new();
    let server = site.serve(&[]);
    let mut open: Vec<_> = (0..64).map(|_| tls(&site, &server)).collect();
    for tls in &mut open {
        assert_eq!(ask(tls, "GET", "/", &[]).status, 200);
    }
    let mut one_more = tls(&site, &server);
    assert!(one_more.get_mut().write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").is_err());
    open.pop();
    server.pcc.until("a free place", || {
        let mut tls = tls(&site, &server);
        tls.get_mut().write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").ok()
    });
}
