//! Profiles from and to text.

#![cfg(feature = "serde")]

use pcc::control::ControlConfig;
use pcc::utility::UtilityConfig;
use pcc::{Measurement, Profile, Rate, Utility, profiles};

#[derive(Debug)]
struct Own;

impl Utility for Own {
    fn utility(&self, interval: &Measurement) -> f64 {
        interval.throughput().mbps()
    }
}

#[test]
fn every_profile_survives_text() {
    for profile in profiles::all() {
        let text = toml::to_string(&profile).unwrap();
        let back: Profile = toml::from_str(&text).unwrap();
        assert_eq!(format!("{back:?}"), format!("{profile:?}"), "{text}");
    }
}

/// The keys are what users write: none may change.
#[test]
fn keys_are_the_names_of_the_fields() {
    let text = toml::to_string(&profiles::vivace_latency()).unwrap();
    for line in [
        "name = \"vivace-latency\"",
        "[utility]",
        "kind = \"vivace\"",
        "[utility.small-loss]",
        "up-to = 0.03",
        "[control]",
        "moves-above = 0.1",
        "[control.start.exit]",
        "arrived = 0.95",
        "[control.min-probe-step]",
        "most = 0.2",
        "[guards]",
        "brake-loss = 0.5",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
}

#[test]
fn rates_may_have_a_unit() {
    let text = toml::to_string(&profiles::allegro_2015()).unwrap().replace("rate = 2000000.0", "rate = \"3 Mbit/s\"");
    let profile: Profile = toml::from_str(&text).unwrap();
    let ControlConfig::Allegro(config) = profile.control else { panic!("not Allegro's") };
    assert_eq!(config.start.rate, Rate::from_mbps(3.0));
}

#[test]
fn errors_say_what_is_wrong() {
    let good = toml::to_string(&profiles::vivace_loss()).unwrap();
    let error = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        toml::from_str::<Profile>(&good.replace(from, to)).unwrap_err().message().to_owned()
    };
    assert_eq!(error("name = \"vivace-loss\"\n", ""), "missing field `name`");
    assert_eq!(
        error("brake-loss", "break-loss"),
        "unknown field `break-loss`, expected one of `brake-loss`, `silence-rtts`, `restart-rtts`, `in-flight`, \
         `limited-rate`"
    );
    assert_eq!(error("probe-step = 0.05", "probe-step = 1.0"), "control.probe-step is 1, but has to be from 0 to 0.9");
    assert_eq!(
        error("packets-per-rtt = 10", "packets-per-rtt = 9000000000000000000"),
        "control.start.packets-per-rtt is 9000000000000000000, but has to be from 0 to 1000000000"
    );
    assert_eq!(
        error("amplifier = \"released\"", "amplifier = \"bold\""),
        "unknown variant `bold`, expected `paper` or `released`"
    );
    assert_eq!(
        error("[utility]\nkind = \"vivace\"", "[utility]\nkind = \"own\""),
        "unknown variant `own`, expected one of `safe`, `tcp-friendly`, `interactive`, `loss-resilient`, `vivace`, \
         `heterogeneous`, `logarithmic`"
    );
}

#[test]
fn your_own_utility_has_no_text() {
    let profile = Profile { utility: UtilityConfig::own(Own), ..Profile::default() };
    let error = toml::to_string(&profile).unwrap_err().to_string();
    assert_eq!(error, "a utility function of your own has no text");
}
