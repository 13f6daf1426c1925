use super::*;
use crate::utility::Vivace;

/// Sends so many intervals with a window of 50 packets, or what it is told since, over a path that has room for `fits` packets and
/// loses a part `random` of these. Returns the last window.
fn send(control: &mut Loss, window: f64, intervals: u32, fits: f64, random: f64) -> f64 {
    (0..intervals).fold(window, |window, _| {
        let arrives = window.min(fits) * (1.0 - random) / window;
        let mut result = Measurement::new(Rate::from_mbps(window), 1000);
        result.packets_lost = (1000.0 * (1.0 - arrives)) as u64;
        control.on_interval(&result, &Vivace::LOSS, window, true, 2.0).unwrap_or(window)
    })
}

#[test]
fn loss_that_falls_with_the_window_is_ours() {
    let mut control = Loss::new(LossConfig::default());
    let window = send(&mut control, 50.0, EPOCH_INTERVALS, 40.0, 0.0);
    assert!((39.0..41.0).contains(&window) && control.is_testing(), "{window}");
    send(&mut control, window, EPOCH_INTERVALS, 40.0, 0.0);
    assert!(!control.is_testing() && control.background < 0.001, "{control:?}");
    assert_eq!(control.room, ROOM_DECREASE, "the queue can't hold what was wanted");
    let cap = control.cap;
    send(&mut control, window, 50, 40.0, 0.0);
    assert!(control.cap > cap && control.room > ROOM_DECREASE + 0.1, "{control:?}");
}

#[test]
fn heavy_loss_is_cut_until_it_goes() {
    let mut control = Loss::new(LossConfig::default());
    // A policer lets a burst pass first.
    let window = send(&mut control, 40.0, 2, 26.0, 0.0);
    assert!((25.0..27.0).contains(&window), "{window}");
    let window = send(&mut control, window, 2, 17.0, 0.0);
    assert!((16.0..18.0).contains(&window) && control.is_testing(), "{window}: as large a part as before");
    send(&mut control, window, EPOCH_INTERVALS, 17.0, 0.0);
    assert!(!control.is_testing() && control.background < 0.001, "{control:?}");
}

#[test]
fn loss_that_grows_begins_another_experiment() {
    let mut control = Loss::new(LossConfig::default());
    let window = send(&mut control, 50.0, EPOCH_INTERVALS, 1e9, 0.1);
    let window = send(&mut control, window, EPOCH_INTERVALS, 1e9, 0.1);
    assert!(matches!(control.state, State::Waiting(_)), "{control:?}");
    assert_eq!(send(&mut control, window, EPOCH_INTERVALS, 1e9, 0.11), window, "that may be chance");
    let window = send(&mut control, window, EPOCH_INTERVALS, 36.0, 0.0);
    assert!((35.0..37.0).contains(&window) && control.is_testing(), "{window}");
}

#[test]
fn losses_in_bursts_vary_more() {
    let dispersion = |lost: &[u64]| {
        let mut epoch = Epoch::default();
        for &packets_lost in lost {
            epoch.add(&Measurement { packets_lost, ..Measurement::new(Rate::from_mbps(10.0), 100) });
        }
        epoch.dispersion()
    };
    assert_eq!(dispersion(&[0, 0, 0]), None, "nothing was lost");
    assert_eq!(dispersion(&[3]), None, "one interval can't vary");
    assert!(dispersion(&[2, 4, 3, 1, 4, 2]).is_some_and(|index| index < 1.0));
    assert!(dispersion(&[0, 16, 0, 0, 0, 0]).is_some_and(|index| index > 10.0));
}

#[test]
fn a_little_less_loss_lowers_the_background_little() {
    let lowered = |random| {
        let mut control = Loss { background: 0.1, ..Loss::new(LossConfig::default()) };
        send(&mut control, 50.0, EPOCH_INTERVALS, 1e9, random);
        0.1 - control.background
    };
    // Of 6000 packets 600 are lost, give or take 23.
    assert!((0.0003..0.0007).contains(&lowered(0.095)), "{}", lowered(0.095));
    assert!((0.024..0.026).contains(&lowered(0.05)), "{}", lowered(0.05));
}

