//! Real noq endpoints in virtual time: what goes wrong between a QUIC library and a congestion controller, and that
//! the adapter gets it right.

mod controllers;
mod marks;
mod pacing;
mod paths;
mod traps;
