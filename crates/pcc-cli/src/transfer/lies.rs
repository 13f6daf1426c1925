//! A hostile receiver that lies about what arrived: its packets are changed before they are encrypted, so that a real sender
//! gets real packets of QUIC with acknowledgements that are made up.

use super::endpoint::open_for_data;
use super::hostile_receiver::{Hostile, nothing, send_for};
use super::protocol::ALPN;
use crate::failure::{Failure, Kind};
use crate::peer::endpoint;
use crate::peer::identity::Identity;
use crate::peer::ticket::Ticket;
use crate::peer::wire;
use noq::crypto::{self, Keys, PacketKey, ServerConfig, Session};
use noq::{ConnectionError, ConnectionId, PathId, Side, TransportConfig};
use noq_proto::TransportError;
use noq_proto::transport_parameters::TransportParameters;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What is said about packets (RFC 9000 19.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// Packets that were never sent have arrived.
    Unsent,
    /// All packets up to the last one have arrived.
    All,
    /// Of all packets only the last one has arrived.
    Last,
    /// Nothing has arrived.
    Nothing,
    /// All packets were marked on their way, more than there are.
    Marked,
}

/// A lie, and how often it was told.
#[derive(Clone)]
struct Liar(Lie, Arc<AtomicU64>);

/// A variable-length integer (RFC 9000 16), and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = 1 << (bytes.first()? >> 6);
    let (this, rest) = bytes.split_at_checked(len)?;
    let value = this.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & (u64::MAX >> (66 - 8 * len)), rest))
}

fn put(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        _ => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
    }
}

impl Liar {
    /// Changes the first acknowledgement among these frames; it stays as long as it is.
    fn apply(&self, frames: &mut [u8]) -> Option<()> {
        // PADDING, PING and HANDSHAKE_DONE may come before it.
        let start = frames.iter().position(|kind| ![0x00, 0x01, 0x1e].contains(kind))?;
        let (kind, body) = frames[start..].split_first()?;
        if ![0x02, 0x03].contains(kind) {
            return None;
        }
        let (largest, rest) = varint(body)?;
        let (delay, rest) = varint(rest)?;
        let (count, rest) = varint(rest)?;
        let (_, mut rest) = varint(rest)?;
        for _ in 0..2 * count {
            rest = varint(rest)?.1;
        }
        if *kind == 0x03 {
            for _ in 0..3 {
                rest = varint(rest)?.1;
            }
        }
        let len = frames.len() - start - rest.len();
        let mut lie = Vec::new();
        let (largest, first) = match self.0 {
            Lie::Unsent => (largest + 1000, 0),
            Lie::All => (largest, largest),
            Lie::Last | Lie::Marked => (largest, 0),
            Lie::Nothing => (0, 0),
        };
        if self.0 != Lie::Nothing {
            lie.push(if self.0 == Lie::Marked { 0x03 } else { 0x02 });
            [largest, delay, 0, first].into_iter().for_each(|value| put(&mut lie, value));
            if self.0 == Lie::Marked {
                [0, 0, 60].into_iter().for_each(|value| put(&mut lie, value));
            }
        }
        if lie.len() > len {
            return None;
        }
        // The rest is PADDING.
        lie.resize(len, 0);
        frames[start..start + len].copy_from_slice(&lie);
        self.1.fetch_add(1, Ordering::Relaxed);
        Some(())
    }
}

/// The keys of the liar's own packets.
struct LyingKey(Box<dyn PacketKey>, Liar);

impl PacketKey for LyingKey {
    fn encrypt(&self, path: PathId, packet: u64, buffer: &mut [u8], header: usize) {
        let end = buffer.len() - self.0.tag_len();
        let _ = self.1.apply(&mut buffer[header..end]);
        self.0.encrypt(path, packet, buffer, header);
    }

