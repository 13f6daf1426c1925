//! The C core against the Rust core and against floating point.

mod controls;
mod core;
mod fixed;
mod recording;
mod regression;
mod reordering;
mod replay;
mod senders;
mod utilities;

use crate::ffi::{Ack, Profile};
use crate::measured::{Measurement, ONE};
use pcc::profiles;

fn fixed(real: f64) -> i64 {
    (real * ONE).round() as i64
}

/// The profiles that C has, with those of Rust.
fn profiles() -> [(Profile, pcc::Profile); 3] {
    [
        (Profile::VivaceLatency, profiles::vivace_latency()),
        (Profile::VivaceLoss, profiles::vivace_loss()),
        (Profile::Allegro2015, profiles::allegro_2015()),
    ]
}

/// A measurement as C has it.
fn in_c(m: &pcc::Measurement) -> Measurement {
    Measurement {
        start: m.start.as_nanos(),
        rate: m.rate.bits_per_sec().round() as u64,
        target: m.target.bits_per_sec().round() as u64,
        packets_sent: m.packets_sent as u32,
        packets_lost: m.packets_lost as u32,
        loss: fixed(m.loss),
        rtt: (m.rtt * 1e9).round() as u64,
        min_rtt: (m.min_rtt * 1e9).round() as u64,
        rtt_gradient: fixed(m.rtt_gradient),
        rtt_fit: fixed(m.rtt_fit()),
    }
}
