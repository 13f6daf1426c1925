//! PCC (performance-oriented congestion control): Allegro (NSDI 2015) and Vivace (NSDI 2018), sans-IO.
//!
//! No sockets, no clocks, no threads: events go in, a rate comes out. See [`CongestionControl`] for the contract.

mod contract;
mod packets;
mod units;

pub use contract::{AckedPacket, CongestionControl, LostPacket, SentPacket};
pub use packets::PacketTable;
pub use units::{Rate, Time};