    fn decrypt(
        &self,
        path: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut bytes::BytesMut,
    ) -> Result<(), crypto::CryptoError> {
        self.0.decrypt(path, packet, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

/// A TLS session whose 1-RTT keys lie.
struct LyingSession {
    honest: Box<dyn Session>,
    keys: usize,
    liar: Liar,
}

impl LyingSession {
    fn lying(&self, key: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
        Box::new(LyingKey(key, self.liar.clone()))
    }
}

impl Session for LyingSession {
    fn initial_keys(&self, id: ConnectionId, side: Side) -> Keys {
        self.honest.initial_keys(id, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.honest.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.honest.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn PacketKey>)> {
        self.honest.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.honest.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.honest.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.honest.read_handshake(bytes)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.honest.transport_parameters()
    }

    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        let mut keys = self.honest.write_handshake(bytes)?;
        self.keys += 1;
        // The first are those of the handshake.
        if self.keys == 2 {
            keys.packet.local = self.lying(keys.packet.local);
        }
        Some(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<crypto::KeyPair<Box<dyn PacketKey>>> {
        let mut keys = self.honest.next_1rtt_keys()?;
        keys.local = self.lying(keys.local);
        Some(keys)
    }

    fn is_valid_retry(&self, id: ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.honest.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), crypto::ExportKeyingMaterialError> {
        self.honest.export_keying_material(output, label, context)
    }
}

struct LyingConfig(Arc<dyn ServerConfig>, Liar);

impl ServerConfig for LyingConfig {
    fn initial_keys(&self, version: u32, id: ConnectionId) -> Result<Keys, crypto::UnsupportedVersion> {
        self.0.initial_keys(version, id)
    }

    fn retry_tag(&self, version: u32, id: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, id, packet)
    }

    fn start_session(&self, version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        Box::new(LyingSession { honest: self.0.start_session(version, parameters), keys: 0, liar: self.1.clone() })
    }
}

/// A receiver that lies like this.
fn listen(liar: &Liar) -> Hostile {
    let identity = Identity::generate().unwrap();
    let socket = endpoint::bind(Some("127.0.0.1:0".parse().unwrap())).unwrap();
    let addresses = vec![socket.local_addr().unwrap()];
    let ticket = Ticket { certificate: identity.credentials.hash(), secret: identity.secret, addresses };
    let honest = Arc::new(identity.server_crypto(ALPN).unwrap());
    let config = noq::ServerConfig::with_crypto(Arc::new(LyingConfig(honest, liar.clone())));
    let config = endpoint::with_transport(config, TransportConfig::default());
    Hostile { endpoint: endpoint::server(&identity, config, socket).unwrap(), ticket }
}

/// What became of a sender of a large file.
struct Told {
    failure: Failure,
    /// How its connection ended.
    closed: ConnectionError,
    lies: u64,
    /// What it had sent by then, in bytes.
    bytes: u64,
}

/// Longer than any test here lasts.
const PATIENCE: Duration = Duration::from_secs(60);
/// After so many lies it is enough; by then a sender that believed them would long be done for.
const LIES: u64 = 1000;

/// Takes what comes of a large file, and lies about it; the sender waits this long for something to move.
async fn tell(lie: Lie, patience: Duration) -> Told {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, vec![7; 60 << 20]).unwrap();
    let liar = Liar(lie, Arc::default());
    let hostile = listen(&liar);
    let ticket = hostile.ticket.clone();
    let told = tokio::spawn(take(hostile, liar.1.clone()));
    let failure = send_for(patience, &file, &ticket).await.expect_err("nothing of this arrived");
    let (closed, bytes) = timeout(PATIENCE, told).await.expect("an end").unwrap();
    Told { failure, closed, lies: liar.1.load(Ordering::Relaxed), bytes }
}

/// How the connection ended, and the bytes that came.
async fn take(hostile: Hostile, lies: Arc<AtomicU64>) -> (ConnectionError, u64) {
    let incoming = timeout(PATIENCE, hostile.endpoint.accept()).await.expect("a sender").expect("open");
    let endpoint = hostile.endpoint;
    // A liar that is caught gets no second chance.
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            incoming.refuse();
        }
    });
    let connection = match incoming.await {
        Ok(connection) => connection,
        Err(closed) => return (closed, 0),
    };
    // It may be caught before the sender has said a word.
    let mut control = connection.accept_bi().await;
    open_for_data(&connection);
    if let Ok((send, _)) = &mut control {
        let _ = wire::send(send, &nothing()).await;
    }
    let reader = connection.clone();
    let reading = tokio::spawn(async move {
        while let Ok(mut stream) = reader.accept_uni().await {
            tokio::spawn(async move { while let Ok(Some(_)) = stream.read_chunk(usize::MAX).await {} });
        }
    });
    while connection.close_reason().is_none() && lies.load(Ordering::Relaxed) < LIES {
        sleep(Duration::from_millis(5)).await;
    }
    let closed = connection.close_reason().unwrap_or_else(|| {
        wire::close(&connection, &Failure::new(Kind::Corrupt, "that is enough"));
        ConnectionError::LocallyClosed
    });
    reading.abort();
    (closed, connection.stats().udp_rx.bytes)
}

/// Whether the sender ended the connection because what it was told can't be (RFC 9000 20.1: PROTOCOL_VIOLATION).
fn is_caught(told: &Told) -> bool {
    matches!(&told.closed, ConnectionError::ConnectionClosed(close) if u64::from(close.error_code) == 0x0a)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_acknowledges_what_was_never_sent_is_caught() {
    for lie in [Lie::Unsent, Lie::All] {
        let told = tell(lie, PATIENCE / 6).await;
        println!("{lie:?}: {} lies, {} bytes, {}", told.lies, told.bytes, told.closed);
        assert!(told.lies > 0 && is_caught(&told), "{lie:?}: {}", told.closed);
        assert!(told.bytes < 1_000_000, "{} bytes before it was", told.bytes);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_acknowledges_nothing_gets_little() {
    let told = tell(Lie::Nothing, Duration::from_secs(1)).await;
    println!("{} lies, {} bytes, {}", told.lies, told.bytes, told.closed);
    assert!(told.lies > 0);
    assert_eq!(told.failure.kind, Kind::Stalled, "{}", told.failure);
    assert!(told.bytes < 100_000, "{} bytes", told.bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_claims_losses_or_marks_harms_itself_only() {
    for lie in [Lie::Last, Lie::Marked] {
        let told = tell(lie, PATIENCE / 2).await;
        println!("{lie:?}: {} lies, {} bytes, {}", told.lies, told.bytes, told.closed);
        assert!(told.lies >= LIES && told.closed == ConnectionError::LocallyClosed, "{lie:?}: {}", told.closed);
        assert_eq!(told.failure.kind, Kind::Corrupt, "{lie:?}: it hears why");
        // A few packets for each acknowledgement, and what is kept to be sent again is part of them.
        assert!(told.bytes < 20_000 * told.lies, "{lie:?}: {} bytes", told.bytes);
    }
}
