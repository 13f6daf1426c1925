#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`profiles`] has ready controllers and their names. [`CongestionControl`] is the contract between a controller and
//! what drives it: a transport or a simulator. Its documentation has the rules for drivers;
//! [PCC in a transport of your own](https://github.com/pcc-congestion-control/pcc/blob/main/docs/embedding.md) has more about
//! weights, speed, and other QUIC stacks. [`Pcc::new`] puts a controller together from a [`Utility`] and a
//! [`RateControl`], which can be your own. An [`Observer`] sees every interval and decision.
//!
//! # SPEC
//!
//! "SPEC 2.4" is section 2.4 of the specification in the repository: what the papers of PCC and the code of their authors say,
//! where the two differ, and what was measured. Sections 0 to 4 are in
//! [docs/spec.md](https://github.com/pcc-congestion-control/pcc/blob/main/docs/spec.md), sections 5 to 8 in
//! [docs/research-notes.md](https://github.com/pcc-congestion-control/pcc/blob/main/docs/research-notes.md).

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod contract;
pub mod control;
mod controller;
mod initial_windows;
mod monitor;
mod observer;
mod packets;
mod profile;
pub mod profiles;
pub mod quantity;
mod ranges;
#[cfg(feature = "serde")]
mod text;
mod units;
pub mod utility;
mod weight;

pub use contract::{AckedPacket, CongestionControl, Ecn, LostPacket, SentPacket};
pub use control::{Cut, Limits, PathState, Phase, RateControl};
pub use controller::{Guards, Pcc};
pub use initial_windows::InitialWindows;
pub use monitor::{IntervalPlan, Measurement, Monitor, Regression, Role};
pub use observer::{Event, Observer};
pub use packets::PacketTable;
pub use profile::Profile;
pub use ranges::InvalidConstant;
pub use units::{Rate, Time};
pub use utility::Utility;
pub use weight::{InvalidWeight, Weight};
