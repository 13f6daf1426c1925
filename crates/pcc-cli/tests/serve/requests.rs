//! What requests are answered with.

use crate::support::{Site, ask, once, read, tls};
use std::io::Write;
use std::os::unix::fs::symlink;

#[test]
fn a_file_and_what_is_said_about_it() {
    let site = Site::new();
    let data = site.file("a b.txt", 5000, 1);
    let server = site.serve(&[]);
    let mut tls = tls(&site, &server);
    let all = ask(&mut tls, "GET", "/a%20b.txt", &[]);
    assert_eq!((all.status, &all.body), (200, &data));
    assert_eq!(all.field("content-type"), "text/plain; charset=utf-8");
    assert_eq!(all.field("accept-ranges"), "bytes");
    assert_eq!(all.field("x-content-type-options"), "nosniff");
    assert_eq!(all.field("alt-svc"), format!("h3=\":{}\"; ma=86400", server.port()));
    let digest = data_encoding::BASE64.encode(ring::digest::digest(&ring::digest::SHA256, &data).as_ref());
    assert_eq!(all.field("repr-digest"), format!("sha-256=:{digest}:"));
    assert!(all.field("date").ends_with(" GMT") && all.field("last-modified").ends_with(" GMT"));

    let head = ask(&mut tls, "HEAD", "/a%20b.txt", &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-length", "etag", "content-type", "repr-digest"] {
        assert_eq!(head.field(name), all.field(name), "{name}");
    }
    let line = server.logged("/a%20b.txt");
    assert_eq!((line["status"].as_u64(), line["bytes"].as_u64()), (Some(200), Some(5000)));
    assert_eq!(
        (&line["version"], &line["complete"], &line["peer"]),
        (&"HTTP/1.1".into(), &true.into(), &"127.0.0.1".into())
    );
}

#[test]
fn parts_and_conditions() {
    let site = Site::new();
    let data = site.file("x", 10_000, 1);
    let server = site.serve(&[]);
    let mut tls = tls(&site, &server);
    let mut get = |fields: &[(&str, &str)]| ask(&mut tls, "GET", "/x", fields);
    let part = get(&[("range", "bytes=100-199")]);
    assert_eq!((part.status, part.field("content-range")), (206, "bytes 100-199/10000"));
    assert_eq!(part.body, &data[100..200]);
    assert_eq!(get(&[("range", "bytes=-1")]).body, &data[9999..]);
    let beyond = get(&[("range", "bytes=10000-")]);
    assert_eq!((beyond.status, beyond.field("content-range")), (416, "bytes */10000"));
    assert_eq!(get(&[("range", "bytes=0-1,3-4")]).body, data, "several are answered with all");

    let (etag, modified) = (part.field("etag"), part.field("last-modified"));
    let known = get(&[("if-none-match", etag)]);
    assert_eq!((known.status, known.body.len(), known.field("etag")), (304, 0, etag));
    assert_eq!(get(&[("if-modified-since", modified)]).status, 304);
    assert_eq!(get(&[("if-match", "\"other\"")]).status, 412);
    let same = [("range", "bytes=5000-"), ("if-range", etag)];
    assert_eq!(get(&same).body, &data[5000..]);
    site.file("x", 10_000, 2);
    let changed = get(&same);
    assert_eq!((changed.status, changed.body.len()), (200, 10_000));
    assert_ne!(changed.field("etag"), etag);
    assert_eq!(ask(&mut tls, "HEAD", "/x", &[("range", "bytes=0-1")]).field("content-length"), "10000");
}

