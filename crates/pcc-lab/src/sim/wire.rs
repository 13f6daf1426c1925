//! What is on the wire.

use crate::link::Codepoint;

/// Bytes of a full packet on the wire, unless said otherwise.
pub const PACKET_BYTES: u32 = 1500;
/// Bytes of headers in each packet, as of TCP over IPv4 without options.
pub const HEADER_BYTES: u32 = 40;
/// Bytes of an acknowledgement on the wire.
pub const ACK_BYTES: u64 = 64;

/// A packet that goes out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub number: u64,
    pub segment: u64,
    pub bytes: u32,
    /// Whether it can be marked, or has been.
    pub ecn: Codepoint,
    /// Whether it is the last one of a burst of several, which Linux says of it (PSH, since 5.4: 051ba67447de).
    pub ends_burst: bool,
}
