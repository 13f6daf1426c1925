//! The constants of the C core come from the Rust profiles: `bpf/constants.h` is written by this test.

use pcc::control::vivace::{DoubleCheck, GradientFilter, Pairs, VivaceConfig};
use pcc::control::{Amplifier, ControlConfig, MinStep, RateBounds, RateStartConfig, StartExit};
use pcc::utility::{Safe, SmallLoss, UtilityConfig, Vivace};
use pcc::{Profile, profiles};
use std::fmt::Write;
use std::{env, fs};

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/constants.h");

/// A constant of C: a value with its name, or a struct of some.
enum C {
    Fixed(f64),
    Whole(u64),
    Struct(Vec<(&'static str, C)>),
}
use C::{Fixed, Struct, Whole};

impl C {
    fn write(&self, name: &str, depth: usize, out: &mut String) {
        let tabs = "\t".repeat(depth);
        match self {
            Fixed(real) => writeln!(out, "{tabs}.{name} = {:.0}, /* {real} */", real * f64::from(1 << 30)).unwrap(),
            Whole(number) => writeln!(out, "{tabs}.{name} = {number},").unwrap(),
            Struct(fields) => {
                writeln!(out, "{tabs}.{name} = {{").unwrap();
                fields.iter().for_each(|(name, field)| field.write(name, depth + 1, out));
                writeln!(out, "{tabs}}},").unwrap();
            }
        }
    }
}

fn start(config: &RateStartConfig) -> C {
    let exit = match config.exit {
        StartExit::LastGood => 0.0,
        StartExit::Arrived(fraction) => fraction,
        other => panic!("C doesn't end start-up at {other:?}"),
    };
    Struct(vec![
        ("rate", Whole(config.rate.bits_per_sec() as u64)),
        ("packets_per_rtt", Whole(config.packets_per_rtt)),
        ("await_results", Whole(config.await_results.into())),
        ("ignored_losses", Whole(config.ignored_losses)),
        ("ignored_gradient", Fixed(config.ignored_gradient)),
        ("exit_arrived", Fixed(exit)),
    ])
}

fn bounds(bounds: RateBounds) -> C {
    let whole = |rate: pcc::Rate| Whole(rate.bits_per_sec() as u64);
    Struct(vec![("min", whole(bounds.min)), ("max", whole(bounds.max))])
}

fn min_step(step: MinStep) -> C {
    Struct(vec![("rate", Whole(step.rate.bits_per_sec() as u64)), ("most", Fixed(step.most))])
}

fn vivace_config(profile: &Profile) -> VivaceConfig {
    let ControlConfig::Vivace(config) = profile.control.clone() else { panic!("{} isn't Vivace", profile.name) };
    config
}

/// The C core has only the mechanisms that these profiles use.
fn vivace() -> Vec<(&'static str, C)> {
    let config = vivace_config(&profiles::vivace_latency());
    assert_eq!(config, vivace_config(&profiles::vivace_loss()), "C has one set of constants for both");
    assert_eq!(config.step.amplifier, Amplifier::Released);
    assert_eq!((config.double_check, config.pairs), (DoubleCheck::Released, Pairs::TwoThenOne));
    assert!(config.ignore_falling_rtt);
    let GradientFilter::Quantise(quantum) = config.gradient_filter else { panic!("C only quantises gradients") };
    let test = config.loss_significance.expect("C tests the significance of loss");
    vec![
        ("start", start(&config.start)),
        ("probe_step", Fixed(config.probe_step)),
        ("min_probe_step", min_step(config.min_probe_step)),
        (
            "step",
            Struct(vec![
                ("theta", Fixed(config.step.theta)),
                ("boundary", Fixed(config.step.boundary)),
                ("boundary_growth", Fixed(config.step.boundary_growth)),
                ("min_change", min_step(config.step.min_change)),
            ]),
        ),
        ("moves_above", Fixed(config.moves_above.expect("C has moves"))),
        ("gradient_quantum", Fixed(quantum)),
        ("min_fit", Fixed(config.min_fit)),
        ("pool_loss_below", Fixed(config.pool_loss_below.expect("C pools losses"))),
        (
            "loss_significance",
            Struct(vec![
                ("z", Fixed(test.z)),
                ("standing_queue", Fixed(test.standing_queue)),
                ("max_loss", Fixed(test.max_loss)),
            ]),
        ),
        ("min_packets", Whole(config.min_packets)),
        ("max_packets", Whole(config.max_packets.expect("C limits the packets of an interval"))),
        ("bounds", bounds(config.bounds)),
    ]
}

fn allegro() -> Vec<(&'static str, C)> {
    let ControlConfig::Allegro(config) = profiles::allegro_2015().control else { panic!("not Allegro") };
    vec![
        ("start", start(&config.start)),
        ("min_step", Fixed(config.min_step)),
        ("max_step", Fixed(config.max_step)),
        ("pairs", Whole(config.pairs as u64)),
        ("interval_rtts_from", Fixed(config.interval_rtts.start)),
        ("interval_rtts_to", Fixed(config.interval_rtts.end)),
        ("min_packets", Whole(config.min_packets)),
        ("bounds", bounds(config.bounds)),
    ]
}

fn vivace_utility(profile: &Profile) -> Vec<(&'static str, C)> {
    let UtilityConfig::Vivace(Vivace { exponent, latency, loss, small_loss }) = profile.utility else {
        panic!("{} has another utility", profile.name)
    };
    let SmallLoss { up_to, weight } = small_loss.expect("C has a weight of small losses");
    vec![
        ("exponent", Fixed(exponent)),
        ("latency", Fixed(latency)),
        ("loss", Fixed(loss)),
        ("small_loss_up_to", Fixed(up_to)),
        ("small_loss_weight", Fixed(weight)),
    ]
}

fn safe_utility() -> Vec<(&'static str, C)> {
    let UtilityConfig::Safe(Safe { alpha }) = profiles::allegro_2015().utility else { panic!("not the safe utility") };
    vec![("alpha", Fixed(alpha))]
}

fn guards() -> Vec<(&'static str, C)> {
    let guards = profiles::vivace_latency().guards;
    assert_eq!(guards, profiles::allegro_2015().guards, "C has one set of guards");
    let whole = |real: f64| {
        assert_eq!(real.fract(), 0.0, "C counts whole round trips");
        Whole(real as u64)
    };
    vec![
        ("brake_loss", Fixed(guards.brake_loss)),
        ("silence_rtts", whole(guards.silence_rtts)),
        ("restart_rtts", whole(guards.restart_rtts)),
        ("limited_rate", Fixed(guards.limited_rate)),
    ]
}

fn header() -> String {
    let mut text = String::from(
        "/* SPDX-License-Identifier: GPL-2.0 OR MIT */\n\
         /* Written by tests/constants.rs from the profiles of the Rust core, which have the sources. Rates in bit/s. */\n\
         #pragma once\n\n#include \"config.h\"\n",
    );
    let constants = [
        ("vivace_config", "VIVACE", vivace()),
        ("allegro_config", "ALLEGRO", allegro()),
        ("vivace_utility_config", "VIVACE_LATENCY_UTILITY", vivace_utility(&profiles::vivace_latency())),
        ("vivace_utility_config", "VIVACE_LOSS_UTILITY", vivace_utility(&profiles::vivace_loss())),
        ("safe_utility_config", "SAFE_UTILITY", safe_utility()),
        ("guards", "GUARDS", guards()),
    ];
    for (kind, name, fields) in constants {
        writeln!(text, "\nstatic const struct {kind} {name} = {{").unwrap();
        fields.iter().for_each(|(name, field)| field.write(name, 1, &mut text));
        text.push_str("};\n");
    }
    text
}

#[test]
fn the_header_is_that_of_the_profiles() {
    let expected = header();
    if env::var_os("REWRITE").is_some() {
        fs::write(HEADER, &expected).unwrap();
    }
    assert_eq!(
        fs::read_to_string(HEADER).unwrap(),
        expected,
        "the profiles have changed: run `REWRITE=1 cargo test -p pcc-tcp --test constants`"
    );
}
