//! A hostile sender, made of the same parts as the real one, that holds a good ticket.

use super::blocks::{self, BLOCK};
use super::choice::Welcome;
use super::disk::RealDisk;
use super::endpoint;
use super::manifest::{Entry, MAX_BYTES, Manifest, Mtime, What};
use super::progress::Reporter;
use super::protocol::{self, Answer, Hello, MAX_MESSAGE, Record};
use super::receiver::{Options, Receiver};
use super::rules::Rules;
use super::staging::{Holder, Staging};
use super::store::{Admitted, Store};
use crate::failure::{Failure, Kind};
use crate::peer::credentials::{Credentials, NAME, SenderId};
use crate::peer::greeting::Greeting;
use crate::peer::identity;
use crate::peer::ticket::Ticket;
use crate::peer::wire::{self, connection_failure};
use noq::{Connection, RecvStream, SendStream};
use pcc_quic::Transport;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

const NOW: Mtime = Mtime { secs: 1_700_000_000, nanos: 5 };
pub(super) const RULES: Rules = Rules {
    overwrite: false,
    sync: false,
    checksum: false,
    permissions: true,
    safe_links: false,
    umask: 0o022,
    patience: Duration::from_secs(60),
};
const PATIENCE: Duration = Duration::from_secs(30);

/// The one that all senders here have unless it matters.
static ME: LazyLock<Credentials> = LazyLock::new(|| Credentials::generate().unwrap());

struct Setup {
    dir: tempfile::TempDir,
    ticket: Ticket,
    receiver: tokio::task::JoinHandle<crate::failure::Result<()>>,
}

async fn setup() -> Setup {
    start(tempfile::tempdir().unwrap(), RULES).await
}

async fn start(dir: tempfile::TempDir, rules: Rules) -> Setup {
    let listen = Some("127.0.0.1:0".parse().unwrap());
    let to = dir.path().join("to");
    let options = Options { dir: to, listen, advertise: Vec::new(), welcome: Welcome::Anyone, rules };
    let (receiver, ticket) = Receiver::open(options, Arc::new(Reporter::new(false))).await.unwrap();
    Setup { dir, ticket, receiver: tokio::spawn(receiver.receive(crate::signals::interrupted())) }
}

pub(super) struct Hostile {
    pub(super) connection: Connection,
    send: SendStream,
    recv: RecvStream,
    _endpoint: noq::Endpoint,
}

/// Connects and proves the secret.
async fn connect(ticket: &Ticket, manifest: &[u8]) -> Hostile {
    connect_claiming(ticket, *blake3::hash(manifest).as_bytes(), manifest.len() as u32, transfer(manifest)).await
}

/// Of a list that makes no sense, nothing that makes sense.
fn transfer(manifest: &[u8]) -> [u8; 32] {
    Manifest::decode(manifest).map_or([0; 32], |manifest| manifest.transfer())
}

async fn connect_claiming(ticket: &Ticket, manifest: [u8; 32], manifest_len: u32, transfer: [u8; 32]) -> Hostile {
    let (endpoint, config) = endpoint::client(Transport::default().config(), &ME, ticket).unwrap();
    let connecting = endpoint.connect_with(config, ticket.addresses[0], NAME).unwrap();
    let connection = connecting.await.unwrap();
    let (mut send, recv) = connection.open_bi().await.unwrap();
    let proof = *identity::proof(&connection, &ticket.secret).unwrap().as_bytes();
    wire::send(&mut send, &Hello { proof, manifest, manifest_len, transfer }).await.unwrap();
    Hostile { connection, send, recv, _endpoint: endpoint }
}

impl Hostile {
    async fn stream(&self, bytes: &[u8]) {
        let mut stream = self.connection.open_uni().await.unwrap();
        // The receiver may close while this is under way.
        let _ = stream.write_all(bytes).await;
        let _ = stream.finish();
    }

    pub(super) async fn answer(&mut self) -> Answer {
        wire::receive(&mut self.recv, MAX_MESSAGE).await.unwrap()
    }

