//! Named sets of all constants, each with its source, and the list of them.
//!
//! ```
//! use pcc::profiles;
//!
//! let profile = profiles::named("allegro").expect("the short name of allegro-2015");
//! assert_eq!(profile.name, "allegro-2015");
//! for entry in profiles::LIST {
//!     println!("{:20} {}", entry.name, entry.summary);
//! }
//! ```

use crate::control::allegro::AllegroConfig;
use crate::control::queue_target::{self, DrainConfig, GrowthConfig, LossConfig, NoiseConfig, QueueTargetConfig};
use crate::control::vivace::{DoubleCheck, GradientFilter, LossSignificance, Pairs, VivaceConfig};
use crate::control::{Amplifier, ControlConfig, MinStep, RateBounds, RateStartConfig, StartExit, StepConfig};
use crate::controller::Guards;
use crate::initial_windows::InitialWindows;
use crate::profile::Profile;
use crate::units::Rate;
use crate::utility::{self, UtilityConfig};
use crate::weight::Weight;

/// The name of the profile that is right for most; [`Profile::default`] is the profile itself.
pub const DEFAULT: &str = "queue-target";

/// The name of the profile for transfers in the background.
pub const SCAVENGER: &str = "scavenger";

/// A profile in the [list](LIST) of all: its names, and what help and documentation say of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The name, which is that of the profile.
    pub name: &'static str,
    /// Other names that [`named`] takes.
    pub aliases: &'static [&'static str],
    /// What Linux calls it where it is a congestion control of the kernel (`TCP_CONGESTION` in tcp(7)).
    pub kernel: Option<&'static str>,
    /// What the profile is for, in one line.
    pub summary: &'static str,
    build: fn() -> Profile,
}

