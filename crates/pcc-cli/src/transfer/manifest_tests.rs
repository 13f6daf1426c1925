use super::*;

const NOW: Mtime = Mtime { secs: 1_700_000_000, nanos: 5 };

fn file(path: &[u8]) -> Entry {
    Entry { path: path.to_vec(), what: What::File { size: 10, mode: 0o644, mtime: NOW } }
}

fn dir(path: &[u8]) -> Entry {
    Entry { path: path.to_vec(), what: What::Dir { mode: 0o755, mtime: NOW } }
}

fn link(path: &[u8], target: &[u8]) -> Entry {
    Entry { path: path.to_vec(), what: What::Link { target: target.to_vec() } }
}

fn refused(entries: Vec<Entry>) -> String {
    let failure = Manifest::new(entries).expect_err("must be refused");
    assert_eq!(failure.kind, Kind::BadName);
    failure.message
}

#[test]
fn round_trip() {
    let entries =
        vec![dir(b"a"), file(b"a/\xff\xfe"), file("a/grüße".as_bytes()), link(b"a/l", b"gr"), dir(b"a/empty")];
    let manifest = Manifest::new(entries.clone()).unwrap();
    assert_eq!((manifest.files, manifest.bytes, manifest.blocks), (2, 20, 2));
    let decoded = Manifest::decode(&manifest.encode().unwrap()).unwrap();
    assert_eq!(decoded.entries, entries);
    assert_eq!(decoded.block_id(1, 0), Some(0));
    assert_eq!(decoded.block_id(2, 0), Some(1));
    assert_eq!(decoded.block_id(2, 1), None);
    assert_eq!(decoded.block_id(0, 0), None);
    assert_eq!(decoded.block_id(99, 0), None);
}

#[test]
fn hostile_names_are_refused() {
    let long = vec![b'x'; 256];
    let names: [&[u8]; 16] = [
        b"",
        b"/",
        b"/etc/passwd",
        b"..",
        b"../x",
        b"../../x",
        b".",
        b"./x",
        b"a/../b",
        b"a//b",
        b"a/",
        b"a\0b",
        b".pcc-1234",
        b".PCC-x/y",
        b"a/.pcc-0123456789ab",
        &long,
    ];
    for name in names {
        refused(vec![dir(b"a"), file(name)]);
    }
    refused(vec![file(&[b"ab/".repeat(2000), b"c".to_vec()].concat())]);
}

#[test]
fn names_in_messages_are_harmless() {
    assert!(!refused(vec![file(b"\x1b[2J/..")]).contains('\x1b'));
}

#[test]
fn structure_is_checked() {
    refused(vec![]);
    refused(vec![file(b"a"), file(b"a")]);
    refused(vec![file(b"a"), dir(b"a")]);
    refused(vec![file(b"a/b")]);
    refused(vec![file(b"a"), file(b"a/b")]);
    // Nothing is written through a link that came along.
    refused(vec![dir(b"d"), link(b"d/a", b"x"), file(b"d/a/b")]);
    for target in [&b""[..], b"a\0b", &[b'x'; MAX_PATH + 1]] {
        refused(vec![dir(b"d"), link(b"d/l", target)]);
    }
    refused(vec![Entry {
        path: b"a".to_vec(),
        what: What::Dir { mode: 0o755, mtime: Mtime { secs: 0, nanos: 1_000_000_000 } },
    }]);
    refused(vec![Entry { path: b"a".to_vec(), what: What::File { size: u64::MAX, mode: 0o644, mtime: NOW } }]);
}

#[test]
fn nothing_runs_as_somebody_else() {
    for mode in [0o4755, 0o2755, 0o1777, u32::MAX] {
        refused(vec![Entry { path: b"a".to_vec(), what: What::File { size: 1, mode, mtime: NOW } }]);
        refused(vec![Entry { path: b"a".to_vec(), what: What::Dir { mode, mtime: NOW } }]);
    }
}

#[test]
fn a_list_that_is_too_long_is_said_to_be() {
    let long = |n: usize| format!("{n:05}{}", format!("/{}", "x".repeat(250)).repeat(15)).into_bytes();
    let entries: Vec<_> = (0..20_000).map(|n| file(&long(n))).collect();
    // It matters only how long it is.
    let manifest = Manifest { entries, ..Manifest::default() };
    let failure = manifest.encode().unwrap_err();
    assert!(failure.message.contains("20000 files and folders make a list of more than 64 MiB"), "{failure}");
}

#[test]
fn links_that_lead_out_are_known() {
    let within = |path: &[u8], target: &[u8]| !leads_out(path, target);
    assert!(within(b"d/l", b"e"));
    assert!(within(b"d/l", b"e/f"));
    assert!(within(b"d/e/l", b"../x"));
    assert!(!within(b"d/e/l", b"../../x"));
    assert!(!within(b"d/l", b"../x"));
    assert!(!within(b"l", b"x"));
    assert!(!within(b"d/l", b"/etc"));
    assert!(!within(b"d/l", b""));
    // Through another link this could lead anywhere.
    assert!(!within(b"d/l", b"e/../x"));
    assert!(!within(b"d/e/l", b".././x"));
}

#[test]
fn garbage_is_no_list() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..rng.usize(..200)).map(|_| rng.u8(..)).collect();
        let _ = Manifest::decode(&bytes);
    }
    // A length of 2^63 in four bytes of message must not be believed.
    assert!(Manifest::decode(&[0xff; 9]).is_err());
}
