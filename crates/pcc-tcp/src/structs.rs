//! Structs and enums of the C source, as Rust sees them.

use pcc::{Rate, Role, Time};

/// 1 in fixed point: `ONE` of `bpf/fixed.h`.
const ONE: f64 = (1u64 << 30) as f64;

/// What the kernel knows when a sender is told something: `struct ack` of `bpf/monitor.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "loader", derive(zerocopy::FromBytes))]
pub struct Ack {
    /// The time in ns.
    pub now: u64,
    /// When the pacer lets the next segment go, in ns, if that is later.
    pub next_send: u64,
    /// Bytes of data sent so far, with what was sent again.
    pub bytes_sent: u64,
    /// Segments sent so far; wraps around.
    pub sent: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments that this acknowledgement declared lost.
    pub lost: u32,
    /// Bytes of a full segment.
    pub mss: u32,
    /// The newest segment's round-trip time in ns, 0 if it has none.
    pub rtt: u64,
    /// The smoothed round-trip time in ns, 0 before the first sample.
    pub srtt: u64,
}

/// `enum profile` of `bpf/utility.h`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    VivaceLatency,
    VivaceLoss,
    Allegro2015,
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
    pub role: u32,
    pub index: u32,
    pub faster: u32,
    pub padding: u32,
}

impl Plan {
    /// What it is for, as the core says it.
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
    /// As the core has it. What C doesn't measure is 0.
    pub fn in_rust(&self) -> pcc::Measurement {
        let (gradient, fit) = (real(self.rtt_gradient), real(self.rtt_fit));
        let freedom = f64::from(self.packets_sent.saturating_sub(self.packets_lost).saturating_sub(2));
        pcc::Measurement {
            start: Time::from_nanos(self.start),
            rate: Rate::from_bits_per_sec(self.rate as f64),
            target: Rate::from_bits_per_sec(self.target as f64),
            packets_sent: self.packets_sent.into(),
            packets_lost: self.packets_lost.into(),
            loss: real(self.loss),
            rtt: self.rtt as f64 / 1e9,
            previous_rtt: 0.0,
            min_rtt: self.min_rtt as f64 / 1e9,
            rtt_deviation: 0.0,
            rtt_gradient: gradient,
            rtt_gradient_error: gradient.abs() * ((1.0 - fit) / (fit * freedom)).sqrt(),
        }
    }
}

/// What a fixed-point number stands for.
pub fn real(fixed: i64) -> f64 {
    fixed as f64 / ONE
}
