//! What noq and h3 call by different names.

use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming, StreamId};
use noq::{ConnectionError, VarInt};
use std::sync::Arc;

/// A code of HTTP/3 as noq has it.
pub(super) fn var_int(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

/// The ID of a stream as h3 has it.
pub(super) fn id_of(id: noq::StreamId) -> StreamId {
    // Both know the same IDs, those that QUIC has: up to 2^62 (RFC 9000 2.1).
    StreamId::try_from(VarInt::from(id).into_inner()).expect("an ID of QUIC")
}

/// How a connection ended.
pub(super) fn ended(error: &ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other.clone())),
    }
}

/// What the end of the connection is for a stream.
pub(super) fn lost(error: &ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: ended(error) }
}
