//! What utilities make of random loss and of growing round-trip times.

use super::{arg_max, assert_close, measured, root, slope_above, with_gradient};
use pcc::Utility;
use pcc::utility::{Interactive, Safe, TcpFriendly, Vivace, sigmoid};

/// T-3: under random loss the safe utility favours more rate up to 7.44 % (alpha = 100) or 5.28 % (alpha = 1000).
#[test]
fn t03_random_loss_that_the_safe_utility_bears() {
    let crossing = |alpha: f64| root(|loss| Safe { alpha }.utility(&measured(50.0, loss)), 0.0, 0.2);
    assert_close(crossing(100.0), 0.074376, 5e-7, 100);
    assert_close(crossing(1000.0), 0.0528, 5e-5, 1000);
    let worth = [0.993, 0.962, 0.914, 0.824, 0.662, 0.425, 0.193, 0.041];
    for (percent, expected) in worth.into_iter().enumerate() {
        let utility = Safe::default().utility(&measured(50.0, percent as f64 / 100.0));
        assert_close(utility / 50.0, expected, 0.0005, percent);
    }
    assert_close(sigmoid(100.0, -0.05), 0.99331, 5e-6, "the sigmoid without loss");
}

/// The rate that is worth most under random loss.
fn best_rate(utility: Vivace, loss: f64) -> f64 {
    arg_max(|x| utility.utility(&measured(x, loss)), 1e-3, 1e6)
}

/// T-4: the weight of loss and the rate at which it tolerates 5 %: c = 11.357 at 100 Mbit/s (SPEC 2.1; Vivace
/// 2018, section 3.2).
#[test]
fn t04_loss_weight_and_the_rate_it_is_meant_for() {
    let weights = [
        (0.1, 22.7, 0.05),
        (1.0, 18.0, 0.05),
        (8.0, 14.6, 0.05),
        (10.0, 14.3, 0.05),
        (42.0, 12.4, 0.05),
        (100.0, 11.357, 0.0005),
        (200.0, 10.6, 0.05),
        (500.0, 9.67, 0.005),
        (1000.0, 9.02, 0.005),
        (1e4, 7.17, 0.005),
    ];
    for (mbps, weight, rounding) in weights {
        let c =
            root(|c| slope_above(|x| Vivace { loss: c, ..Vivace::LOSS }.utility(&measured(x, 0.05)), mbps), 1.0, 100.0);
        assert_close(c, weight, rounding * 1.05, mbps);
        assert_close(best_rate(Vivace { loss: c, ..Vivace::LOSS }, 0.05) / mbps, 1.0, 1e-4, mbps);
    }
    let tolerated = [
        (0.1, 9.98),
        (1.0, 7.93),
        (8.0, 6.44),
        (10.0, 6.30),
        (42.0, 5.46),
        (100.0, 5.00),
        (200.0, 4.67),
        (500.0, 4.26),
        (1000.0, 3.97),
        (1e4, 3.16),
    ];
    for (mbps, percent) in tolerated {
        let p = root(|p| slope_above(|x| Vivace::LOSS.utility(&measured(x, p)), mbps), 0.01, 0.2);
        assert_close(100.0 * p, percent, 0.0051, mbps);
    }
}

/// T-5: the rate that is worth most under random loss p: 100.6 Mbit/s at 5 %, a sixth of that at 6 % (SPEC 2.1).
#[test]
fn t05_best_rate_under_random_loss() {
    let table = [
        (4.0, 937.0, 0.5),
        (4.5, 289.0, 0.5),
        (4.8, 151.0, 0.5),
        (5.0, 100.6, 0.05),
        (5.2, 68.0, 0.5),
        (5.5, 38.8, 0.05),
        (6.0, 16.25, 0.005),
        (7.0, 3.5, 0.05),
        (8.0, 0.9, 0.05),
        (10.0, 0.1, 0.05),
    ];
    for (percent, mbps, rounding) in table {
        assert_close(best_rate(Vivace::LOSS, percent / 100.0), mbps, rounding * 1.01, percent);
    }
}

/// T-9: a growing round-trip time lowers the utilities that know latency; the paper prints the sigmoid's argument
/// with the other sign (SPEC 1.3).
#[test]
fn t09_a_growing_round_trip_time_lowers_utility() {
    let utilities: [&dyn Utility; 3] =
        [&TcpFriendly::default(), &TcpFriendly { beta: 100.0, ..TcpFriendly::default() }, &Interactive::default()];
    for utility in utilities {
        let worth = |previous_rtt: f64| {
            let mut result = measured(50.0, 0.0);
            result.previous_rtt = previous_rtt;
            utility.utility(&result)
        };
        let worths = [0.033, 0.0303, 0.03, 0.0297, 0.027].map(worth);
        assert!(worths.is_sorted_by(|falling, growing| falling > growing), "{utility:?}: {worths:?}");
        assert_eq!(worth(0.0), worth(0.03), "the first interval has nothing to be compared with");
    }
    let gradient = |rtt_gradient: f64| Vivace::LATENCY.utility(&with_gradient(50.0, rtt_gradient));
    assert!(gradient(-0.02) > gradient(0.0) && gradient(0.0) > gradient(0.02));
}
