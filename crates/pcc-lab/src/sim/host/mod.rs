//! Hosts as they are: threads that run late or not at all for a while, bursts, and acknowledgements that are put together.
//!
//! The default is a perfect host, which costs nothing. All random choices come from the flow's generator, and only what is
//! asked for draws any.

mod ends;
#[cfg(test)]
mod tests;
mod thread;

pub(super) use ends::{Arrival, Hosts};

use super::pacer::Pacing;
use crate::stall::Stalls;
use std::time::Duration;

/// What runs one end of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostThread {
    /// A timer fires late by up to this, uniformly.
    pub slack: Duration,
    /// Times in which it does nothing: what arrives waits, and is taken at once afterwards.
    pub stalls: Option<Stalls>,
    /// Processor time that each packet takes, sent or received; what comes meanwhile waits.
    pub packet_time: Duration,
}

/// The host that sends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderHost {
    /// When packets may leave.
    pub pacing: Pacing,
    /// What runs it.
    pub thread: HostThread,
    /// The initial window, in packets, of controllers that have one; `None` leaves it to them.
    pub initial_window: Option<u32>,
}

/// The host that receives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceiverHost {
    /// What runs it.
    pub thread: HostThread,
    /// What arrives within this time of the first packet is taken together, and gives at most one acknowledgement.
    pub bundle: Duration,
    /// Linux's SACK compression: while a gap is open, after the third duplicate acknowledgement, one for all that arrives in 5 % of
    /// a round trip, at most 1 ms and 44 packets (`tcp_comp_sack_delay_ns`, `tcp_comp_sack_nr`; `__tcp_ack_snd_check`).
    pub sack_compression: bool,
    /// The sender may send only so much beyond what has been read, as in TCP: the window of Linux, which grows with what a round trip brings in order.
    pub receive_window: bool,
    /// The sender isn't told how long an acknowledgement was held back, as in TCP.
    pub hides_delay: bool,
}

impl ReceiverHost {
    fn is_exact(&self) -> bool {
        *self == ReceiverHost::default()
    }
}
