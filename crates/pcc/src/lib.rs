#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! [`profiles`] has ready controllers and their names. [`CongestionControl`] is the contract between a controller and
//! what drives it: a transport or a simulator. [`Pcc::new`] puts a controller together from a [`Utility`] and a
//! [`RateControl`], which can be your own. An [`Observer`] sees every interval and decision.

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
pub use units::{Rate, Time};
pub use utility::Utility;
pub use weight::{InvalidWeight, Weight};