#[test]
fn losses_in_bursts_are_believed_later() {
    let asks = |window, dispersion| {
        let mut control = Loss { dispersion, background: 0.03, ..Loss::new(LossConfig::default()) };
        send(&mut control, window, EPOCH_INTERVALS, 1e9, 0.06);
        control.is_testing()
    };
    assert_eq!([1.0, 20.0].map(|dispersion| asks(100.0, dispersion)), [true, false]);
    assert!(asks(50.0, 20.0), "this one may be one of many");
}

#[test]
fn how_much_losses_vary_is_learned_without_a_test() {
    let learned = |lost: [u64; 6]| {
        let mut control = Loss { background: 0.02, ..Loss::new(LossConfig::default()) };
        for packets_lost in lost {
            let result = Measurement { packets_lost, ..Measurement::new(Rate::from_mbps(10.0), 100) };
            control.on_interval(&result, &Vivace::LOSS, 100.0, true, 2.0);
        }
        assert!(!control.is_testing(), "{control:?}");
        control.dispersion
    };
    assert_eq!(learned([2; 6]), 1.0);
    assert!(learned([0, 0, 12, 0, 0, 0]) > 3.0, "{}", learned([0, 0, 12, 0, 0, 0]));
}

#[test]
fn few_packets_tell_little_of_the_background() {
    let mut control = Loss::new(LossConfig::default());
    // The worst interval doesn't count, which leaves one packet.
    for packets in [39, 1] {
        let result = Measurement { packets_lost: packets, ..Measurement::new(Rate::from_mbps(1.0), packets) };
        control.on_interval(&result, &Vivace::LOSS, 40.0, false, 2.0);
    }
    assert!(control.epoch.sent == 0 && control.background < 0.001, "{control:?}");
}

#[test]
fn more_cuts_follow_while_as_much_arrives() {
    // What follows a cut from 50 packets to 40, if so much arrives of what was 40 Mbit/s, in an epoch of so many packets.
    let next = |arrived: f64, sent: f64| {
        let mut control = Loss::new(LossConfig::default());
        let before = Before { window: 50.0, loss: 0.2, sent, arrived: 40e6, utility: 1.0, cuts: 1 };
        let found = Outcome { sent, loss: 0.2, arrived: arrived * 1e6, utility: 0.0 };
        control.judge_cut(&before, &found, 40.0, 2.0)
    };
    assert_eq!(next(39.0, 1000.0), Some(32.0));
    assert_eq!(next(33.0, 1000.0), None, "the path loses them");
    assert_eq!(next(39.0, 20.0), None, "that may be chance");
}

#[test]
fn a_window_that_grew_too_fast_loses_much() {
    let control = Loss { background: 0.05, ..Loss::new(LossConfig::default()) };
    let too_fast = |lost, acked| control.grew_too_fast(&Round { rate: 1e6, lost, acked, in_flight: 120_000 });
    assert_eq!([11, 9].map(|lost| too_fast(lost, 100 - lost)), [true, false]);
    assert!(!too_fast(10, 9), "too few");
}

#[test]
fn a_cap_that_is_far_too_low_is_forgotten() {
    let mut control = Loss { cap: 30.0, ..Loss::new(LossConfig::default()) };
    let mut pass = |has_room, rounds| {
        (0..rounds).for_each(|_| control.on_round(has_room, false));
        control.cap
    };
    assert_eq!(pass(true, CAP_ROUNDS - 1), 30.0);
    assert_eq!(pass(false, 1), 30.0);
    assert_eq!(pass(true, CAP_ROUNDS - 1), 30.0, "in a row");
    assert_eq!(pass(true, 1), f64::INFINITY);
}

#[test]
fn a_cap_that_comes_back_is_kept_for_longer() {
    let mut control = Loss::new(LossConfig::default());
    let mut rounds_until_lifted = |cap: f64| {
        control.limit(cap);
        (1..).find(|_| {
            control.on_round(true, false);
            control.cap.is_infinite()
        })
    };
    let rounds = [30.0, 32.0, 29.0, 30.0, 60.0, 60.0, 60.0].map(|cap| rounds_until_lifted(cap).expect("it is lifted"));
    assert_eq!(rounds.map(|rounds| rounds / CAP_ROUNDS), [1, 1, 2, 4, 8, 1, 2], "the path has room for 60");
    let last = [60.0; 8].map(|cap| rounds_until_lifted(cap).expect("it is lifted"))[7];
    assert_eq!(last, MOST_CAP_ROUNDS);
}

