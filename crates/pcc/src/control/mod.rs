//! Rate control: which rates to try, and where to go from what they were worth.

pub mod allegro;
mod config;
mod phases;
mod probes;
pub mod queue_target;
mod starting;
mod step;
#[cfg(test)]
mod tests;
pub mod vivace;

pub use config::ControlConfig;
pub use starting::{RateStartConfig, StartExit};
pub use step::{Amplifier, MinStep, StepConfig};

use crate::contract::AckedPacket;
use crate::monitor::{IntervalPlan, Measurement, Role};
use crate::units::{Rate, Time};
use crate::utility::Utility;
use core::fmt::Debug;
use core::num::NonZeroU64;
use core::time::Duration;

/// What is known of the path when an interval is planned or judged.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PathState {
    /// The current time.
    pub now: Time,
    /// The size of a full packet in bytes.
    pub mtu: u64,
    /// The mean round-trip time of the interval that closed last, or the smoothed one before any has.
    pub rtt: Duration,
    /// The smallest round-trip time seen.
    pub min_rtt: Duration,
    /// Bytes in flight.
    pub in_flight: u64,
}

impl PathState {
    /// A path that carries packets of `mtu` bytes and whose round trips have all taken `rtt`, at the origin of time.
    pub const fn new(mtu: u64, rtt: Duration) -> PathState {
        PathState { now: Time::ZERO, mtu, rtt, min_rtt: rtt, in_flight: 0 }
    }
}

/// What a rate control allows that sets limits itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The pacing rate.
    pub rate: Rate,
    /// The most bytes that may be in flight.
    pub in_flight: NonZeroU64,
}

/// The phase a controller is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Start-up: doubling the rate.
    Starting,
    /// Comparing rates around the base rate.
    Probing,
    /// Going on in the direction that probing found (Allegro's "rate adjusting").
    Moving,
}

/// Why the rate is cut outside of the rate control's own decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// An interval lost more than the brake allows.
    Loss,
    /// Nothing was acknowledged for too long.
    Silence,
    /// The silence lasted so long that the path may have changed: start anew, though not below the rate of a first
    /// start, or a connection that loses its path now and then would sink to the smallest rate.
    Restart,
    /// The sender had nothing to send for so long that the rate isn't trusted any more. Start anew as on a restart, but the
    /// path is likely the one that it was.
    Idle,
}

/// A rate control algorithm, which plans monitor intervals and moves the rate by their results.
///
/// [`Pcc`](crate::Pcc) calls it in this order:
///
/// 1. [`Pcc::new`](crate::Pcc::new) asks for the first [`plan`](Self::plan), before anything is known of the path.
/// 2. When a packet has been sent that completes an interval: `plan`, for the next packet. When one is to be sent after a pause:
///    [`cut`](Self::cut) with [`Cut::Idle`] and `plan`, or `plan` alone.
/// 3. During a batch, for each packet whose outcome is new: [`on_acked`](Self::on_acked) or [`on_lost`](Self::on_lost), in the order of
///    the driver.
/// 4. At the end of the batch: [`on_batch`](Self::on_batch), if the control sets limits itself. Then [`on_result`](Self::on_result) for
///    each interval whose result is known now, in the order of the plans, or `cut` with [`Cut::Loss`] in its place where the brake is pulled;
///    and [`limit`](Self::limit) where the rate is more than was ever delivered. Whatever changes the rate at once is followed by `plan`.
/// 5. When nothing was acknowledged for too long, at the deadline or the end of a batch: `cut` and `plan`.
///
/// Not every plan has a result: intervals that are in flight when nothing is heard for too long, and those of which all packets were
/// discarded, are dropped. Those that are in flight when the rate changes at once come back with [`Role::Hold`] whatever they were
/// planned as.
///
/// [`limits`](Self::limits) is read after each `plan` and each [`on_mtu_change`](Self::on_mtu_change).
pub trait RateControl: Debug + Send + Sync {
    /// The next interval to send. Sending never pauses: while results are awaited it is a [`Role::Hold`].
    fn plan(&mut self, path: &PathState) -> IntervalPlan;

    /// Takes the result of an interval. Returns `true` if the rate changes at once, which makes all
    /// intervals that are still in flight useless (re-alignment).
    fn on_result(&mut self, role: Role, result: &Measurement, utility: &dyn Utility, path: &PathState) -> bool;

    /// Halves the rate, on a restart and after idleness not below that of the first start, and forgets what led to it.
    fn cut(&mut self, cut: Cut);

    /// Lowers the rate to `ceiling`, because it is more than was ever delivered. What is in flight is abandoned. With the rate of now as
    /// the ceiling: an interval that is waited for has no result, and is to be sent again.
    fn limit(&mut self, ceiling: Rate);

    /// The base rate, around which probes are sent.
    fn rate(&self) -> Rate;

    /// The current phase.
    fn phase(&self) -> Phase;

    /// Sees each packet that is acknowledged, before its batch is complete, for a control that follows round-trip times and not intervals only.
    fn on_acked(&mut self, packet: &AckedPacket) {
        let _ = packet;
    }

    /// Counts a packet that is lost, before its batch is complete.
    fn on_lost(&mut self) {}

    /// A full packet has `mtu` bytes from now on; 1200 before the first call. What the control allows is asked for afterwards.
    fn on_mtu_change(&mut self, mtu: u64) {
        let _ = mtu;
    }

    /// A batch is complete, and `in_flight` bytes remain; its intervals have not been judged yet. Called only if [`limits`](Self::limits)
    /// was `Some` when it was read last. Returns the limits from now on; `None` leaves those of before.
    fn on_batch(&mut self, utility: &dyn Utility, now: Time, in_flight: u64) -> Option<Limits> {
        let _ = (utility, now, in_flight);
        None
    }

    /// Whether packets may wait for each other: see [`CongestionControl::allows_bursts`](crate::CongestionControl::allows_bursts).
    fn allows_bursts(&self) -> bool {
        true
    }

    /// The limits that it sets itself; without them the rate is that of the interval being sent, and the guards limit what is in
    /// flight.
    fn limits(&self) -> Option<Limits> {
        None
    }
}

/// The loss that an interval may have that couldn't be sent as asked for, before something must be done about it
/// although it proves nothing, in 0..1: what the utilities of both papers tolerate.
pub(crate) const LIMITED_LOSS: f64 = 0.05;

/// The bounds within which a rate control moves.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct RateBounds {
    /// The smallest base rate; probes may go below it by their step.
    pub min: Rate,
    /// The largest rate, probes included.
    pub max: Rate,
}

impl RateBounds {
    /// 64 kbit/s, at which a full packet still leaves several times in a second, to 100 Gbit/s, which is more than one flow reaches.
    pub const DEFAULT: RateBounds = RateBounds { min: Rate::from_mbps(0.064), max: Rate::from_mbps(1e5) };

    /// Moves a rate into the bounds.
    pub fn clamp(self, rate: Rate) -> Rate {
        rate.clamp(self.min, self.max)
    }
}