impl Entry {
    /// Makes the profile.
    pub fn profile(&self) -> Profile {
        (self.build)()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}

impl Eq for Entry {}

/// All profiles.
pub static LIST: &[Entry] = &[
    Entry {
        name: "allegro-2015",
        aliases: &["allegro"],
        kernel: Some("pcc_allegro"),
        summary: "PCC Allegro (NSDI 2015): reacts to loss only",
        build: allegro_2015,
    },
    Entry {
        name: "vivace-paper",
        aliases: &[],
        kernel: None,
        summary: "PCC Vivace exactly as printed (NSDI 2018), to compare with",
        build: vivace_paper,
    },
    Entry {
        name: "vivace-2018-loss",
        aliases: &[],
        kernel: None,
        summary: "PCC Vivace as its authors released it, reacting to loss only",
        build: vivace_2018_loss,
    },
    Entry {
        name: "vivace-2018-latency",
        aliases: &[],
        kernel: None,
        summary: "PCC Vivace as its authors released it, reacting to loss and delay",
        build: vivace_2018_latency,
    },
    Entry {
        name: "vivace-loss",
        aliases: &[],
        kernel: Some("pcc_vivaceloss"),
        summary: "PCC Vivace, improved, reacting to loss only",
        build: vivace_loss,
    },
    Entry {
        name: SCAVENGER,
        aliases: &[],
        kernel: None,
        summary: "takes only what others leave, and all of it when alone",
        build: scavenger,
    },
    Entry {
        name: "bulk",
        aliases: &[],
        kernel: None,
        summary: "for a few large transfers: a larger share beside others, for a longer queue",
        build: bulk,
    },
    Entry {
        name: DEFAULT,
        aliases: &[],
        kernel: None,
        summary: "holds a few packets in the queue and tests what isn't its own doing",
        build: queue_target,
    },
    Entry {
        name: "vivace-latency",
        aliases: &[],
        kernel: Some("pcc_vivace"),
        summary: "PCC Vivace, improved, reacting to loss and delay: keeps queues short",
        build: vivace_latency,
    },
];

impl Default for Profile {
    /// The profile that is right for most: [`DEFAULT`].
    fn default() -> Profile {
        queue_target()
    }
}

/// All profiles.
pub fn all() -> impl Iterator<Item = Profile> {
    LIST.iter().map(Entry::profile)
}

/// The entry of the profile with this name or alias.
pub fn entry(name: &str) -> Option<&'static Entry> {
    LIST.iter().find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// The profile with this name or alias.
pub fn named(name: &str) -> Option<Profile> {
    entry(name).map(Entry::profile)
}

/// PCC Allegro as printed (NSDI 2015), with the authors' start rate: from the paper's two packets per round trip
/// one random loss ends start-up, and neither Fig. 5 nor Fig. 15 can be reached (SPEC 1.7).
pub fn allegro_2015() -> Profile {
    Profile {
        name: "allegro-2015".into(),
        utility: UtilityConfig::Safe(utility::Safe::default()), // alpha = 100: authors' sender, SPEC 1.2
        control: ControlConfig::Allegro(AllegroConfig {
            start: RateStartConfig {
                rate: Rate::from_mbps(2.0), // authors' sender
                packets_per_rtt: 10,        // SPEC 1.7
                await_results: false,       // section 3.2
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
        name: "vivace-paper".into(),
        utility: UtilityConfig::Vivace(utility::Vivace::LATENCY),
        control: ControlConfig::Vivace(VivaceConfig {
            start: RateStartConfig {
                rate: Rate::ZERO,
                packets_per_rtt: 2,   // as Allegro
                await_results: false, // section 4
                ignored_losses: 0,
                ignored_gradient: 0.0,
                exit: StartExit::LastGood,
            },
            probe_step: 0.05, // section 4.2
            min_probe_step: MinStep::NONE,
            pairs: Pairs::One, // section 4.2
            step: StepConfig {
                theta: 1.0,                  // section 4.2
                amplifier: Amplifier::Paper, // section 4.2
                boundary: 0.05,              // section 4.2
                boundary_growth: 0.1,        // section 4.2
                min_change: MinStep::NONE,
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
        name: "vivace-2018-loss".into(),
        utility: UtilityConfig::Vivace(utility::Vivace { small_loss: RELEASED_SMALL_LOSS, ..utility::Vivace::LOSS }),
        control: ControlConfig::Vivace(released()),
        guards: Guards::default(),
    }
}

/// Vivace with the latency-aware utility and the mechanisms of the sender that was released with the paper.
pub fn vivace_2018_latency() -> Profile {
    Profile {
        name: "vivace-2018-latency".into(),
        utility: UtilityConfig::Vivace(utility::Vivace { small_loss: RELEASED_SMALL_LOSS, ..utility::Vivace::LATENCY }),
        control: ControlConfig::Vivace(released()),
        guards: Guards::default(),
    }
}

/// Our loss-based Vivace: as [`vivace_latency`], with the utility of [`vivace_2018_loss`].
pub fn vivace_loss() -> Profile {
    Profile { name: "vivace-loss".into(), control: ControlConfig::Vivace(improved()), ..vivace_2018_loss() }
}

/// Our latency-aware Vivace, the default in the kernel (`pcc_vivace`); elsewhere that is [`queue_target()`].
///
/// The released sender's constants, and what does better (SPEC 6.3, numbers 1, 2, 4 and 5): start-up ends at the rate
/// that arrived, a falling round-trip time is no reward, chance differences of loss don't count while no queue stands,
/// and steps are relative on slow paths. A trend that explains less than a quarter of the variance of the round-trip
/// times isn't one: over real sockets the growth of a queue explains more than nine tenths, a late wake-up of
/// sender, path or receiver less than that quarter.
pub fn vivace_latency() -> Profile {
    Profile { name: "vivace-latency".into(), control: ControlConfig::Vivace(improved()), ..vivace_2018_latency() }
}

/// The released utility weighs loss with 1 instead of 11.35 in intervals that lose at most 3 % (SPEC 2.5).
const RELEASED_SMALL_LOSS: Option<utility::SmallLoss> = Some(utility::SmallLoss { up_to: 0.03, weight: 1.0 });

/// A few packets in the queue: a fast inner loop on round-trip times, and experiments for what these can't tell.
pub fn queue_target() -> Profile {
    Profile {
        name: "queue-target".into(),
        utility: UtilityConfig::Logarithmic(utility::Logarithmic::DEFAULT),
        control: ControlConfig::QueueTarget(queue_target_control()),
        // Random loss may be heavy, and the control looks into it itself.
        guards: Guards { brake_loss: 0.7, ..Guards::default() },
    }
}

/// A scavenger (Proteus, SIGCOMM 2020, has the idea): [`queue_target()`] that wants a hundredth of its packets in the queue, and takes no
/// queue for background. With 0.03 packets it has 2.4 % of a link beside one `queue_target` (docs/weights.md).
pub fn scavenger() -> Profile {
    Profile {
        name: SCAVENGER.into(),
        utility: UtilityConfig::Logarithmic(utility::Logarithmic { packets: 0.03, ..utility::Logarithmic::DEFAULT }),
        control: ControlConfig::QueueTarget(QueueTargetConfig { competes: false, ..queue_target_control() }),
        ..queue_target()
    }
}

/// For bulk transfers, a few at a time: [`queue_target()`] that trades delay for share. Its constants are from a search by the bulk objective
/// of the gauntlet (docs/queue-target-ablations.md). From some twenty flows of it on a path they no longer fit into the queue.
pub fn bulk() -> Profile {
    let control = queue_target_control();
    Profile {
        name: "bulk".into(),
        utility: UtilityConfig::Logarithmic(utility::Logarithmic {
            packets: 6.7,
            loss: 6.0,
            ..utility::Logarithmic::DEFAULT
        }),
        control: ControlConfig::QueueTarget(QueueTargetConfig {
            noise: NoiseConfig { reach: 5.7, ..control.noise },
            drain: DrainConfig { others: 0.35, ..control.drain },
            loss: LossConfig { excess: 0.036, ..control.loss },
            ..control
        }),
        ..queue_target()
    }
}

/// The constants of [`queue_target()`]'s rate control.
fn queue_target_control() -> QueueTargetConfig {
    QueueTargetConfig {
        first_window: 10, // RFC 6928
        first_rate: Rate::ZERO,
        pacing: 1.25,
        weight: Weight::default(),
        initial_windows: InitialWindows::default(),
        start: queue_target::StartConfig::default(),
        noise: NoiseConfig::default(),
        drain: DrainConfig::default(),
        growth: GrowthConfig::default(),
        loss: LossConfig::default(),
        competes: true,
        bounds: RateBounds::DEFAULT,
    }
}

/// The constants of the released sender (branch NSDI-2018; SPEC 2.4, 2.5 and 4), but for the largest rate, which is
/// 1024 Mbit/s there. The absolute steps and the smallest rate make it unfit for paths below some 5 Mbit/s.
fn released() -> VivaceConfig {
    VivaceConfig {
        start: RateStartConfig {
            rate: Rate::from_mbps(1.6),
            packets_per_rtt: 10,
            await_results: true, // the paper (section 4) doubles with every interval
            ignored_losses: 50,
            ignored_gradient: 0.2,
            exit: StartExit::LastGood,
        },
        probe_step: 0.05,
        min_probe_step: MinStep { rate: Rate::from_mbps(0.5), most: 0.5 },
        pairs: Pairs::TwoThenOne,
        step: StepConfig {
            theta: 1.0,
            amplifier: Amplifier::Released,
            boundary: 0.05,
            boundary_growth: 0.06,
            min_change: MinStep { rate: Rate::from_mbps(0.5), most: 0.5 },
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
    let min_step = MinStep { most: 0.2, ..released.min_probe_step };
    VivaceConfig {
        start: RateStartConfig { exit: StartExit::Arrived(0.95), ..released.start },
        min_probe_step: min_step,
        step: StepConfig { min_change: min_step, ..released.step },
        min_fit: 0.25,
        ignore_falling_rtt: true,
        loss_significance: Some(LossSignificance { z: 2.0, standing_queue: 0.05, max_loss: 0.05 }),
        bounds: RateBounds::DEFAULT,
        ..released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_its_profile() {
        for entry in LIST {
            for name in [&[entry.name], entry.aliases].concat() {
                assert_eq!(named(name).expect(name).name, entry.name);
                let with_name = |entry: &&Entry| entry.name == name || entry.aliases.contains(&name);
                assert_eq!(LIST.iter().filter(with_name).count(), 1, "{name}");
            }
        }
        assert_eq!(Profile::default().name, DEFAULT);
        assert!(named("tahoe").is_none());
    }
}
