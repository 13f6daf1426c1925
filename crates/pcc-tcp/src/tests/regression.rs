//! The trend of round-trip times in whole microseconds against the core's in floating point.

use crate::ffi::testing::gradient;
use crate::measured::real;
use pcc::Regression;
use proptest::prelude::*;

/// Samples along a trend, with noise: send and round-trip times in ns.
fn samples() -> impl Strategy<Value = Vec<[u64; 2]>> {
    let noise = prop::collection::vec(-1.0..1.0f64, 3..400);
    (noise, 10_000..20_000_000u64, 1_000_000..2_000_000_000u64, -0.9..0.9f64, 0.0..0.02f64).prop_map(
        |(noise, gap, rtt, trend, size)| {
            let sample = |(i, noise): (usize, f64)| {
                let sent = i as u64 * gap;
                let rtt = rtt as f64 * (1.0 + size * noise) + trend * sent as f64;
                // The kernel's are whole microseconds, in which both sides count here.
                [sent / 1000 * 1000, rtt.max(1e6) as u64 / 1000 * 1000]
            };
            noise.into_iter().enumerate().map(sample).collect()
        },
    )
}

/// The sum of squared distances from the mean.
fn squares(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean).powi(2)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_trend_is_that_of_the_core(samples in samples()) {
        let mut exact = Regression::default();
        let [first_sent, _] = samples[0];
        for [sent, rtt] in &samples {
            exact.add((sent - first_sent) as f64 * 1e-9, *rtt as f64 * 1e-9);
        }
        let (mean, slope, explained) = gradient(&samples);
        prop_assert!((mean as f64 - exact.mean().unwrap() * 1e9).abs() < 2.0);
        // The sums are of squares of microseconds, and rounded to 1.
        let [sent, rtt] = [0, 1].map(|of| squares(samples.iter().map(|sample| sample[of] as f64 / 1000.0)));
        let bound = 1e-8 + (1.0 + exact.gradient().abs()) / sent + 1e-6 * exact.gradient().abs();
        prop_assert!((real(slope) - exact.gradient()).abs() < bound, "{} and {}", real(slope), exact.gradient());
        let freedom = (samples.len() - 2) as f64;
        let (trend, error) = (exact.gradient().powi(2), exact.gradient_error().powi(2));
        let fit = if trend > 0.0 { trend / (trend + freedom * error) } else { 0.0 };
        let bound = 1e-3 + 2.0 / (sent * rtt).sqrt() + 1.0 / sent + 1.0 / rtt;
        prop_assert!((real(explained) - fit).abs() < bound, "{} and {fit}", real(explained));
    }
}

#[test]
fn degenerate_samples_have_no_trend() {
    assert_eq!(gradient(&[]).1, 0);
    assert_eq!(gradient(&[[0, 30_000_000]; 10]), (30_000_000, 0, 0), "all were sent at once");
    assert_eq!(gradient(&[[0, 30_000_000], [1_000_000, 31_000_000]]).1, 0, "two samples always fit");
    let flat: Vec<_> = (0..100).map(|i| [i * 1_000_000, 30_000_000]).collect();
    assert_eq!(gradient(&flat), (30_000_000, 0, 0));
    assert_eq!(gradient(&[[u64::MAX, u64::MAX]; 20]), (0, 0, 0), "nothing usable");
}
