//! The path model: what one direction of a network path does to packets. Sans-IO.
//!
//! No clock, no socket, no thread: the driver passes the time in, so that a simulator in virtual time and a relay of real
//! packets run the very same path. A packet goes through one element after the other, of which most do nothing unless
//! asked for:
//!
//! ```text
//! enqueue -> random loss -> policer -> queue -> rate or trace -> delay + jitter, reordering -> aggregation -> stalls -> poll
//! ```
//!
//! - **Random loss** comes first, as dummynet's `plr`: a packet that is lost takes neither a place in the queue nor time of the
//!   bottleneck, and the share of a full bottleneck's capacity that reaches the receiver is all of it. Loss behind the bottleneck
//!   would leave capacity x (1 - loss).
//! - **The policer** drops what exceeds its token bucket and delays nothing.
//! - **The queue** drops what does not fit whole. The packet in service counts, and one that leaves at the same instant has
//!   freed its place. One that marks (RFC 3168) does so only to packets that say that they can be marked.
//! - **The rate** is exact in the long run: the bottleneck runs in virtual time, which the driver's lateness does not touch.
//! - **Jitter** is uniform in `0..=jitter`, added to the propagation delay, and keeps the order of packets: one that drew less
//!   than its predecessor waits for it. Of packets that follow each other much closer than the jitter, most so get delays in
//!   the upper part of the range.
//! - **Reordering** holds some packets back, so that others overtake them; **aggregation** lets packets out in batches.
//! - **Stalls** hold up what comes out: for a while nothing does, then all that was due at once. The bottleneck goes on meanwhile,
//!   as where the host behind it, or an emulator's thread, isn't scheduled.
//! - **The schedule** changes rate, delay and loss on the way.
//!
//! Every random choice comes from the seed, and nothing depends on when or how often the driver polls.

mod aggregation;
mod bottleneck;
mod capacity;
mod config;
mod delay;
mod ecn;
mod loss;
mod packet;
mod path;
mod policer;
mod queue;
mod rate;
mod schedule;
#[cfg(test)]
mod tests;
mod trace;

pub use aggregation::Aggregation;
pub use capacity::Capacity;
pub use config::PathConfig;
pub use delay::Reordering;
pub use ecn::Codepoint;
pub use loss::Loss;
pub use packet::MTU;
pub use path::{Counters, Delivered, Path};
pub use policer::Policer;
pub use queue::{Limit, QueueConfig, QueueKind};
pub use schedule::Change;
pub use trace::{Trace, TraceError};
