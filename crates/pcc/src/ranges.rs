//! The range of each constant of a profile.

use crate::control::allegro::AllegroConfig;
use crate::control::queue_target::{
    DrainConfig, GrowthConfig, LossConfig, NoiseConfig, QueueTargetConfig, StartConfig,
};
use crate::control::vivace::{GradientFilter, LossSignificance, VivaceConfig};
use crate::control::{ControlConfig, MinStep, RateBounds, RateStartConfig, StartExit, StepConfig};
use crate::controller::Guards;
use crate::utility::{
    Heterogeneous, Interactive, Logarithmic, LossResilient, Safe, SmallLoss, TcpFriendly, UtilityConfig, Vivace,
};
use core::error::Error;
use core::fmt;
use core::ops::{Range, RangeInclusive};

/// A constant of a [`Profile`](crate::Profile) that is outside of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct InvalidConstant {
    /// Which one: its key in text, such as `control.probe-step`.
    pub key: &'static str,
    /// What it is; a rate in bit/s.
    pub value: f64,
    /// The smallest that it may be.
    pub min: f64,
    /// The largest that it may be.
    pub max: f64,
}

impl fmt::Display for InvalidConstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidConstant { key, value, min, max } = self;
        write!(f, "{key} is {value}, but has to be from {min} to {max}")
    }
}

impl Error for InvalidConstant {}

type Valid = Result<(), InvalidConstant>;

/// A fraction.
const FRACTION: RangeInclusive<f64> = 0.0..=1.0;
/// A step as a fraction of a rate: it may not reach the rate itself, or nothing would be left of it.
const STEP: RangeInclusive<f64> = 0.0..=0.9;
/// A factor, or a time in seconds: anything that isn't negative, and not so large that it leaves the range of numbers.
const ANY: RangeInclusive<f64> = 0.0..=1e12;
/// The same for what is divided by.
const POSITIVE: RangeInclusive<f64> = 1e-9..=1e12;
/// Packets: 10^9 of them are more than any path holds.
const PACKETS: RangeInclusive<f64> = 0.0..=1e9;
const SOME_PACKETS: RangeInclusive<f64> = 1.0..=1e9;
/// A rate in bit/s.
const RATE: RangeInclusive<f64> = 0.0..=1e15;
/// The smallest and the largest rate in bit/s: at none, sending would stop for ever.
const SOME_RATE: RangeInclusive<f64> = 1.0..=1e15;

fn within(key: &'static str, value: f64, range: RangeInclusive<f64>) -> Valid {
    let (min, max) = range.into_inner();
    // Not a number is in no range.
    if (min..=max).contains(&value) { Ok(()) } else { Err(InvalidConstant { key, value, min, max }) }
}

/// Whether each constant is within its range. No range depends on another constant, so that they can be changed one after the other.
pub(crate) fn check(utility: &UtilityConfig, control: &ControlConfig, guards: &Guards) -> Valid {
    check_utility(utility)?;
    match control {
        ControlConfig::Allegro(config) => check_allegro(config),
        ControlConfig::Vivace(config) => check_vivace(config),
        ControlConfig::QueueTarget(config) => check_queue_target(config),
    }?;
    let Guards { brake_loss, silence_rtts, restart_rtts, in_flight, limited_rate } = *guards;
    within("guards.brake-loss", brake_loss, FRACTION)?;
    within("guards.silence-rtts", silence_rtts, ANY)?;
    within("guards.restart-rtts", restart_rtts, ANY)?;
    within("guards.in-flight", in_flight, ANY)?;
    within("guards.limited-rate", limited_rate, ANY)
}

fn check_utility(utility: &UtilityConfig) -> Valid {
    match utility {
        UtilityConfig::Safe(Safe { alpha }) => within("utility.alpha", *alpha, ANY),
        UtilityConfig::TcpFriendly(TcpFriendly { safe: Safe { alpha }, beta }) => {
            within("utility.safe.alpha", *alpha, ANY)?;
            within("utility.beta", *beta, ANY)
        }
        UtilityConfig::Interactive(Interactive { safe: Safe { alpha } }) => within("utility.safe.alpha", *alpha, ANY),
        UtilityConfig::LossResilient(LossResilient) | UtilityConfig::Own(_) => Ok(()),
        UtilityConfig::Vivace(Vivace { exponent, latency, loss, small_loss }) => {
            within("utility.exponent", *exponent, FRACTION)?;
            within("utility.latency", *latency, ANY)?;
            within("utility.loss", *loss, ANY)?;
            let Some(SmallLoss { up_to, weight }) = small_loss else { return Ok(()) };
            within("utility.small-loss.up-to", *up_to, FRACTION)?;
            within("utility.small-loss.weight", *weight, ANY)
        }
        UtilityConfig::Heterogeneous(Heterogeneous { price }) => within("utility.price", *price, 1.0..=1e12),
        UtilityConfig::Logarithmic(Logarithmic { packets, loss, free }) => {
            within("utility.packets", *packets, PACKETS)?;
            within("utility.loss", *loss, ANY)?;
            within("utility.free", *free, ANY)
        }
    }
}

fn check_bounds(bounds: RateBounds) -> Valid {
    let RateBounds { min, max } = bounds;
    within("control.bounds.min", min.bits_per_sec(), SOME_RATE)?;
    within("control.bounds.max", max.bits_per_sec(), SOME_RATE)
}

fn check_start(start: RateStartConfig) -> Valid {
    let RateStartConfig { rate, packets_per_rtt, await_results: _, ignored_losses, ignored_gradient, exit } = start;
    within("control.start.rate", rate.bits_per_sec(), RATE)?;
    within("control.start.packets-per-rtt", packets_per_rtt as f64, PACKETS)?;
    within("control.start.ignored-losses", ignored_losses as f64, PACKETS)?;
    within("control.start.ignored-gradient", ignored_gradient, ANY)?;
    match exit {
        StartExit::LastGood => Ok(()),
        StartExit::Arrived(fraction) => within("control.start.exit.arrived", fraction, FRACTION),
    }
}

