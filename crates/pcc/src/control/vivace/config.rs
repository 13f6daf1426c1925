//! The constants of Vivace's rate control.

use crate::control::{MinStep, RateBounds, RateStartConfig, StepConfig};

/// The constants of Vivace's rate control. Begin with those of a [profile](crate::profiles), and change what differs.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
#[non_exhaustive]
pub struct VivaceConfig {
    /// How start-up begins, what it overlooks and where it ends.
    pub start: RateStartConfig,
    /// epsilon, in 0..1: probes are sent at `rate * (1 ± epsilon)`.
    pub probe_step: f64,
    /// The smallest distance of a probe from the base rate, where that is more than epsilon.
    pub min_probe_step: MinStep,
    /// How many pairs of probes make a decision.
    pub pairs: Pairs,
    /// How a gradient of utility becomes a change of rate.
    pub step: StepConfig,
    /// A single increase above this fraction of the rate goes on with single steps instead of probes.
    #[cfg_attr(feature = "serde", serde(with = "crate::text::switch"))]
    pub moves_above: Option<f64>,
    /// What is done to the gradient of the round-trip time before it is judged.
    pub gradient_filter: GradientFilter,
    /// A trend that explains less than this share of the round-trip times' variance is taken for zero: a pause of
    /// the machine or the radio leaves a spike, a queue that grows leaves a ramp.
    pub min_fit: f64,
    /// Whether a falling round-trip time is no reward (Proteus, SIGCOMM 2020): else jitter and a draining queue
    /// look like good reasons to change the rate.
    pub ignore_falling_rtt: bool,
    /// If all probes of a round together lose at most this fraction, each is judged with that common loss.
    #[cfg_attr(feature = "serde", serde(with = "crate::text::switch"))]
    pub pool_loss_below: Option<f64>,
    /// When the losses of a pair differ by chance only, both are judged with their common loss.
    #[cfg_attr(feature = "serde", serde(with = "crate::text::switch"))]
    pub loss_significance: Option<LossSignificance>,
    /// When a decision is tried again before it is believed.
    pub double_check: DoubleCheck,
    /// The fewest packets of an interval.
    pub min_packets: u64,
    /// The most packets of an interval.
    #[cfg_attr(feature = "serde", serde(with = "crate::text::switch"))]
    pub max_packets: Option<u64>,
    /// Between which rates it moves.
    pub bounds: RateBounds,
}

/// How many pairs of probes make a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Pairs {
    /// One (Vivace 2018, section 4.2).
    One,
    /// Two, which must agree; one after a repeated direction or an inconclusive round (released).
    TwoThenOne,
}

/// What is done to the gradient of the round-trip time before it is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum GradientFilter {
    /// Gradients smaller than this are taken for zero (Vivace 2018, section 4.3).
    Threshold(f64),
    /// Truncation towards zero to multiples of this (released).
    Quantise(f64),
}

/// When the losses of a pair are taken to differ by chance only (SPEC 6.3, number 1).
///
/// The gate matters: tested without it, many flows at a full queue stop seeing their own share of the loss and
/// become unfair.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", deny_unknown_fields)
)]
pub struct LossSignificance {
    /// The two-proportion z of the faster probe's excess loss must be below this.
    pub z: f64,
    /// The gate: the mean round-trip time must be within this fraction above the smallest one seen.
    pub standing_queue: f64,
    /// The common loss up to which it holds. A flow that joined behind a full queue has never seen the path
    /// without it, so that the gate is open to it, but the loss it meets is high.
    pub max_loss: f64,
}

/// When a decision is tried again before it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum DoubleCheck {
    /// Never: for the ablation (Vivace 2018, footnote 2).
    Off,
    /// Whenever the faster probe lost a smaller fraction; agreeing gradients are averaged, else the second
    /// counts (Vivace 2018, section 4.3).
    Paper,
    /// Only an increase, when the probes together lost 5 % or more, the slower ones over 2 packets more than
    /// the faster ones, and those some; the second round counts (released).
    Released,
}
