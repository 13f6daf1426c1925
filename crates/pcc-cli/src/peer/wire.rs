//! Messages between the two sides, each behind its length, and how a connection ends.

use crate::failure::{Failure, Kind, Result, printable};
use noq::{ConnectionError, ReadExactError, RecvStream, SendStream, VarInt};
use serde::Serialize;
use serde::de::DeserializeOwned;

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
    let version = "the other side runs another version or another command of pcc; use the same version on both sides";
    match error {
        _ if code == NO_APPLICATION_PROTOCOL => Failure::new(Kind::Version, version),
        ConnectionError::ConnectionClosed(_) if code == CONNECTION_REFUSED => Failure::new(
            Kind::WrongTicket,
            "the other side at this address does not know the ticket's secret; use the ticket that it printed last, and the \
             same version of pcc",
        ),
        ConnectionError::VersionMismatch => Failure::new(Kind::Version, version),
        ConnectionError::TransportError(e) if (0x100..0x200).contains(&code) => Failure::new(
            Kind::WrongTicket,
            format!("who answers at this address is not the one that made the ticket ({e})"),
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
    fn a_connection_that_was_let_go_is_lost() {
        let close = noq::ApplicationClose { error_code: VarInt::from_u32(0), reason: bytes::Bytes::new() };
        assert_eq!(connection_failure(&ConnectionError::ApplicationClosed(close)).kind, Kind::LostPeer);
    }
}
