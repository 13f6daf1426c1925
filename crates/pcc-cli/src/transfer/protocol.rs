//! What the two sides say to each other.
//!
//! One bidirectional stream, opened by the sender, carries small messages, each behind its length. Everything large goes
//! over unidirectional streams of the sender: first the manifest in pieces, then the blocks. A stream carries whole records
//! of about [`BATCH`] bytes together: one large block, or many small ones. Streams this short neither wait for each other
//! after a loss nor gather many gaps.

use super::failure::{Failure, Kind, Result, printable};
use noq::{ConnectionError, ReadExactError, RecvStream, SendStream, VarInt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A stream is closed when it carries this much.
pub const BATCH: usize = super::blocks::BLOCK as usize;
/// The longest message before the sender has proved the secret.
pub const MAX_HELLO: usize = 256;
/// The longest message after that: a list of runs of blocks.
pub const MAX_MESSAGE: usize = 16 << 20;
/// Data streams that may be open at once; together with the window of the connection it bounds memory.
pub const MAX_STREAMS: u32 = 512;
/// No stream needs more; small enough that its gaps can never exceed what noq tolerates.
pub const STREAM_WINDOW: u32 = 1 << 20;
/// Both sides speak up at least this often.
pub const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// The first message of the sender.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Proof that it knows the secret of the ticket.
    pub proof: [u8; 32],
    /// BLAKE3 of the manifest.
    pub manifest: [u8; 32],
    /// Its length in bytes.
    pub manifest_len: u32,
    /// What is the same in every list of this transfer, see [`super::manifest::Manifest::transfer`].
    pub transfer: [u8; 32],
}

/// The messages of the receiver.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The proof is good, and the user is asked for the code that the sender shows.
    Confirm,
    /// The proof is good and the manifest is not known yet.
    SendManifest,
    /// Still hashing what an earlier connection left behind.
    Checking {
        /// Bytes checked.
        bytes: u64,
        /// Bytes to check.
        total: u64,
    },
    /// What is there already, as runs (first, length): blocks in the sequence of all blocks, and finished entries.
    Have {
        /// Bytes of the blocks.
        bytes: u64,
        /// Ranges of blocks that the receiver has.
        blocks: Vec<(u64, u64)>,
        /// Ranges of entries that the receiver has completely.
        files: Vec<(u64, u64)>,
    },
    /// Bytes verified and stored so far.
    Stored(u64),
    /// All is verified and has its final name.
    Complete {
        /// Ranges of entries that were given up.
        without: Vec<(u64, u64)>,
    },
}

/// The head of a record on a data stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A block follows; its length is known from the manifest.
    Block {
        /// The index of the file in the manifest.
        file: u32,
        /// The index of the block in the file.
        block: u32,
        /// The hash that the block must have.
        hash: [u8; 32],
    },
    /// A block in which there is nothing but a hole; nothing follows.
    Hole {
        /// The index of the file in the manifest.
        file: u32,
        /// The index of the block in the file.
        block: u32,
        /// The hash of so many zeros at this place.
        hash: [u8; 32],
    },
    /// The BLAKE3 hash of a file of several blocks; nothing follows.
    Root {
        /// The index of the file in the manifest.
        file: u32,
        /// The hash.
        hash: [u8; 32],
    },
    /// The sender gives this file up; nothing follows.
    Skip {
        /// The index of the file in the manifest.
        file: u32,
    },
}

/// The length of an encoded [`Record`].
pub const RECORD_LEN: usize = 40;
const ROOT: u32 = u32::MAX;
const SKIP: u32 = u32::MAX - 1;
/// No file has so many blocks.
const HOLE: u32 = 1 << 31;
/// The reason in a close that confirms the completion.
const DONE: &[u8] = b"done";

impl Record {
    /// The bytes on the wire and in the journal.
    pub fn encode(&self) -> [u8; RECORD_LEN] {
        let (file, block, hash) = match self {
            Record::Block { file, block, hash } => (file, *block, hash),
            Record::Hole { file, block, hash } => (file, block | HOLE, hash),
            Record::Root { file, hash } => (file, ROOT, hash),
            Record::Skip { file } => (file, SKIP, &[0; 32]),
        };
        let mut bytes = [0; RECORD_LEN];
        bytes[..4].copy_from_slice(&file.to_le_bytes());
        bytes[4..8].copy_from_slice(&block.to_le_bytes());
        bytes[8..].copy_from_slice(hash);
        bytes
    }

    /// The record with these bytes. It may still name what does not exist.
    pub fn decode(bytes: &[u8; RECORD_LEN]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut hash = [0; 32];
        hash.copy_from_slice(&bytes[8..]);
        match word(4) {
            ROOT => Record::Root { file: word(0), hash },
            SKIP => Record::Skip { file: word(0) },
            block if block & HOLE != 0 => Record::Hole { file: word(0), block: block & !HOLE, hash },
            block => Record::Block { file: word(0), block, hash },
        }
    }
}

