//! What the two sides say to each other.
//!
//! One bidirectional stream, opened by the sender, carries small messages, each behind its length. Everything large goes
//! over unidirectional streams of the sender: first the manifest in pieces, then the blocks. A stream carries whole records
//! of about [`BATCH`] bytes together: one large block, or many small ones. Streams this short neither wait for each other
//! after a loss nor gather many gaps.

use crate::peer::door;
use noq::{ConnectionError, VarInt};
use serde::{Deserialize, Serialize};

/// A stream is closed when it carries this much.
pub const BATCH: usize = super::blocks::BLOCK as usize;
/// Says which protocol, and which version of it, this is.
pub const ALPN: &[u8] = b"pcc-transfer/4";
/// The longest message: a list of runs of blocks.
pub const MAX_MESSAGE: usize = 16 << 20;
/// Data streams that may be open at once; together with the window of the connection it bounds memory.
pub const MAX_STREAMS: u32 = 512;
/// No stream needs more; small enough that its gaps can never exceed what noq tolerates.
pub const STREAM_WINDOW: u32 = 1 << 20;

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

impl door::Hello for Hello {
    fn proof(&self) -> [u8; 32] {
        self.proof
    }
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
    /// What was in its place before and may be the same, if that is to be compared: blocks in the sequence of all blocks,
    /// each after those before, and their hashes.
    There(Vec<(u64, [u8; 32])>),
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
    /// This block is as the one of [`Answer::There`]; nothing follows.
    Copy {
        /// The index of the file in the manifest.
        file: u32,
        /// The index of the block in the file.
        block: u32,
        /// The hash of both.
        hash: [u8; 32],
    },
    /// This whole file is; nothing follows.
    Same {
        /// The index of the file in the manifest.
        file: u32,
        /// The BLAKE3 hash of both.
        hash: [u8; 32],
    },
}

/// The length of an encoded [`Record`].
pub const RECORD_LEN: usize = 40;
const ROOT: u32 = u32::MAX;
const SKIP: u32 = u32::MAX - 1;
const SAME: u32 = u32::MAX - 2;
/// No file has so many blocks.
const HOLE: u32 = 1 << 31;
const COPY: u32 = 1 << 30;
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
            Record::Copy { file, block, hash } => (file, block | COPY, hash),
            Record::Same { file, hash } => (file, SAME, hash),
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
            SAME => Record::Same { file: word(0), hash },
            block if block & HOLE != 0 => Record::Hole { file: word(0), block: block & !HOLE, hash },
            block if block & COPY != 0 => Record::Copy { file: word(0), block: block & !COPY, hash },
            block => Record::Block { file: word(0), block, hash },
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip() {
        let block = Record::Block { file: 3, block: 9, hash: [5; 32] };
        let hole = Record::Hole { file: 6, block: 7, hash: [8; 32] };
        let copy = Record::Copy { file: 8, block: 1 << 28, hash: [9; 32] };
        let same = Record::Same { file: 10, hash: [11; 32] };
        for record in [block, hole, copy, same, Record::Root { file: 4, hash: [6; 32] }, Record::Skip { file: 5 }] {
            assert_eq!(Record::decode(&record.encode()), record);
        }
    }

    #[test]
    fn a_connection_that_was_let_go_is_not_done() {
        let closed = |reason: &'static [u8]| {
            let reason = bytes::Bytes::from_static(reason);
            ConnectionError::ApplicationClosed(noq::ApplicationClose { error_code: VarInt::from_u32(0), reason })
        };
        assert!(is_done(&closed(b"done")));
        assert!(!is_done(&closed(b"")));
    }

    #[test]
    fn hello_fits_its_limit() {
        let hello = Hello { proof: [255; 32], manifest: [255; 32], manifest_len: u32::MAX, transfer: [255; 32] };
        assert!(postcard::to_stdvec(&hello).unwrap().len() <= door::MAX_HELLO);
    }
}
