//! Results of monitor intervals as C has them.

use pcc::{Rate, Role, Time};

/// 1 in fixed point: `ONE` of `bpf/fixed.h`.
pub const ONE: f64 = (1u64 << 30) as f64;

/// What a fixed-point number stands for.
pub fn real(fixed: i64) -> f64 {
    fixed as f64 / ONE
}

/// `struct plan` of `bpf/measurement.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "loader", derive(zerocopy::FromBytes))]
pub struct Plan {
    pub rate: u64,
    pub length: u64,
    pub min_packets: u32,
    pub max_packets: u32,
    pub role: u8,
    pub index: u8,
    pub faster: u8,
}

impl Plan {
    /// What the interval is for.
    pub fn role(&self) -> Role {
        match self.role {
            0 => Role::Start,
            1 => Role::Probe { index: self.index as usize, faster: self.faster != 0 },
            2 => Role::Move,
            _ => Role::Hold,
        }
    }
}

/// `struct measurement` of `bpf/measurement.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "loader", derive(zerocopy::FromBytes))]
pub struct Measurement {
    pub start: u64,
    pub rate: u64,
    pub target: u64,
    pub packets_sent: u32,
    pub packets_lost: u32,
    pub loss: i64,
    pub rtt: u64,
    pub min_rtt: u64,
    pub rtt_gradient: i64,
    pub rtt_fit: i64,
}

impl Measurement {
    /// As a measurement of the Rust core. Values that C doesn't measure are 0.
    pub fn in_rust(&self) -> pcc::Measurement {
        let (gradient, fit) = (real(self.rtt_gradient), real(self.rtt_fit));
        let residual = 1.0 / fit - 1.0;
        let freedom = f64::from(self.packets_sent.saturating_sub(self.packets_lost).saturating_sub(2));
        let mut result = pcc::Measurement::new(Rate::from_bits_per_sec(self.rate as f64), self.packets_sent.into());
        result.start = Time::from_nanos(self.start);
        result.target = Rate::from_bits_per_sec(self.target as f64);
        result.packets_lost = self.packets_lost.into();
        result.loss = real(self.loss);
        result.rtt = self.rtt as f64 / 1e9;
        result.min_rtt = self.min_rtt as f64 / 1e9;
        result.rtt_gradient = gradient;
        // So that `pcc::Measurement::rtt_fit` is what C says.
        result.rtt_gradient_error = if gradient == 0.0 { 0.0 } else { gradient.abs() * (residual / freedom).sqrt() };
        result
    }
}