/// Sends one message.
pub async fn send<T: Serialize>(stream: &mut SendStream, message: &T) -> Result<()> {
    let body = postcard::to_stdvec(message).map_err(|e| Failure::new(Kind::Other, format!("cannot encode: {e}")))?;
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend_from_slice(&(body.len() as u32).to_le_bytes());
    frame.extend_from_slice(&body);
    stream.write_chunk(frame.into()).await.map_err(|e| match e {
        noq::WriteError::ConnectionLost(e) => connection_failure(&e),
        other => Failure::new(Kind::Other, other),
    })
}

/// Receives one message that is at most `limit` bytes long.
pub async fn receive<T: DeserializeOwned>(stream: &mut RecvStream, limit: usize) -> Result<T> {
    let broken = |what: &str| Failure::new(Kind::Other, format!("the other side sent {what}"));
    let failed = |e| match e {
        ReadExactError::ReadError(noq::ReadError::ConnectionLost(e)) => connection_failure(&e),
        _ => broken("a message that ends early"),
    };
    let mut len = [0; 4];
    stream.read_exact(&mut len).await.map_err(failed)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > limit {
        return Err(broken("too long a message"));
    }
    let mut body = vec![0; len];
    stream.read_exact(&mut body).await.map_err(failed)?;
    postcard::from_bytes(&body).map_err(|_| broken("a message that makes no sense"))
}

/// Closes the connection and tells the other side why.
pub fn close(connection: &noq::Connection, failure: &Failure) {
    connection.close(VarInt::from_u32(failure.kind.code().into()), failure.message.as_bytes());
}

/// Closes the connection because all is done.
pub fn close_done(connection: &noq::Connection) {
    connection.close(VarInt::from_u32(0), DONE);
}

/// Whether the other side closed the connection because all is done.
pub fn is_done(error: &ConnectionError) -> bool {
    // Without the word, the other side merely let go of the connection.
    matches!(error, ConnectionError::ApplicationClosed(close)
        if close.error_code == VarInt::from_u32(0) && close.reason[..] == *DONE)
}

/// Why the connection ended, as a failure of this side.
pub fn connection_failure(error: &ConnectionError) -> Failure {
    // TLS alerts in QUIC's range for them, RFC 9001 4.8.
    const NO_APPLICATION_PROTOCOL: u64 = 0x100 + 120;
    // RFC 9000 20.1: how the door turns away whoever does not hold the ticket.
    const CONNECTION_REFUSED: u64 = 2;
    let code = match error {
        ConnectionError::TransportError(e) => u64::from(e.code),
        ConnectionError::ConnectionClosed(e) => u64::from(e.error_code),
        _ => 0,
    };
    let version = "the other side runs another version of pcc; use the same on both sides";
    match error {
        _ if code == NO_APPLICATION_PROTOCOL => Failure::new(Kind::Version, version),
        ConnectionError::ConnectionClosed(_) if code == CONNECTION_REFUSED => Failure::new(
            Kind::WrongTicket,
            "the receiver at this address does not know the ticket's secret; use the ticket that pcc recv printed last, \
             and the same version of pcc",
        ),
        ConnectionError::VersionMismatch => Failure::new(Kind::Version, version),
        ConnectionError::TransportError(e) if (0x100..0x200).contains(&code) => Failure::new(
            Kind::WrongTicket,
            format!("the receiver at this address is not the one that made the ticket ({e})"),
        ),
        // An end that closes on purpose gives a reason.
        ConnectionError::ApplicationClosed(close) if close.error_code == VarInt::from_u32(0) => {
            Failure::new(Kind::LostPeer, "the other side ended the connection")
        }
        ConnectionError::ApplicationClosed(close) => {
            Failure::new(Kind::from_code(close.error_code.into_inner()), printable(&close.reason))
        }
        ConnectionError::TimedOut => Failure::new(Kind::LostPeer, "the other side does not answer"),
        ConnectionError::Reset => Failure::new(Kind::LostPeer, "the other side was restarted"),
        ConnectionError::LocallyClosed => Failure::new(Kind::LostPeer, "the connection was closed"),
        other => Failure::new(Kind::LostPeer, format!("the connection failed: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip() {
        let block = Record::Block { file: 3, block: 9, hash: [5; 32] };
        let hole = Record::Hole { file: 6, block: 7, hash: [8; 32] };
        for record in [block, hole, Record::Root { file: 4, hash: [6; 32] }, Record::Skip { file: 5 }] {
            assert_eq!(Record::decode(&record.encode()), record);
        }
    }

    #[test]
    fn a_connection_that_was_let_go_is_lost() {
        let closed = |reason: &'static [u8]| {
            let reason = bytes::Bytes::from_static(reason);
            ConnectionError::ApplicationClosed(noq::ApplicationClose { error_code: VarInt::from_u32(0), reason })
        };
        assert!(is_done(&closed(b"done")));
        assert!(!is_done(&closed(b"")));
        assert_eq!(connection_failure(&closed(b"")).kind, Kind::LostPeer);
    }

    #[test]
    fn hello_fits_its_limit() {
        let hello = Hello { proof: [255; 32], manifest: [255; 32], manifest_len: u32::MAX, transfer: [255; 32] };
        assert!(postcard::to_stdvec(&hello).unwrap().len() <= MAX_HELLO);
    }
}
