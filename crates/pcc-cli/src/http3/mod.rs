//! HTTP/3 (RFC 9114) over noq: what the crate h3 asks of a QUIC connection.

mod connection;
mod convert;
mod guard;
mod recv;
mod send;
#[cfg(test)]
mod tests;

pub use connection::{BidiStream, Connection, Opener};
pub use guard::MAX_FRAME;

/// The name of HTTP/3 in ALPN (RFC 9114 3.1).
pub const ALPN: &[u8] = b"h3";
