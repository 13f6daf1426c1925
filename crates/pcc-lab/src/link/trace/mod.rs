//! Capacity that follows a list of opportunities to send: recorded, or drawn like that of an LTE link.

mod lte;
mod recorded;
mod replay;

pub use recorded::{Trace, TraceError};
pub(super) use replay::Replay;
