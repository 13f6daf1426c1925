//! The manifest on its way to the receiver.

use super::manifest;
use super::protocol::{Answer, BATCH, Hello};
use super::stall::nothing_came;
use crate::failure::{Failure, Kind, Result};
use crate::peer::wire::{self, connection_failure};
use noq::{Connection, SendStream};
use std::time::Duration;
use tokio::time::timeout;

/// A shorter pause is none.
const SHORTEST: Duration = Duration::from_secs(1);

/// Asks for the manifest that the sender has announced, and takes it.
pub async fn receive(
    connection: &Connection,
    answers: &mut SendStream,
    hello: &Hello,
    patience: Duration,
) -> Result<Vec<u8>> {
    let len = hello.manifest_len as usize;
    if len > manifest::MAX_BYTES {
        return Err(Failure::new(Kind::BadName, "the list of files is too long; send fewer at a time"));
    }
    wire::send(answers, &Answer::SendManifest).await?;
    // Grows with what really comes.
    let mut encoded = Vec::new();
    while encoded.len() < len {
        let piece = timeout(patience.max(SHORTEST), receive_piece(connection)).await;
        let piece = piece.unwrap_or_else(|_| Err(nothing_came(patience)))?;
        if piece.is_empty() {
            return Err(Failure::new(Kind::Other, "the list of files was cut"));
        }
        encoded.extend_from_slice(&piece);
    }
    if encoded.len() != len || blake3::hash(&encoded) != hello.manifest {
        return Err(Failure::new(Kind::Corrupt, "the list of files does not match its hash"));
    }
    Ok(encoded)
}

async fn receive_piece(connection: &Connection) -> Result<Vec<u8>> {
    let mut stream = connection.accept_uni().await.map_err(|e| connection_failure(&e))?;
    stream.read_to_end(BATCH).await.map_err(|e| match e {
        noq::ReadToEndError::Read(noq::ReadError::ConnectionLost(e)) => connection_failure(&e),
        _ => Failure::new(Kind::Other, "the list of files was cut"),
    })
}
