//! Real QUIC in virtual time: two noq endpoints and a path between them, in one thread and without a clock.
//!
//! What is sent is what the real library sends, packet by packet, and a run is the same each time: every random
//! choice comes from [`Bulk::seed`], certificates and connection ids have fixed sizes, and the only thing that
//! differs, the keys, shows in no length and no time. (noq's BBRv3 is the exception: it draws from the system.)

mod bulk;
mod host;
mod report;
mod run;

pub use bulk::Bulk;
pub use report::{BulkProgress, BulkReport, Departure};
