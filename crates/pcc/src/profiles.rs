//! Named sets of all constants, each with its source.

use crate::control::allegro::{AllegroConfig, AllegroControl};
use crate::control::vivace::{DoubleCheck, GradientFilter, LossSignificance, Pairs, VivaceConfig, VivaceControl};
use crate::control::{Amplifier, LeastStep, RateBounds, RateControl, StartConfig, StartExit, StepConfig};
use crate::sender::{Guards, Pcc};
use crate::units::Rate;
use crate::utility::{self, UtilityConfig};

/// Everything that defines a controller.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name, such as `vivace-2018-latency`.
    pub name: &'static str,
    /// What an interval is worth.
    pub utility: UtilityConfig,
    /// How the rate moves.
    pub control: ControlConfig,
    /// What protects the path.
    pub guards: Guards,
}

/// The constants of a rate control.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "kebab-case")
)]
pub enum ControlConfig {
    /// Allegro's.
    Allegro(AllegroConfig),
    /// Vivace's.
    Vivace(VivaceConfig),
}

impl Profile {
    /// A controller with random choices from `seed`.
    pub fn build(&self, seed: u64) -> Pcc {
        let control: Box<dyn RateControl> = match self.control.clone() {
            ControlConfig::Allegro(config) => Box::new(AllegroControl::new(config, seed)),
            ControlConfig::Vivace(config) => Box::new(VivaceControl::new(config, seed)),
        };
        Pcc::new(self.utility.shared(), control, self.guards)
    }

    /// The same with a rate never to exceed.
    #[must_use]
    pub fn with_max_rate(mut self, max: Rate) -> Profile {
        let bounds = self.bounds_mut();
        *bounds = RateBounds { min: bounds.min.min(max), max };
        self
    }

    /// The bounds of the rate.
    pub fn bounds(&self) -> RateBounds {
        match &self.control {
            ControlConfig::Allegro(config) => config.bounds,
            ControlConfig::Vivace(config) => config.bounds,
        }
    }

    fn bounds_mut(&mut self) -> &mut RateBounds {
        match &mut self.control {
            ControlConfig::Allegro(config) => &mut config.bounds,
            ControlConfig::Vivace(config) => &mut config.bounds,
        }
    }
}

/// All profiles.
pub fn all() -> [Profile; 6] {
    [allegro_2015(), vivace_paper(), vivace_2018_loss(), vivace_2018_latency(), vivace_loss(), vivace_latency()]
}

/// PCC Allegro as printed (NSDI 2015), with the authors' start rate: from the paper's two packets per round trip
/// one random loss ends start-up, and neither Fig. 5 nor Fig. 15 can be reached (SPEC 1.7).
pub fn allegro_2015() -> Profile {
    Profile {
        name: "allegro-2015",
        utility: UtilityConfig::Safe(utility::Safe::default()), // alpha = 100: authors' sender, SPEC 1.2
        control: ControlConfig::Allegro(AllegroConfig {
            start: StartConfig {
                rate: Rate::from_mbps(2.0), // authors' sender
                packets_per_rtt: 10,        // SPEC 1.7
                ignored_losses: 0,
                ignored_gradient: 0.0,
                exit: StartExit::LastGood,
            },
            min_step: 0.01,          // section 3.2
            max_step: 0.05,          // section 3.2
            pairs: 2,                // section 3.2
            interval_rtts: 1.7..2.2, // section 3.1
            min_packets: 10,         // section 3.1
            bounds: RateBounds::DEFAULT,
        }),
        guards: Guards::default(),
    }
}

/// Vivace exactly as printed (NSDI 2018), kept as a control: without the released mechanisms it misses the
/// paper's own loss figures (SPEC 2.8).
pub fn vivace_paper() -> Profile {
    Profile {
        name: "vivace-paper",
        utility: UtilityConfig::Vivace(utility::Vivace::LATENCY),
        control: ControlConfig::Vivace(VivaceConfig {
            start: StartConfig {
                rate: Rate::ZERO,
                packets_per_rtt: 2, // as Allegro; section 4 only says that slow start doubles
                ignored_losses: 0,
                ignored_gradient: 0.0,
                exit: StartExit::LastGood,
            },
            probe_step: 0.05, // section 4.2
            min_probe_step: LeastStep::NONE,
            pairs: Pairs::One, // section 4.2
            step: StepConfig {
                theta: 1.0,                  // section 4.2
                amplifier: Amplifier::Paper, // section 4.2
                boundary: 0.05,              // section 4.2
                boundary_growth: 0.1,        // section 4.2
                min_change: LeastStep::NONE,
            },
            moves_above: None,
            gradient_filter: GradientFilter::Threshold(0.01), // section 4.3
            min_fit: 0.0,
            ignore_falling_rtt: false,
            pool_loss_below: None,
            loss_significance: None,
            double_check: DoubleCheck::Paper, // section 4.3
            min_packets: 10,                  // as Allegro, section 3.1
            max_packets: None,
            bounds: RateBounds::DEFAULT,
        }),
        guards: Guards::default(),
    }
}

