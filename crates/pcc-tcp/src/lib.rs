//! PCC for the kernel's TCP: the control core once more, in fixed-point C that BPF takes (`bpf/`), here compiled for
//! the host and held against the Rust core.
//!
//! ```
//! let control = pcc_tcp::build("kernel-vivace", 1).expect("a known name");
//! assert!(control.pacing_rate().is_some());
//! ```

#[allow(unsafe_code, reason = "calls C")]
mod ffi;
#[cfg(feature = "loader")]
pub mod kernel;
#[cfg(any(test, feature = "loader"))]
mod measured;
mod rto;
mod sender;
#[cfg(test)]
mod tests;

use ffi::Profile;
use pcc::CongestionControl;
use sender::KernelPcc;

/// All names that [`build`] knows, sorted: the profiles `allegro-2015`, `vivace-latency` and `vivace-loss`.
pub const NAMES: &[&str] = &["kernel-allegro", "kernel-vivace", "kernel-vivace-loss"];

/// A new controller called `name`, `None` for an unknown one; its random choices come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    constructor(name).map(|build| build(seed))
}

/// What makes the controllers called `name` from the seeds of their random choices, `None` for an unknown one.
pub fn constructor(name: &str) -> Option<fn(u64) -> Box<dyn CongestionControl>> {
    Some(match name {
        "kernel-allegro" => |seed| Box::new(KernelPcc::new(Profile::Allegro2015, seed)),
        "kernel-vivace" => |seed| Box::new(KernelPcc::new(Profile::VivaceLatency, seed)),
        "kernel-vivace-loss" => |seed| Box::new(KernelPcc::new(Profile::VivaceLoss, seed)),
        _ => return None,
    })
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
