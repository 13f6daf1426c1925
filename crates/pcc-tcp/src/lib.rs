//! PCC for the kernel's TCP: the control core once more, in fixed-point C that BPF takes (`bpf/`), here compiled for
//! the host and compared with the Rust core.
//!
//! ```
//! let control = pcc_tcp::build("pcc_vivace", 1).expect("a known name");
//! assert!(control.pacing_rate().is_some());
//! ```

mod controller;
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

pub use controller::{Controller, UnknownController};

use ffi::Profile;
use pcc::CongestionControl;
use sender::KernelPcc;

/// A new controller called `name`, which may also be that of a profile's alias or a former name; `None` for an unknown one. Its
/// random choices come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    Some(name.parse::<Controller>().ok()?.build(seed))
}

impl Controller {
    /// The C controller behind the contract, told no more than a kernel would tell it; its random choices come from `seed`.
    pub fn build(self, seed: u64) -> Box<dyn CongestionControl> {
        let profile = match self {
            Controller::Vivace => Profile::VivaceLatency,
            Controller::VivaceLoss => Profile::VivaceLoss,
            Controller::Allegro => Profile::Allegro2015,
        };
        Box::new(KernelPcc::new(profile, seed))
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