/// Vivace with the loss-based utility and the mechanisms of the sender that was released with the paper.
pub fn vivace_2018_loss() -> Profile {
    Profile {
        name: "vivace-2018-loss",
        utility: UtilityConfig::Vivace(utility::Vivace { small_loss: RELEASED_SMALL_LOSS, ..utility::Vivace::LOSS }),
        control: ControlConfig::Vivace(released()),
        guards: Guards::default(),
    }
}

/// Vivace with the latency-aware utility and the mechanisms of the sender that was released with the paper.
pub fn vivace_2018_latency() -> Profile {
    Profile {
        name: "vivace-2018-latency",
        utility: UtilityConfig::Vivace(utility::Vivace { small_loss: RELEASED_SMALL_LOSS, ..utility::Vivace::LATENCY }),
        control: ControlConfig::Vivace(released()),
        guards: Guards::default(),
    }
}

/// Our loss-based Vivace: as [`vivace_latency`], with the utility of [`vivace_2018_loss`].
pub fn vivace_loss() -> Profile {
    Profile { name: "vivace-loss", control: ControlConfig::Vivace(improved()), ..vivace_2018_loss() }
}

/// Our latency-aware Vivace, the default.
///
/// The released sender's constants, and what does better (SPEC 6.3, numbers 1, 2, 4 and 5): start-up ends at the rate
/// that arrived, a falling round-trip time is no reward, chance differences of loss don't count while no queue stands,
/// and steps are relative on slow paths. A trend that explains less than a quarter of the variance of the round-trip
/// times isn't one: over real sockets the growth of a queue explains more than nine tenths, a late wake-up of
/// sender, path or receiver less than that quarter.
pub fn vivace_latency() -> Profile {
    Profile { name: "vivace-latency", control: ControlConfig::Vivace(improved()), ..vivace_2018_latency() }
}

/// The released utility weighs loss with 1 instead of 11.35 in intervals that lose at most 3 % (SPEC 2.5).
const RELEASED_SMALL_LOSS: Option<utility::SmallLoss> = Some(utility::SmallLoss { up_to: 0.03, weight: 1.0 });

/// The constants of the released sender (branch NSDI-2018; SPEC 2.4, 2.5 and 4), but for the largest rate, which is
/// 1024 Mbit/s there. The absolute steps and the smallest rate make it unfit for paths below some 5 Mbit/s.
fn released() -> VivaceConfig {
    VivaceConfig {
        start: StartConfig {
            rate: Rate::from_mbps(1.6),
            packets_per_rtt: 10,
            ignored_losses: 50,
            ignored_gradient: 0.2,
            exit: StartExit::LastGood,
        },
        probe_step: 0.05,
        min_probe_step: LeastStep { rate: Rate::from_mbps(0.5), most: 0.5 },
        pairs: Pairs::TwoThenOne,
        step: StepConfig {
            theta: 1.0,
            amplifier: Amplifier::Released,
            boundary: 0.05,
            boundary_growth: 0.06,
            min_change: LeastStep { rate: Rate::from_mbps(0.5), most: 0.5 },
        },
        moves_above: Some(0.1),
        gradient_filter: GradientFilter::Quantise(0.02),
        min_fit: 0.0,
        ignore_falling_rtt: false,
        pool_loss_below: Some(0.01),
        loss_significance: None,
        double_check: DoubleCheck::Released,
        min_packets: 10,
        max_packets: Some(3000),
        bounds: RateBounds { min: Rate::from_mbps(1.3), ..RateBounds::DEFAULT },
    }
}

/// The constants of [`vivace_latency`] and [`vivace_loss`].
fn improved() -> VivaceConfig {
    let released = released();
    let least_step = LeastStep { most: 0.2, ..released.min_probe_step };
    VivaceConfig {
        start: StartConfig { exit: StartExit::Arrived(0.95), ..released.start },
        min_probe_step: least_step,
        step: StepConfig { min_change: least_step, ..released.step },
        min_fit: 0.25,
        ignore_falling_rtt: true,
        loss_significance: Some(LossSignificance { z: 2.0, standing_queue: 0.05, max_loss: 0.05 }),
        bounds: RateBounds::DEFAULT,
        ..released
    }
}
