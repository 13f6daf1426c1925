//! What programs ask for, and who may.

use crate::common::{PATIENCE, forge};
use crate::support::{both, connect, data, dial, echo, exchange, http, proxy, serve, socks, target};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A port of this machine that nobody listens on.
fn deserted() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn every_way_leads_to_the_target() {
    let echo = echo();
    let far = serve(&[format!("localhost:{}", echo.port()), echo.to_string()], &[]);
    let near = connect(&far.ticket(), echo, &[]);
    let sent = data(300_000, 1);
    for host in ["127.0.0.1", "localhost"] {
        let (reply, stream) = socks(near.socks, 1, host, echo.port());
        assert_eq!(reply.code, 0);
        assert_eq!(exchange(stream, sent.clone()), sent);
        let (code, stream) = http(near.http, &format!("CONNECT {host}:{} HTTP/1.1\r\nHost: x\r\n\r\n", echo.port()));
        assert_eq!(code, 200);
        assert_eq!(exchange(stream, sent.clone()), sent);
    }
    assert_eq!(exchange(dial(near.forward), sent.clone()), sent);
    // What comes at once with the head belongs to the target.
    let (code, mut stream) = http(near.http, &format!("CONNECT {echo} HTTP/1.1\r\n\r\nearly"));
    let mut early = [0; 5];
    stream.read_exact(&mut early).unwrap();
    assert_eq!((code, &early), (200, b"early"));
    let closed = near.pcc.event("closed");
    assert_eq!((closed["up"].as_u64(), closed["down"].as_u64()), (Some(300_000), Some(300_000)));
    assert_eq!(closed["end"], "closed");
    assert_eq!(far.event("closed")["up"], 300_000);
}

#[test]
fn curl_and_its_like_can_use_it() {
    if Command::new("curl").arg("--version").output().is_err() {
        return println!("skipped: there is no curl");
    }
    let page = target(|mut stream| {
        let mut head = [0; 4096];
        let _ = stream.read(&mut head);
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    });
    let (_far, near) = both(page);
    let (socks, http) = (near.socks.to_string(), format!("http://{}", near.http));
    for way in [&["--socks5-hostname", &socks][..], &["--proxytunnel", "--proxy", &http]] {
        let url = format!("http://{page}/");
        let got = Command::new("curl").args(["-sS", "--max-time", "60", "--noproxy", ""]).args(way).arg(url).output();
        let got = got.unwrap();
        assert_eq!(got.stdout, b"hello", "{}", String::from_utf8_lossy(&got.stderr));
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_right_code() {
    let echo = echo();
    let (deserted, other) = (deserted(), deserted());
    let far = serve(&[echo.to_string(), format!("127.0.0.1:{deserted}")], &[]);
    let near = connect(&far.ticket(), echo, &[]);
    let connect = |host: &str, port: u16| http(near.http, &format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n")).0;
    // Not allowed by its address, whatever its name.
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "169.254.169.254", "10.255.0.1"] {
        assert_eq!(connect(host, other), 403, "{host}");
    }
    assert_eq!(socks(near.socks, 1, "localhost", other).0.code, 2);
    // Allowed, but nobody is there.
    assert_eq!(connect("127.0.0.1", deserted), 502);
    assert_eq!(socks(near.socks, 1, "127.0.0.1", deserted).0.code, 5);
    // No such name (RFC 6761 6.4).
    assert_eq!(connect("nobody.invalid", 80), 502);
    assert_eq!(socks(near.socks, 1, "nobody.invalid", 80).0.code, 4);
    // BIND is none of the commands.
    assert_eq!(socks(near.socks, 2, "127.0.0.1", echo.port()).0.code, 7);
    assert_eq!(http(near.http, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n").0, 405);
    assert_eq!(http(near.http, "CONNECT nowhere HTTP/1.1\r\n\r\n").0, 400);
    assert_eq!(http(near.http, &format!("CONNECT a:1 HTTP/1.1\r\nA: {}", "b".repeat(20_000))).0, 431);
    let denied = near.pcc.event("denied");
    assert!(denied["reason"].as_str().unwrap().contains("--allow"), "{denied}");
}

#[test]
fn a_program_that_says_nothing_is_given_up() {
    let (_far, near) = both(echo());
    let mut silent = [dial(near.socks), dial(near.http)];
    silent[0].write_all(&[5]).unwrap();
    silent[1].write_all(b"CONNECT").unwrap();
    let mut end = Vec::new();
    // Cut off without a word, or told why.
    let _ = silent[0].read_to_end(&mut end);
    assert!(end.is_empty());
    silent[1].read_to_end(&mut end).unwrap();
    assert!(end.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&end));
}

#[test]
fn who_lacks_the_ticket_gets_nothing() {
    let was_reached = Arc::new(AtomicBool::new(false));
    let seen = was_reached.clone();
    let target = target(move |_| seen.store(true, Ordering::Relaxed));
    let far = serve(&[target.to_string()], &[]);
    let ticket = far.ticket();
    let wrong = forge(&ticket, |(_, secret, _)| secret[0] ^= 1);
    let other = forge(&ticket, |(certificate, _, _)| certificate[0] ^= 1);
    for ticket in [wrong, other] {
        proxy(&["pipe", "127.0.0.1", &target.port().to_string()], Some(&ticket)).exits(4);
        proxy(&["connect", "--socks", "127.0.0.1:0"], Some(&ticket)).exits(4);
    }
    far.event("refused");
    assert!(!was_reached.load(Ordering::Relaxed));
    // And a ticket for a transfer is none for a proxy.
    let dir = tempfile::tempdir().unwrap();
    let receiver = crate::common::receiver(dir.path(), &[]);
    proxy(&["connect", "--socks", "127.0.0.1:0"], Some(&receiver.ticket())).exits(5);
}

#[test]
fn mistakes_are_named() {
    for (arguments, why) in [
        (&["connect"][..], "--socks, --http or --forward"),
        (&["connect", "--socks", "127.0.0.1:0"], "PCC_TICKET"),
        (&["connect", "--forward", "8080=x:1"], "LISTEN=HOST:PORT"),
        (&["connect", "pcc1typo", "--socks", "1080"], "a ticket is no argument"),
        (&["serve", "--allow", "camera"], "HOST:PORT"),
        (&["pipe", "a b", "22"], "no name of a host"),
        (&["pipe", "host", "22", "--ticket-file", "-"], "standard input"),
    ] {
        let mut pcc = proxy(arguments, None);
        pcc.exits(2);
        assert!(pcc.stderr().contains(why), "{arguments:?}: {}", pcc.stderr());
    }
    proxy(&["pipe", "host", "22"], Some("hello")).exits(3);
    let ticket = serve(&[], &[]).ticket();
    for arguments in [&["connect", &ticket, "--socks", "127.0.0.1:0"][..], &["pipe", &ticket, "22"]] {
        let mut pcc = proxy(arguments, None);
        pcc.exits(2);
        assert!(
            pcc.stderr().contains("a ticket is no argument") && !pcc.stderr().contains(&ticket),
            "{}",
            pcc.stderr()
        );
    }
    let nobody = forge(&ticket, |(_, _, addresses)| addresses[0].set_port(deserted()));
    let began = std::time::Instant::now();
    proxy(&["pipe", "host", "22"], Some(&nobody)).exits(6);
    assert!(began.elapsed() < PATIENCE);
    let far = serve(&[], &[]);
    let other = forge(&far.ticket(), |(_, secret, _)| secret[0] ^= 1);
    proxy(&["connect", "--socks", "0"], Some(&other)).exits(4);
}
