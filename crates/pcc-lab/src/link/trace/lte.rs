//! A link like LTE.

use super::recorded::Trace;
use crate::link::packet::MTU;
use fastrand::Rng;
use pcc::Rate;
use std::time::Duration;

/// How far the rate walks in a second, in mean rates. Sprout's model has 200 packets/s in a second where the mean is 419
/// (Winstein, Sivaraman and Balakrishnan, *Stochastic forecasts achieve high throughput and low delay over cellular
/// networks*, NSDI 2013, section 3.1).
const WALK: f64 = 0.5;
/// The walk goes from nothing to this many times its mean, where it turns.
const HIGHEST: f64 = 2.0;
/// How long the walk stays when it reaches zero: it does so many times in a row, which makes an outage.
const STAY_MS: f64 = 4.0;
/// Beyond, a trace would not fit into memory.
const MAX_RATE: Rate = Rate::from_mbps(1000.0);
const MAX_DURATION: Duration = Duration::from_secs(3600);

impl Trace {
    /// A link like LTE with this mean rate, up to 1 Gbit/s, that begins again after `duration`, from 1 ms to an hour.
    ///
    /// Opportunities come as a Poisson process whose rate walks at random between nothing and twice its mean and sticks at
    /// nothing, as in the model of Sprout. For the mean of Verizon's downlink in 2013 (5.03 Mbit/s, 140 s) its traces have
    /// (average of 8 seeds; the recording in brackets): a coefficient of variation of 0.63 (0.71) in bins of 100 ms and 0.58
    /// (0.64) in bins of 1 s, and 4 % (3 %) of the time in gaps of at least 100 ms. T-Mobile's downlink has 0.69, 0.59, and 6 %.
    /// Within 10 ms, recordings are more bursty, and they have rare gaps of more than a second.
    pub fn lte(seed: u64, mean: Rate, duration: Duration) -> Trace {
        let mut rng = Rng::with_seed(seed);
        let length = duration.min(MAX_DURATION).as_millis().max(1) as u32;
        let rates = walk(&mut rng, length);
        let packets = mean.min(MAX_RATE).bytes_in(Duration::from_millis(length.into())) as f64 / MTU as f64;
        let scale = packets / rates.iter().sum::<f64>();
        // A Poisson process of varying rate is one of rate 1 in the time that the rate's integral makes.
        let mut until_next = exponential(&mut rng);
        let mut opportunities = Vec::with_capacity(packets as usize + 1);
        for (ms, rate) in (0..length).zip(rates) {
            until_next -= rate * scale;
            while until_next <= 0.0 {
                opportunities.push(ms);
                until_next += exponential(&mut rng);
            }
        }
        // The last one is what tells the length.
        opportunities.push(length);
        Trace { opportunities: opportunities.into() }
    }
}

/// The rate in each millisecond, in units of its mean in the long run.
fn walk(rng: &mut Rng, length: u32) -> Vec<f64> {
    let step = WALK / 1000f64.sqrt();
    let mut rate = 1.0;
    let mut next = || {
        let stays = rate < step && rng.f64() * STAY_MS >= 1.0;
        if !stays {
            rate += if rng.bool() { step } else { -step };
            rate = rate.abs().min(2.0 * HIGHEST - rate);
        }
        if rate < step { 0.0 } else { rate }
    };
    (0..length).map(|_| next()).collect()
}

/// A random time with an exponential distribution of mean 1.
fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.f64())
}
