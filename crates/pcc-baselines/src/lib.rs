//! Congestion controllers to compare PCC with, behind the same contract ([`pcc::CongestionControl`]), so that each of them
//! also runs under QUIC through `pcc-quic`, or in any transport that drives the contract.
//!
//! ```
//! let mut copa = pcc_baselines::build("copa", 1).expect("a known name");
//! assert!(copa.in_flight_cap() > 0);
//! ```

mod controllers;
mod limits;
mod parts;

pub use controllers::{Constructor, NAMES, build, constructor};