#[test]
fn nothing_but_the_folder_is_served() {
    let site = Site::new();
    std::fs::create_dir_all(site.path("sub/.git")).unwrap();
    for file in ["sub/file", "sub/.git/config", ".hidden"] {
        std::fs::write(site.path(file), "inside").unwrap();
    }
    std::fs::write(site.beside("secret"), "outside").unwrap();
    symlink("../secret", site.path("link")).unwrap();
    symlink("/etc", site.path("etc")).unwrap();
    symlink("sub/file", site.path("inside")).unwrap();
    let server = site.serve(&[]);
    let mut tls = tls(&site, &server);
    let mut status = |path: &str| ask(&mut tls, "GET", path, &[]).status;
    assert_eq!((status("/sub/file"), status("/inside")), (200, 200));
    let bad =
        ["/../secret", "/sub/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/sub/..%2f..%2fsecret", "//etc/passwd"];
    for path in
        bad.into_iter().chain(["/%2fetc%2fpasswd", "/a%00b", "/%", "/sub//file", "/./sub/file", "/sub/%2e%2e/.hidden"])
    {
        assert_eq!(status(path), 400, "{path}");
    }
    for path in ["/link", "/etc/passwd", "/etc/"] {
        assert_eq!(status(path), 403, "{path}");
    }
    for path in ["/none", "/.hidden", "/sub/.git/config", "/sub/.git/", "/sub/file/", "/sub/file/more", "/..secret"] {
        assert_eq!(status(path), 404, "{path}");
    }
    let hidden = site.serve(&["--hidden"]);
    assert_eq!(once(&site, &hidden, "GET", "/.hidden", &[]).body, b"inside");
}

#[test]
fn folders() {
    let site = Site::new();
    std::fs::create_dir_all(site.path("sub/deep")).unwrap();
    site.file("sub/<b>.txt", 2048, 1);
    let server = site.serve(&[]);
    let mut tls = tls(&site, &server);
    let redirected = ask(&mut tls, "GET", "/sub?x", &[]);
    assert_eq!((redirected.status, redirected.field("location")), (308, "/sub/?x"));
    let listing = ask(&mut tls, "GET", "/sub/", &[]);
    assert_eq!((listing.status, listing.field("content-type")), (200, "text/html; charset=utf-8"));
    let page = String::from_utf8(listing.body).unwrap();
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what} in {page}"));
    assert!(at("../") < at("./deep/") && at("./deep/") < at("./%3Cb%3E.txt"));
    assert!(page.contains("&lt;b&gt;.txt") && !page.contains("<b>"));
    let length = ask(&mut tls, "HEAD", "/sub/", &[]).field("content-length").parse::<usize>().unwrap();
    assert_eq!(length, page.len());
    std::fs::write(site.path("sub/index.html"), "<p>index").unwrap();
    std::fs::write(site.path("index.html"), "<p>root").unwrap();
    for (path, text) in [("/sub/", "<p>index"), ("/", "<p>root")] {
        let index = ask(&mut tls, "GET", path, &[]);
        assert_eq!(
            (index.body, &index.fields["content-type"][..]),
            (text.into(), "text/html; charset=utf-8"),
            "{path}"
        );
    }
}

#[test]
fn what_makes_no_sense() {
    let site = Site::new();
    let server = site.serve(&[]);
    let post = once(&site, &server, "POST", "/", &[("content-length", "0")]);
    assert_eq!((post.status, post.field("allow")), (405, "GET, HEAD"));
    assert_eq!(once(&site, &server, "OPTIONS", "*", &[]).status, 405);
    let answer = |head: &str| {
        let mut tls = tls(&site, &server);
        tls.get_mut().write_all(head.as_bytes()).unwrap();
        read(&mut tls, false).status
    };
    assert_eq!(answer("GET / HTTP/1.1\r\n\r\n"), 400, "no host");
    assert_eq!(answer("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"), 400, "two hosts");
    assert_eq!(answer("GET / HTTP/1.0\r\n\r\n"), 200, "which HTTP/1.0 does not need");
    assert_eq!(answer("nonsense\r\n\r\n"), 400);
    // Little more than is read, or the connection would break while it is still being written.
    let field = "x".repeat(17_000);
    assert_eq!(once(&site, &server, "GET", "/", &[("x", &field)]).status, 431);
    let many: Vec<_> = (0..200).map(|_| ("x", "y")).collect();
    assert_eq!(once(&site, &server, "GET", "/", &many).status, 431);
    let unreadable = || {
        let lines = server.pcc.events("request").into_iter().filter(|line| line["path"] == "-");
        let mut statuses: Vec<_> = lines.map(|line| line["status"].as_u64().unwrap()).collect();
        statuses.sort_unstable();
        (statuses.len() >= 3).then_some(statuses)
    };
    assert_eq!(server.pcc.until("lines about what could not be read", unreadable), [400, 431, 431]);
}