#[test]
fn a_cap_for_a_queue_that_has_gone_is_forgotten_sooner() {
    let mut control = Loss { cap: 3.0, ..Loss::new(LossConfig::default()) };
    control.on_round(false, true);
    (1..CAP_ROUNDS_WITHOUT_QUEUE).for_each(|_| control.on_round(true, false));
    assert_eq!(control.cap, 3.0);
    control.on_round(true, false);
    assert_eq!(control.cap, f64::INFINITY);
    control.on_round(true, false);
    assert!(!control.queue_has_gone, "the next cap is another one");
}

#[test]
fn loss_in_a_drain_lowers_a_new_cap_of_a_small_window() {
    let lowered = |cap, lost, age| {
        let mut control = Loss { cap, age, ..Loss::new(LossConfig::default()) };
        let round = Round { rate: 1e6, lost, acked: 30 - lost, in_flight: 12_000 };
        control.on_drain_round(&round, 16.0, 2.0).then_some(control.cap)
    };
    assert_eq!(lowered(16.0, 3, 0), Some(DECREASE * 16.0));
    assert_eq!(lowered(16.0, 2, 0), None, "half a packet more than a twentieth");
    assert_eq!(lowered(16.0, 3, NEW_CAP), None);
    assert_eq!(lowered(f64::INFINITY, 3, 0), None);
}

#[test]
fn a_small_window_of_any_size_sends_as_many_packets_between_losses() {
    let quiet = Round { rate: 1e6, lost: 0, acked: 10, in_flight: 12_000 };
    let packets_until_back = |window: f64| {
        let mut control = Loss { cap: DECREASE * window, ..Loss::new(LossConfig::default()) };
        let mut sent = 0.0;
        while control.cap < window {
            sent += control.cap;
            control.rounds = 0;
            control.on_small_round(&quiet, control.cap, false, 2.0);
        }
        sent
    };
    for window in [3.0, 5.0, 8.0] {
        assert!((40.0..70.0).contains(&packets_until_back(window)), "{window}: {}", packets_until_back(window));
    }
}

#[test]
fn a_small_window_without_loss_grows_faster_with_time_and_falls_with_a_loss() {
    let round = |lost| Round { rate: 1e6, lost, acked: 10, in_flight: 12_000 };
    let grown = |rounds: u32, lost, in_crowd| {
        let mut control = Loss { cap: 4.0, ..Loss::new(LossConfig::default()) };
        for _ in 0..rounds {
            control.on_small_round(&round(lost), control.cap, in_crowd, 2.0);
        }
        control.cap - 4.0
    };
    assert!(grown(16, 0, false) > 2.5 * grown(8, 0, false));
    assert!(grown(16, 0, false) > 1.2 * grown(16, 0, true), "a crowd");
    assert!(grown(1, 3, false) < 0.0);
    assert_eq!([true, false].map(|in_crowd| Loss::is_small(10.0, in_crowd)), [true, false]);
}

#[test]
fn loss_that_stays_is_background() {
    let mut control = Loss::new(LossConfig::default());
    let window = send(&mut control, 50.0, 2 * EPOCH_INTERVALS, 1e9, 0.1);
    let cap = control.cap;
    send(&mut control, window, 1000, 1e9, 0.1);
    assert_eq!(control.cap, cap, "it stays while half of the window waits to be tried");
    let half = control.begin_deep_test(2.0).expect("a test");
    assert_eq!(half, cap / 2.0, "half of what the cut has left");
    let window = send(&mut control, half, EPOCH_INTERVALS, 1e9, 0.1);
    assert_eq!((window, control.room), (50.0, 1.0));
    assert!(control.cap.is_infinite() && (control.background - 0.1).abs() < 0.01, "{control:?}");
}
