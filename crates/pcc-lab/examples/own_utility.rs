//! A utility function of one's own, against `vivace-loss` on a link that loses more than that one tolerates.
//!
//! `cargo run -p pcc-lab --example own_utility`

use pcc::utility::UtilityConfig;
use pcc::{Measurement, Profile, Rate, Time, Utility, profiles};
use pcc_lab::link::PathConfig;
use pcc_lab::sim::{self, Dumbbell, Flow};
use std::time::Duration;

/// As Vivace's, but the loss that the link has anyway costs nothing.
#[derive(Debug)]
struct Tolerant {
    /// That loss, as a fraction.
    loss: f64,
}

impl Utility for Tolerant {
    fn utility(&self, interval: &Measurement) -> f64 {
        let rate = interval.rate.mbps();
        libm::pow(rate, 0.9) - 11.35 * rate * (interval.loss - self.loss).max(0.0)
    }
}

const SECONDS: u64 = 30;

fn main() {
    let own = UtilityConfig::own(Tolerant { loss: 0.1 });
    let tolerant = Profile { name: "tolerant", utility: own, ..profiles::vivace_loss() };
    println!("50 Mbit/s, 30 ms, 8 % random loss, {SECONDS} s:\n");
    println!("{:12} {:>12} {:>8} {:>9}", "alone", "goodput", "lost", "mean RTT");
    run(&[&profiles::vivace_loss()]);
    run(&[&tolerant]);
    println!("\ntogether");
    run(&[&profiles::vivace_loss(), &tolerant]);
}

/// Runs flows over one link, and prints what each achieved.
fn run(profiles: &[&Profile]) {
    let delay = Duration::from_millis(15);
    let rate = Some(Rate::from_mbps(50.0));
    let forward = PathConfig { rate, delay, queue: 187_500, loss: 0.08, jitter: Duration::ZERO };
    let flow = |profile: &&Profile| Flow { control: Box::new(profile.build(1)), start: Time::ZERO };
    let flows = profiles.iter().map(flow).collect();
    let link = Dumbbell { forward, reverse_delay: delay };
    let results = sim::run(&link, flows, Duration::from_secs(SECONDS), 1);
    for (profile, result) in profiles.iter().zip(results) {
        let goodput = result.rate(0, SECONDS as usize).to_string();
        let lost = 100.0 * result.lost as f64 / result.sent as f64;
        let rtt = result.rtts_us.iter().map(|us| f64::from(*us)).sum::<f64>() / result.rtts_us.len() as f64 / 1e3;
        println!("{:12} {goodput:>12} {lost:>6.1} % {rtt:>6.1} ms", profile.name);
    }
}
