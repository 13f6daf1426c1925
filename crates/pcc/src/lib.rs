//! PCC (performance-oriented congestion control): Allegro (NSDI 2015) and Vivace (NSDI 2018), sans-IO.
//!
//! No sockets, no clocks, no threads: events go in, a rate comes out. [`CongestionControl`] is the contract
//! between a controller and what drives it; [`profiles`] has ready controllers; [`Pcc::new`] puts one together
//! from a [`Utility`] and a [`RateControl`], which can be your own.
//!
//! ```
//! use pcc::{CongestionControl, SentPacket, Time, profiles};
//!
//! let mut controller = profiles::vivace_2018_latency().build(1);
//! let packet = SentPacket { time: Time::from_nanos(0), number: 0, bytes: 1200 };
//! controller.on_packet_sent(&packet);
//! let rate = controller.pacing_rate().expect("PCC always paces");
//! assert!(rate.mbps() > 1.0);
//! ```

mod contract;
pub mod control;
mod monitor;
mod observer;
mod packets;
pub mod profiles;
pub mod quantity;
mod sender;
#[cfg(feature = "serde")]
mod text;
mod units;
pub mod utility;

pub use contract::{AckedPacket, CongestionControl, LostPacket, SentPacket};
pub use control::{Cut, PathState, Phase, RateControl};
pub use monitor::{Measurement, Monitor, Plan, Regression, Role};
pub use observer::{Event, Observer};
pub use packets::PacketTable;
pub use profiles::Profile;
pub use sender::{Guards, Pcc};
pub use units::{Rate, Time};
pub use utility::Utility;
