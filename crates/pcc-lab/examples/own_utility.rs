//! Write your own utility function, and compare it with a published one.
//!
//! A utility function turns what came back of a monitor interval into one number, and PCC moves its rate to where that number
//! grows. The one here tolerates the random loss of a radio link; `vivace-loss` takes the same loss for congestion.
//!
//! `cargo run -p pcc-lab --example own_utility`

use pcc::utility::UtilityConfig;
use pcc::{Measurement, Profile, Rate, Utility, profiles};
use pcc_lab::link::PathConfig;
use pcc_lab::sim::{FlowConfig, Simulation};
use std::time::Duration;

/// As Vivace's utility (Vivace 2018, eq. 1, without its latency term), but loss up to a tolerated share costs nothing.
#[derive(Debug)]
struct Tolerant {
    /// The share of packets whose loss is tolerated, as a fraction.
    tolerated: f64,
}

impl Utility for Tolerant {
    fn utility(&self, interval: &Measurement) -> f64 {
        let rate = interval.rate.mbps();
        libm::pow(rate, 0.9) - 11.35 * rate * (interval.loss - self.tolerated).max(0.0)
    }
}

/// How long each simulation lasts, in virtual time.
const SECONDS: u64 = 30;

fn main() {
    // Everything but the utility is as in the profile `vivace-loss`.
    let utility = UtilityConfig::own(Tolerant { tolerated: 0.1 });
    let tolerant = Profile { name: "tolerant".into(), utility, ..profiles::vivace_loss() };
    println!("50 Mbit/s, 30 ms, 8 % random loss, {SECONDS} s:\n");
    println!("{:12} {:>12} {:>8} {:>9}", "alone", "goodput", "lost", "mean RTT");
    run(&[&profiles::vivace_loss()]);
    run(&[&tolerant]);
    println!("\ntogether");
    run(&[&profiles::vivace_loss(), &tolerant]);
}

/// Simulates one flow per profile, all over the same link, and prints what each achieved.
fn run(profiles: &[&Profile]) {
    let delay = Duration::from_millis(15);
    let link = PathConfig {
        capacity: Rate::from_mbps(50.0).into(),
        queue: 187_500.into(),
        loss: 0.08.into(),
        ..PathConfig::delay_only(delay)
    };
    let flows = profiles.iter().map(|profile| FlowConfig::bulk(Box::new(profile.build(1)), delay)).collect();
    let outcome = Simulation::dumbbell(link, flows, Duration::from_secs(SECONDS), 1).run();
    for (profile, flow) in profiles.iter().zip(outcome.flows) {
        let goodput = flow.goodput_between(Duration::ZERO, Duration::from_secs(SECONDS)).to_string();
        let rtt = flow.rtt.mean().as_secs_f64() * 1e3;
        println!("{:12} {goodput:>12} {:>6.1} % {rtt:>6.1} ms", profile.name, 100.0 * flow.loss());
    }
}
