use super::*;
use pcc::control::vivace::{DoubleCheck, GradientFilter};
use pcc::control::{Amplifier, ControlConfig, StartExit};
use pcc::utility::{SmallLoss, UtilityConfig, Vivace};
use pcc::{Rate, profiles};

fn parsed(text: &str) -> ControllerConfig {
    toml::from_str(text).unwrap()
}

fn profile(text: &str) -> Profile {
    parsed(text).profile().unwrap()
}

fn vivace(profile: &Profile) -> pcc::control::vivace::VivaceConfig {
    let ControlConfig::Vivace(config) = &profile.control else { panic!("not Vivace's") };
    config.clone()
}

fn error(text: &str) -> String {
    parsed(text).check().unwrap_err().to_string()
}

/// Sets each constant of each profile to the text of its value.
#[test]
fn every_profile_survives_text() {
    for expected in profiles::all() {
        let text = toml::to_string(&expected).unwrap();
        let is_constant = |line: &&str| !line.starts_with("kind = ") && !line.starts_with("name = ");
        let constants: Vec<&str> = text.lines().filter(is_constant).collect();
        let set = toml::from_str(&constants.join("\n")).unwrap();
        let config = ControllerConfig { set, ..ControllerConfig::named(&expected.name) };
        assert_eq!(format!("{:?}", config.profile().unwrap()), format!("{expected:?}"));
    }
}

#[test]
fn sets_what_is_asked_for_and_nothing_else() {
    let released = profiles::vivace_2018_latency();
    let changed = profile(
        r#"
        name = "vivace-2018-latency"
        set.control.start.rate = "2mbit"
        set.control.start.exit.arrived = 0.9
        set.control.moves-above = "off"
        set.control.pool-loss-below = 0.02
        set.control.gradient-filter.threshold = 0
        set.control.step.amplifier = "paper"
        set.control.double-check = "off"
        set.control.max-packets = "off"
        set.control.bounds.max = 1_000_000
        set.guards.in-flight = 3
        set.utility.latency = 2
        set.utility.small-loss = { up-to = 0.05, weight = 2.0 }
        "#,
    );
    let mut expected = vivace(&released);
    expected.start.rate = Rate::from_mbps(2.0);
    expected.start.exit = StartExit::Arrived(0.9);
    expected.moves_above = None;
    expected.pool_loss_below = Some(0.02);
    expected.gradient_filter = GradientFilter::Threshold(0.0);
    expected.step.amplifier = Amplifier::Paper;
    expected.double_check = DoubleCheck::Off;
    expected.max_packets = None;
    expected.bounds.max = Rate::from_mbps(1.0);
    assert_eq!(vivace(&changed), expected);
    let mut guards = released.guards;
    guards.in_flight = 3.0;
    assert_eq!(changed.guards, guards);
    let UtilityConfig::Vivace(utility) = changed.utility else { panic!("not Vivace's") };
    assert_eq!(
        utility,
        Vivace { latency: 2.0, small_loss: Some(SmallLoss { up_to: 0.05, weight: 2.0 }), ..Vivace::LATENCY }
    );
}

#[test]
fn turns_on_what_a_profile_has_off() {
    let changed = profile(
        r#"
        name = "vivace-paper"
        set.control.loss-significance = { z = 2, standing-queue = 0.05, max-loss = 0.05 }
        set.control.max-packets = 3000
        "#,
    );
    let ours = vivace(&profiles::vivace_latency());
    assert_eq!(vivace(&changed).loss_significance, ours.loss_significance);
    assert_eq!(vivace(&changed).max_packets, ours.max_packets);
}

#[test]
fn takes_any_utility() {
    let utility = |text: &str| format!("{:?}", profile(&format!("name = \"vivace-loss\"\n{text}")).utility);
    for (kind, expected) in UtilityConfig::BUILT_IN {
        assert_eq!(utility(&format!("utility = \"{kind}\"")), format!("{expected:?}"));
    }
    let lte = format!("{:?}", UtilityConfig::Vivace(Vivace::LTE));
    assert_eq!(utility("utility = { kind = \"vivace\", latency = 2 }"), lte);
    assert_eq!(utility("utility = \"vivace\"\nset.utility.latency = 2"), lte);
    assert_eq!(utility("utility = \"x*(1 - loss)\""), "Own(Expression(\"x*(1 - loss)\"))");
    assert_eq!(utility("utility = \"x\"\nset.guards.in-flight = 3"), "Own(Expression(\"x\"))");
}

#[test]
fn builds_with_the_seed() {
    let config = parsed("name = \"allegro-2015\"\nset.control.start.rate = \"3mbit\"");
    assert_eq!(config.build(1).unwrap().pacing_rate(), Some(Rate::from_mbps(3.0)));
    assert_eq!(format!("{:?}", config.build(7).unwrap()), format!("{:?}", config.build(7).unwrap()));
    assert_ne!(format!("{:?}", config.build(7).unwrap()), format!("{:?}", config.build(8).unwrap()));
}