fn check_allegro(config: &AllegroConfig) -> Valid {
    let AllegroConfig { start, min_step, max_step, pairs, interval_rtts, min_packets, bounds } = config;
    check_start(*start)?;
    within("control.min-step", *min_step, STEP)?;
    within("control.max-step", *max_step, STEP)?;
    within("control.pairs", *pairs as f64, 1.0..=2.0)?;
    let Range { start, end } = *interval_rtts;
    within("control.interval-rtts.start", start, 0.0..=1000.0)?;
    within("control.interval-rtts.end", end, 0.0..=1000.0)?;
    within("control.min-packets", *min_packets as f64, PACKETS)?;
    check_bounds(*bounds)
}

fn check_vivace(config: &VivaceConfig) -> Valid {
    let VivaceConfig {
        start,
        probe_step,
        min_probe_step: MinStep { rate: probe_rate, most: probe_most },
        pairs: _,
        step: StepConfig { theta, amplifier: _, boundary, boundary_growth, min_change: MinStep { rate, most } },
        moves_above,
        gradient_filter,
        min_fit,
        ignore_falling_rtt: _,
        pool_loss_below,
        loss_significance,
        double_check: _,
        min_packets,
        max_packets,
        bounds,
    } = config;
    check_start(*start)?;
    within("control.probe-step", *probe_step, STEP)?;
    within("control.min-probe-step.rate", probe_rate.bits_per_sec(), RATE)?;
    within("control.min-probe-step.most", *probe_most, STEP)?;
    within("control.step.theta", *theta, ANY)?;
    within("control.step.boundary", *boundary, ANY)?;
    within("control.step.boundary-growth", *boundary_growth, ANY)?;
    within("control.step.min-change.rate", rate.bits_per_sec(), RATE)?;
    within("control.step.min-change.most", *most, STEP)?;
    within("control.moves-above", moves_above.unwrap_or_default(), ANY)?;
    match *gradient_filter {
        GradientFilter::Threshold(threshold) => within("control.gradient-filter.threshold", threshold, ANY),
        GradientFilter::Quantise(quantum) => within("control.gradient-filter.quantise", quantum, POSITIVE),
    }?;
    within("control.min-fit", *min_fit, FRACTION)?;
    within("control.pool-loss-below", pool_loss_below.unwrap_or_default(), FRACTION)?;
    if let Some(LossSignificance { z, standing_queue, max_loss }) = *loss_significance {
        within("control.loss-significance.z", z, ANY)?;
        within("control.loss-significance.standing-queue", standing_queue, ANY)?;
        within("control.loss-significance.max-loss", max_loss, FRACTION)?;
    }
    within("control.min-packets", *min_packets as f64, PACKETS)?;
    within("control.max-packets", max_packets.unwrap_or(1) as f64, SOME_PACKETS)?;
    check_bounds(*bounds)
}

fn check_queue_target(config: &QueueTargetConfig) -> Valid {
    let QueueTargetConfig {
        first_window,
        first_rate,
        pacing,
        // It can't have another value than a valid one.
        weight: _,
        initial_windows: _,
        start: StartConfig { long_queue, grows },
        noise: NoiseConfig { together, reach, free, free_part },
        drain: DrainConfig { every, part, others },
        growth: GrowthConfig { rtt, loss, decrease },
        loss: LossConfig { excess, response, highest },
        competes: _,
        bounds,
    } = config;
    within("control.first-window", *first_window as f64, SOME_PACKETS)?;
    within("control.first-rate", first_rate.bits_per_sec(), RATE)?;
    within("control.pacing", *pacing, 0.1..=1000.0)?;
    within("control.start.long-queue", *long_queue, ANY)?;
    within("control.start.grows", *grows, 1.0..=1e12)?;
    within("control.noise.together", *together, FRACTION)?;
    within("control.noise.reach", *reach, ANY)?;
    within("control.noise.free", *free, ANY)?;
    within("control.noise.free-part", *free_part, FRACTION)?;
    within("control.drain.every", *every, ANY)?;
    within("control.drain.part", *part, FRACTION)?;
    within("control.drain.others", *others, FRACTION)?;
    within("control.growth.rtt", *rtt, POSITIVE)?;
    within("control.growth.loss", *loss, FRACTION)?;
    within("control.growth.decrease", *decrease, FRACTION)?;
    within("control.loss.excess", *excess, FRACTION)?;
    within("control.loss.response", *response, FRACTION)?;
    within("control.loss.highest", *highest, FRACTION)?;
    check_bounds(*bounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles;
    use alloc::string::ToString;

    #[test]
    fn all_profiles_are_valid() {
        for profile in profiles::all() {
            assert_eq!(profile.validate(), Ok(()), "{}", profile.name);
        }
        for (kind, utility) in UtilityConfig::BUILT_IN {
            assert_eq!(check_utility(utility), Ok(()), "{kind}");
        }
    }

    #[test]
    fn says_which_constant_is_wrong_and_what_it_may_be() {
        let mut profile = profiles::vivace_loss();
        for wrong in [1.0, -0.1, f64::NAN] {
            let ControlConfig::Vivace(config) = &mut profile.control else { panic!("not Vivace's") };
            config.probe_step = wrong;
            let error = profile.validate().unwrap_err();
            assert_eq!(error.to_string(), format!("control.probe-step is {wrong}, but has to be from 0 to 0.9"));
        }
    }
}
