//! PCC for the kernel's TCP: the control core once more, in fixed-point C that BPF takes (`bpf/`), here compiled for
//! the host and held against the Rust core.
//!
//! ```
//! let control = pcc_tcp::build("kernel-vivace", 1).expect("a known name");
//! assert!(control.pacing_rate().is_some());
//! ```

#[allow(unsafe_code, reason = "calls C")]
mod ffi;
mod rto;
mod sender;
#[cfg(test)]
mod tests;

use pcc::CongestionControl;
use sender::KernelPcc;

/// All names that [`build`] knows, sorted: the profiles `allegro-2015`, `vivace-latency` and `vivace-loss`.
pub const NAMES: &[&str] = &["kernel-allegro", "kernel-vivace", "kernel-vivace-loss"];

/// A new controller called `name`, `None` for an unknown one; its random choices come from `seed`.
pub fn build(name: &str, seed: u64) -> Option<Box<dyn CongestionControl>> {
    let profile = match name {
        "kernel-allegro" => ffi::Profile::Allegro2015,
        "kernel-vivace" => ffi::Profile::VivaceLatency,
        "kernel-vivace-loss" => ffi::Profile::VivaceLoss,
        _ => return None,
    };
    Some(Box::new(KernelPcc::new(profile, seed)))
}
