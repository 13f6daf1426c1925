//! A packet on a path.

use super::ecn::Codepoint;
use pcc::Time;

/// Bytes of a full packet: an opportunity of a trace, the quantum of fair queueing, and the backlog that CoDel leaves alone.
pub const MTU: u64 = 1500;

/// A packet on a path.
#[derive(Clone, Debug)]
pub(super) struct Packet<P> {
    pub(super) payload: P,
    /// Its size on the wire in bytes, with all headers.
    pub(super) bytes: u64,
    pub(super) flow: u32,
    pub(super) ecn: Codepoint,
    /// When it came to the bottleneck.
    pub(super) entered: Time,
    /// When its service began; before that, when it entered.
    pub(super) began: Time,
}
