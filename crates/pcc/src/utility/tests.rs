//! Utilities at the edges; what they weigh in theory is in `tests/theory`.

use super::*;
use crate::monitor::Measurement;
use crate::units::Rate;

fn measured(mbps: f64, loss: f64) -> Measurement {
    let packets_lost = (loss * 100.0) as u64;
    let sent = Measurement::new(Rate::from_mbps(mbps), 100);
    Measurement { packets_lost, loss, rtt: 0.03, previous_rtt: 0.03, min_rtt: 0.03, ..sent }
}

fn all() -> [Box<dyn Utility>; 8] {
    [
        Box::new(Safe { alpha: 1e9 }),
        Box::new(TcpFriendly::default()),
        Box::new(Interactive::default()),
        Box::new(LossResilient),
        Box::new(Vivace::LATENCY),
        Box::new(Vivace::LTE),
        Box::new(Vivace { small_loss: Some(SmallLoss { up_to: 0.03, weight: 1.0 }), ..Vivace::LOSS }),
        Box::new(Heterogeneous::for_share(Rate::from_mbps(1.0), Rate::from_mbps(10.0))),
    ]
}

#[test]
fn always_finite() {
    for utility in all() {
        for mbps in [0.0, 1e-9, 1.0, 1e5] {
            for loss in [0.0, 0.5, 1.0] {
                for rtt in [0.0, 1e-9, 600.0] {
                    for rtt_gradient in [0.0, -1e6, 1e6] {
                        let interval = Measurement { rtt, rtt_gradient, ..measured(mbps, loss) };
                        let worth = utility.utility(&interval);
                        assert!(worth.is_finite(), "{utility:?} of {interval:?}: {worth}");
                    }
                }
            }
        }
    }
}

#[test]
fn more_loss_is_never_better() {
    for utility in all() {
        let worths: Vec<f64> =
            (0..=100).map(|percent| utility.utility(&measured(50.0, f64::from(percent) / 100.0))).collect();
        assert!(worths.is_sorted_by(|less_loss, more_loss| less_loss >= more_loss), "{utility:?}: {worths:?}");
    }
}

#[test]
fn nothing_acknowledged_costs_the_whole_rate() {
    assert!((Safe::default().utility(&measured(50.0, 1.0)) + 50.0).abs() < 1e-9);
}

#[test]
fn small_loss_weighs_less_up_to_its_limit() {
    let utility = Vivace { small_loss: Some(SmallLoss { up_to: 0.03, weight: 1.0 }), ..Vivace::LOSS };
    let cost =
        |loss: f64| (utility.utility(&measured(50.0, 0.0)) - utility.utility(&measured(50.0, loss))) / (50.0 * loss);
    assert!((cost(0.03) - 1.0).abs() < 1e-9 && (cost(0.0301) - 11.35).abs() < 1e-9);
}

/// Behind fair queueing it is best to fill one's share C although a fraction p is lost: at C / (1 - p) (SPEC 1.5).
#[test]
fn loss_resilient_fills_its_share() {
    for p in [0.1, 0.3, 0.5] {
        let share = 100.0;
        let worth = |x: f64| LossResilient.utility(&measured(x, (1.0 - share / x).max(p)));
        let best = share / (1.0 - p);
        for x in [0.5, 0.9, 0.99, 1.01, 1.1, 2.0] {
            assert!(worth(best * x) < worth(best), "{p} {x}");
        }
    }
}