    /// How the receiver closed the connection.
    async fn refused(&self) -> Failure {
        let reason = tokio::time::timeout(PATIENCE, self.connection.closed()).await.expect("closed");
        connection_failure(&reason)
    }
}

pub(super) fn raw(entries: &[Entry]) -> Vec<u8> {
    entries.iter().flat_map(|entry| postcard::to_stdvec(entry).unwrap()).collect()
}

pub(super) fn file(path: &[u8], size: u64) -> Entry {
    Entry { path: path.to_vec(), what: What::File { size, mode: 0o644, mtime: NOW } }
}

fn dir(path: &[u8]) -> Entry {
    Entry { path: path.to_vec(), what: What::Dir { mode: 0o755, mtime: NOW } }
}

fn link(path: &[u8], target: &[u8]) -> Entry {
    Entry { path: path.to_vec(), what: What::Link { target: target.to_vec() } }
}

pub(super) async fn offer(ticket: &Ticket, manifest: &[u8]) -> Hostile {
    let mut hostile = connect(ticket, manifest).await;
    assert!(matches!(hostile.answer().await, Answer::SendManifest));
    for piece in manifest.chunks(protocol::BATCH) {
        hostile.stream(piece).await;
    }
    hostile
}

/// After all that was done to it, the receiver takes an honest transfer.
async fn still_works(setup: Setup) {
    let whole = b"hello".to_vec();
    let mut sender = offer(&setup.ticket, &raw(&[file(b"fine", 5)])).await;
    assert!(matches!(sender.answer().await, Answer::Have { bytes: 0, .. }));
    let record = Record::Block { file: 0, block: 0, hash: blocks::hash(5, 0, &whole) };
    sender.stream(&[&record.encode()[..], &whole].concat()).await;
    while !matches!(sender.answer().await, Answer::Complete { .. }) {}
    protocol::close_done(&sender.connection);
    tokio::time::timeout(PATIENCE, setup.receiver).await.unwrap().unwrap().unwrap();
    let to = setup.dir.path().join("to");
    assert_eq!(std::fs::read(to.join("fine")).unwrap(), whole);
    assert_eq!(count(&to), 1);
    assert_eq!(count(setup.dir.path()), 1, "nothing was written beside it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_let_go_hears_of_the_completion_later() {
    let setup = setup().await;
    let manifest = raw(&[file(b"fine", 5)]);
    let mut sender = offer(&setup.ticket, &manifest).await;
    assert!(matches!(sender.answer().await, Answer::Have { bytes: 0, .. }));
    let record = Record::Block { file: 0, block: 0, hash: blocks::hash(5, 0, b"hello") };
    sender.stream(&[&record.encode()[..], b"hello"].concat()).await;
    while !matches!(sender.answer().await, Answer::Complete { .. }) {}
    drop(sender);
    let mut sender = connect(&setup.ticket, &manifest).await;
    assert!(matches!(sender.answer().await, Answer::Have { bytes: 5, .. }));
    assert!(matches!(sender.answer().await, Answer::Complete { .. }));
    protocol::close_done(&sender.connection);
    tokio::time::timeout(PATIENCE, setup.receiver).await.unwrap().unwrap().unwrap();
    assert_eq!(count(&setup.dir.path().join("to")), 1, "nothing else is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lacks_only_names_gets_them_without_a_sender() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to");
    let manifest = raw(&[file(b"fine", 5)]);
    // As after a kill of both sides between the last block and the first name.
    let staging = Staging::open(&to).unwrap();
    let holder = Holder { sender: SenderId(ME.hash()), transfer: transfer(&manifest) };
    let admitted = Admitted::bind(&staging, holder, &manifest, RULES).unwrap();
    let mut store = Store::new(staging, admitted);
    store.put_block(0, 0, blocks::hash(5, 0, b"hello"), b"hello").unwrap();
    store.seal(&RealDisk, RULES).unwrap();
    drop(store);
    assert!(!to.join("fine").exists());

    let setup = start(dir, RULES).await;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !to.join("fine").exists() {
        assert!(tokio::time::Instant::now() < deadline, "nobody gives it its name");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(std::fs::read(to.join("fine")).unwrap(), b"hello");
    // The sender may still come and hear of it; that ends the wait.
    let mut sender = connect(&setup.ticket, &manifest).await;
    assert!(matches!(sender.answer().await, Answer::Have { bytes: 5, .. }));
    assert!(matches!(sender.answer().await, Answer::Complete { .. }));
    protocol::close_done(&sender.connection);
    tokio::time::timeout(PATIENCE, setup.receiver).await.unwrap().unwrap().unwrap();
    assert_eq!(count(&to), 1, "nothing else is left");
}

const SHORT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_is_connected_and_sends_nothing_is_given_up() {
    let manifest = raw(&[file(b"fine", 5)]);
    // With the list and without.
    for offered in [true, false] {
        let setup = start(tempfile::tempdir().unwrap(), Rules { patience: SHORT, ..RULES }).await;
        let mut sender = connect(&setup.ticket, &manifest).await;
        assert!(matches!(sender.answer().await, Answer::SendManifest));
        if offered {
            sender.stream(&manifest).await;
            assert!(matches!(sender.answer().await, Answer::Have { bytes: 0, .. }));
        }
        let failure = sender.refused().await;
        assert_eq!(failure.kind, Kind::Stalled, "{failure}");
        if offered {
            let failure = tokio::time::timeout(PATIENCE, setup.receiver).await.unwrap().unwrap().unwrap_err();
            assert_eq!(failure.kind, Kind::Stalled, "{failure}");
        } else {
            // Nothing is bound to it: another may come.
            still_works(setup).await;
        }
    }
}

/// What a sender is told in the end. If both sides were held up, noq may take the answer to a late packet, that there is no such connection any
/// more, for the reason why it ended. Then a sender tries again.
async fn told(attempt: impl AsyncFn() -> Failure) -> Failure {
    for _ in 0..9 {
        let failure = attempt().await;
        if failure.kind != Kind::LostPeer {
            return failure;
        }
    }
    attempt().await
}

fn count(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_lead_out_are_refused() {
    let setup = setup().await;
    let outside = setup.dir.path().join("outside").into_os_string().into_encoded_bytes();
    for entries in [
        vec![file(b"../../x", 5)],
        vec![file(b"../x", 5)],
        vec![file(&outside, 5)],
        vec![dir(b"d"), file(b"d/../../x", 5)],
        vec![file(b".pcc-000000000000/journal", 5)],
        // What a later receiver in that folder would take up.
        vec![dir(b"d"), dir(b"d/.pcc-000000000000"), file(b"d/.pcc-000000000000/receiver", 5)],
        vec![dir(b"d"), link(b"d/l", b"../.."), file(b"d/l/x", 5)],
        vec![file(b"a", 5), file(b"a", 5)],
    ] {
        let failure = told(async || offer(&setup.ticket, &raw(&entries)).await.refused().await).await;
        assert_eq!(failure.kind, Kind::BadName, "{failure}");
    }
    still_works(setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_lead_out_are_refused_if_asked_for() {
    let setup = start(tempfile::tempdir().unwrap(), Rules { safe_links: true, ..RULES }).await;
    for target in [&b"/etc/passwd"[..], b"../x", b"x/../../y"] {
        let list = raw(&[dir(b"d"), link(b"d/l", target)]);
        let failure = told(async || offer(&setup.ticket, &list).await.refused().await).await;
        assert_eq!(failure.kind, Kind::BadName, "{failure}");
    }
    still_works(setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manifests_that_are_no_good_are_refused() {
    let setup = setup().await;
    let too_long =
        async || connect_claiming(&setup.ticket, [0; 32], MAX_BYTES as u32 + 1, [0; 32]).await.refused().await;
    // Announces a list, and sends one.
    let sends = async |hash, len, transfer, list: &[u8]| {
        let mut hostile = connect_claiming(&setup.ticket, hash, len, transfer).await;
        assert!(matches!(hostile.answer().await, Answer::SendManifest));
        hostile.stream(list).await;
        hostile.refused().await
    };
    assert_eq!(told(async || offer(&setup.ticket, &[0xff; 300]).await.refused().await).await.kind, Kind::BadName);
    assert_eq!(told(too_long).await.kind, Kind::BadName);
    assert_eq!(told(async || sends([0; 32], 4, [0; 32], &[1, 2, 3, 4]).await).await.kind, Kind::Corrupt);
    assert_eq!(told(async || sends([0; 32], 4, [0; 32], &[1, 2, 3, 4, 5]).await).await.kind, Kind::Corrupt);
    // A list of another transfer than the one that was announced.
    let list = raw(&[file(b"fine", 5)]);
    let hash = *blake3::hash(&list).as_bytes();
    assert_eq!(told(async || sends(hash, list.len() as u32, [7; 32], &list).await).await.kind, Kind::Corrupt);
    still_works(setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_get_little() {
    let setup = setup().await;
    // A wrong proof, garbage in its place, and nothing at all.
    for bytes in [&[40, 0, 0, 0][..], &[255; 4], &[4, 0, 0, 0, 1, 2, 3, 4]] {
        let (endpoint, config) = endpoint::client(Transport::default().config(), &ME, &setup.ticket).unwrap();
        let connecting = endpoint.connect_with(config, setup.ticket.addresses[0], NAME).unwrap();
        let connection = connecting.await.unwrap();
        let (mut send, _recv) = connection.open_bi().await.unwrap();
        send.write_all(bytes).await.unwrap();
        let opened = tokio::time::timeout(Duration::from_millis(100), connection.open_uni()).await;
        assert!(!matches!(opened, Ok(Ok(_))), "no stream for data before the proof");
        tokio::time::timeout(PATIENCE, connection.closed()).await.expect("closed");
    }
    still_works(setup).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_gets_few_connections_without_a_proof() {
    let setup = setup().await;
    let (endpoint, config) = endpoint::client(Transport::default().config(), &ME, &setup.ticket).unwrap();
    let connect = || endpoint.connect_with(config.clone(), setup.ticket.addresses[0], NAME).unwrap();
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(connect().await.unwrap());
    }
    let mut waiting = connect();
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut waiting).await.is_err());
    open.clear();
    // It needs no new attempt once the receiver has heard of it.
    tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
    still_works(setup).await;
}

/// First packets of connections that nobody answers.
async fn first_packets(ticket: &Ticket, count: usize) -> Vec<Vec<u8>> {
    let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (endpoint, config) = endpoint::client(Transport::default().config(), &ME, ticket).unwrap();
    let mut packets = Vec::new();
    while packets.len() < count {
        let _connecting = endpoint.connect_with(config.clone(), silent.local_addr().unwrap(), NAME).unwrap();
        let mut packet = vec![0; 1500];
        let len = silent.recv(&mut packet).await.unwrap();
        packet.truncate(len);
        packets.push(packet);
    }
    packets
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_validated_before_anything_is_kept_of_it() {
    let setup = setup().await;
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for first in first_packets(&setup.ticket, 4).await {
        socket.send_to(&first, setup.ticket.addresses[0]).await.unwrap();
        let mut answer = vec![0; 1500];
        let len = tokio::time::timeout(PATIENCE, socket.recv(&mut answer)).await.expect("an answer").unwrap();
        // A Retry packet of QUIC version 1 (RFC 9000 17.2.5).
        assert_eq!((answer[0] & 0xf0, &answer[1..5]), (0xf0, &[0, 0, 0, 1][..]));
        assert!(len < first.len() / 4, "{len} bytes for {}", first.len());
    }
    still_works(setup).await;
}

/// Handshakes a second that the receiver has to bear.
const FLOOD: u32 = 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_strangers_keeps_nobody_out() {
    let setup = setup().await;
    let address = setup.ticket.addresses[0];
    // They know all but the secret, and come from where the sender comes from.
    let stranger = Ticket { secret: [0; 32], ..setup.ticket.clone() };
    let packets = first_packets(&stranger, 50).await;
    let flood = tokio::spawn(async move {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut tick = tokio::time::interval(Duration::from_secs(1) / (FLOOD / 10));
        for packet in packets.iter().cycle() {
            if fastrand::u8(..10) == 0 {
                tick.tick().await;
            }
            let _ = socket.send_to(packet, address).await;
        }
    });
    // And some finish their handshakes, if they may, and stay.
    let stay = tokio::spawn(async move {
        let (endpoint, config) = endpoint::client(Transport::default().config(), &ME, &stranger).unwrap();
        let mut open = Vec::new();
        loop {
            if let Ok(connection) = endpoint.connect_with(config.clone(), address, NAME).unwrap().await {
                open.push(connection);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    tokio::time::sleep(Duration::from_secs(2)).await;
    let began = tokio::time::Instant::now();
    tokio::time::timeout(PATIENCE, still_works(setup)).await.expect("a rightful sender gets in");
    println!("in after {:.1} s", began.elapsed().as_secs_f64());
    flood.abort();
    stay.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_version_is_named() {
    let setup = setup().await;
    let crypto = identity::client_crypto(&ME, setup.ticket.certificate, b"pcc-transfer/1").unwrap();
    let (endpoint, _) = endpoint::client(Transport::default().config(), &ME, &setup.ticket).unwrap();
    let greeting = Greeting::new(&setup.ticket.secret);
    let mut config = noq::ClientConfig::new(Arc::new(crypto));
    config.initial_dst_cid_provider(Arc::new(move || greeting.make()));
    let connecting = endpoint.connect_with(config, setup.ticket.addresses[0], NAME).unwrap();
    let failure = connection_failure(&connecting.await.unwrap_err());
    assert_eq!(failure.kind, Kind::Version, "{failure}");
    still_works(setup).await;
}

async fn refused_stream(setup: &Setup, manifest: &[u8], bytes: &[u8]) -> Failure {
    let mut hostile = connect(&setup.ticket, manifest).await;
    loop {
        match hostile.answer().await {
            Answer::SendManifest => hostile.stream(manifest).await,
            Answer::Have { bytes: 0, .. } => break,
            other => panic!("{other:?}"),
        }
    }
    hostile.stream(bytes).await;
    let failure = hostile.refused().await;
    drop(hostile.send);
    failure
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_that_do_not_match_are_refused() {
    let setup = setup().await;
    let whole = vec![7; BLOCK as usize + 5];
    let size = whole.len() as u64;
    let manifest = raw(&[file(b"two", size)]);
    let first = &whole[..BLOCK as usize];
    let hash = blocks::hash(size, 0, first);
    let block = |file, block, data: &[u8]| [&Record::Block { file, block, hash }.encode()[..], data].concat();
    let mut damaged = first.to_vec();
    damaged[99] ^= 1;
    for bytes in [
        block(0, 0, &damaged),
        block(0, 1, &first[..5]),
        block(0, 2, first),
        block(7, 0, first),
        block(0, 0, &first[..100]),
        block(0, 0, first)[..20].to_vec(),
        Record::Root { file: 7, hash }.encode().to_vec(),
        vec![0xff; 40],
    ] {
        let failure = told(async || refused_stream(&setup, &manifest, &bytes).await).await;
        assert_eq!(failure.kind, Kind::Corrupt, "{failure}");
    }
    // Bound to that manifest now, it is still there for it; nothing has a final name.
    assert_eq!(count(&setup.dir.path().join("to")), 1);
    let mut honest = connect(&setup.ticket, &manifest).await;
    assert!(matches!(honest.answer().await, Answer::Have { bytes: 0, .. }));
    honest.stream(&block(0, 0, first)).await;
    let rest = &whole[BLOCK as usize..];
    let record = Record::Block { file: 0, block: 1, hash: blocks::hash(size, 1, rest) };
    honest.stream(&[&record.encode()[..], rest].concat()).await;
    honest.stream(&Record::Root { file: 0, hash: *blake3::hash(&whole).as_bytes() }.encode()).await;
    while !matches!(honest.answer().await, Answer::Complete { .. }) {}
    protocol::close_done(&honest.connection);
    tokio::time::timeout(PATIENCE, setup.receiver).await.unwrap().unwrap().unwrap();
    assert_eq!(std::fs::read(setup.dir.path().join("to/two")).unwrap(), whole);
}