#[test]
fn says_what_is_unknown_and_what_there_is() {
    let unknown = error("name = \"vivace-lateny\"");
    let expected = "there is no controller \"vivace-lateny\" (did you mean \"vivace-latency\"?); there are \
                    allegro-2015, vivace-paper, vivace-2018-loss, vivace-2018-latency, vivace-loss, scavenger, bulk, queue-target, \
                    vivace-latency, ";
    assert!(unknown.starts_with(expected), "{unknown}");
    assert!(unknown.ends_with(&pcc_baselines::names().collect::<Vec<_>>().join(", ")), "{unknown}");
    assert!(error("name = \"tahoe\"").starts_with("there is no controller \"tahoe\"; there are allegro-2015"));
    assert_eq!(
        error("name = \"allegro-2015\"\nset.control.min-stpe = 0.02"),
        "there is no constant \"control.min-stpe\" (did you mean \"min-step\"?); there are bounds, interval-rtts, \
         max-step, min-packets, min-step, pairs, start"
    );
    assert_eq!(
        error("name = \"vivace-loss\"\nset.guard.in-flight = 3"),
        "there is no constant \"guard\" (did you mean \"guards\"?); there are control, guards, utility"
    );
    assert_eq!(
        error("name = \"vivace-loss\"\nutility = \"x\"\nset.utility.latency = 3"),
        "there is no constant \"utility\"; there are control, guards"
    );
    assert_eq!(
        error("name = \"vivace-loss\"\nutility = { kind = \"heterogenous\", weight = 3 }"),
        "there is no kind of utility \"heterogenous\" (did you mean \"heterogeneous\"?); there are safe, tcp-friendly, \
         interactive, loss-resilient, vivace, heterogeneous, logarithmic"
    );
    assert_eq!(
        error("name = \"vivace-loss\"\nset.utility.kind = \"safe\""),
        "there is no constant \"utility.kind\"; there are exponent, latency, loss, small-loss"
    );
}

#[test]
fn says_which_value_is_wrong() {
    let error = |set: &str| error(&format!("name = \"vivace-2018-loss\"\n{set}"));
    assert_eq!(
        error("set.control.start.rate = \"2mb\""),
        "control.start.rate: the unit \"mb\" is unknown; known are kbit, mbit or gbit (per second), for example 42mbit"
    );
    assert_eq!(
        error("set.control.probe-step = \"5%\""),
        "control.probe-step: invalid type: string \"5%\", expected f64"
    );
    assert_eq!(error("set.control.probe-step = 5"), "control.probe-step: 5 isn't between 0 and 0.9");
    assert_eq!(error("set.guards.silence-rtts = nan"), "guards.silence-rtts: NaN isn't between 0 and 1000000000000");
    assert_eq!(error("set.control.min-packets = -1"), "control.min-packets: -1 isn't between 0 and 1000000000000");
    assert_eq!(
        error("set.control.start.exit.arrived = -1"),
        "control.start.exit.arrived: -1 isn't between 0 and 1000000000000"
    );
    assert_eq!(
        error("set.control.pairs = \"two\""),
        "control.pairs: unknown variant `two`, expected `one` or `two-then-one`"
    );
    assert_eq!(
        error("set.control.moves-above = \"none\""),
        "control.moves-above: expected \"off\", or a value of the right type with all its parts"
    );
    assert_eq!(
        error("set.control.gradient-filter.threshhold = 0.01"),
        "control.gradient-filter: unknown variant `threshhold`, expected `threshold` or `quantise`"
    );
    assert_eq!(
        parsed("name = \"queue-target\"\nset.control.weight = 0").check().unwrap_err().to_string(),
        "control.weight: a weight is a number from 0.01 to 100"
    );
    assert_eq!(error("set.guards = 3"), "guards: invalid type: integer `3`, expected struct Guards");
}

#[test]
fn says_what_is_wrong_with_a_formula() {
    let error = error("name = \"vivace-loss\"\nutility = \"tcp-frendly\"");
    let expected = "the utility is neither one of safe, tcp-friendly, interactive, loss-resilient, vivace, \
                    heterogeneous, logarithmic nor a formula: \"tcp\" is neither a variable nor a function:\n  tcp-frendly\n  ^\n";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn baselines_and_the_kernels_have_no_constants() {
    for name in ["newreno", "pcc_vivace", "kernel-vivace"] {
        for text in ["set.guards.in-flight = 3", "utility = \"x\""] {
            assert_eq!(
                error(&format!("name = \"{name}\"\n{text}")),
                format!("\"{name}\" is not a profile: it has neither a utility nor constants to set")
            );
        }
    }
}
