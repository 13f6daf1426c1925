//! UDP through the proxy. A *flow* is what goes between a program and one target: a socket at the far side, as long as
//! something moves. Payloads are datagrams on the way as well (RFC 9221), so that they get lost and overtake each other as they
//! would without the proxy. The top of [`protocol`](super::protocol) says how.

pub mod association;
mod flows;
pub mod forward;
pub mod serve;
#[cfg(test)]
mod tests;

pub use flows::Near;

use std::time::Duration;

/// A flow ends when nothing has moved for this long; a NAT keeps its mapping for at least as long (RFC 4787, 4.3).
pub const IDLE: Duration = Duration::from_secs(120);
/// Flows of a connection that may be open at once.
pub const MAX_FLOWS: u32 = 1024;
