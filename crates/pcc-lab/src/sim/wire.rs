//! Sizes on the wire.

/// Bytes of a full packet on the wire, unless said otherwise.
pub const PACKET_BYTES: u32 = 1500;
/// Bytes of headers in each packet, as of TCP over IPv4 without options.
pub const HEADER_BYTES: u32 = 40;
/// Bytes of an acknowledgement on the wire.
pub const ACK_BYTES: u64 = 64;
