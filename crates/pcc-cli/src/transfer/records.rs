//! Records on their way from the streams of a sender to the disk.

use super::blocks;
use super::manifest::Manifest;
use super::protocol::{RECORD_LEN, Record};
use crate::failure::{Failure, Kind, Result};
use noq::{ReadExactError, RecvStream};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A batch that has so many bytes, or so many records, is full.
const FULL: usize = blocks::BLOCK as usize;
const MANY: usize = 1024;

/// What streams hand to the disk.
pub enum Work {
    Block { file: u32, block: u32, hash: [u8; 32], data: Vec<u8> },
    Hole { file: u32, block: u32, hash: [u8; 32] },
    Root { file: u32, hash: [u8; 32] },
    Skip { file: u32 },
    Copy { file: u32, block: u32, hash: [u8; 32] },
    Same { file: u32, hash: [u8; 32] },
}

/// Many small records, which wake the writer once.
struct Batch {
    items: Vec<Work>,
    bytes: usize,
    out: mpsc::Sender<Vec<Work>>,
}

impl Batch {
    fn push(&mut self, item: Work) {
        if let Work::Block { data, .. } = &item {
            self.bytes += data.len();
        }
        self.items.push(item);
    }

    fn is_full(&self) -> bool {
        self.bytes >= FULL || self.items.len() >= MANY
    }

    /// Hands all on; whether it was taken.
    async fn hand_on(&mut self) -> bool {
        self.bytes = 0;
        let items = std::mem::take(&mut self.items);
        items.is_empty() || self.out.send(items).await.is_ok()
    }
}

/// Reads the records of one stream.
pub async fn read_stream(mut stream: RecvStream, manifest: Arc<Manifest>, out: mpsc::Sender<Vec<Work>>) -> Result<()> {
    let mut batch = Batch { items: Vec::new(), bytes: 0, out };
    loop {
        match read_record(&mut stream, &manifest, &mut batch).await {
            Ok(Some(item)) => batch.push(item),
            over => {
                // What came before counts, however the stream ended.
                batch.hand_on().await;
                return over.map(drop);
            }
        }
        if batch.is_full() && !batch.hand_on().await {
            // The writer stopped, and says why.
            return Ok(());
        }
    }
}

/// The next record of a stream; `None` at its end.
async fn read_record(stream: &mut RecvStream, manifest: &Manifest, before: &mut Batch) -> Result<Option<Work>> {
    let broken = |what: &str| Failure::new(Kind::Corrupt, format!("the sender sent {what}"));
    let mut head = [0; RECORD_LEN];
    match stream.read_exact(&mut head).await {
        Ok(()) => {}
        Err(ReadExactError::FinishedEarly(0)) => return Ok(None),
        Err(e) => return read_failure(e),
    }
    Ok(Some(match Record::decode(&head) {
        Record::Hole { file, block, hash } => Work::Hole { file, block, hash },
        Record::Root { file, hash } => Work::Root { file, hash },
        Record::Skip { file } => Work::Skip { file },
        Record::Copy { file, block, hash } => Work::Copy { file, block, hash },
        Record::Same { file, hash } => Work::Same { file, hash },
        Record::Block { file, block, hash } => {
            if manifest.block_id(file, block.into()).is_none() {
                return Err(broken("a block that is not in its list"));
            }
            let len = blocks::length(manifest.entries[file as usize].size(), block.into());
            if before.bytes + len > FULL {
                // No stream makes this side keep more than one full batch.
                before.hand_on().await;
            }
            let mut data = vec![0; len];
            if let Err(e) = stream.read_exact(&mut data).await {
                return read_failure(e);
            }
            Work::Block { file, block, hash, data }
        }
    }))
}

fn read_failure(error: ReadExactError) -> Result<Option<Work>> {
    match error {
        // The task that accepts streams notices too, and reports why.
        ReadExactError::ReadError(noq::ReadError::ConnectionLost(_)) => Ok(None),
        _ => Err(Failure::new(Kind::Corrupt, "the sender sent a stream that ends in the middle of a block")),
    }
}
