use super::super::drain;
use super::super::view::tests::view;
use super::judge::{BELIEVED, FAILURES, FAILURES_IN_NOISE, FAILURES_IN_VAIN, FAILURES_OF_SMALL, UNHARMED_PACKETS};
use super::*;

fn competition() -> Competition {
    Competition::new(DrainConfig::default(), GrowthConfig::default(), 100.0, 0.0)
}

/// The packets that a flow of this weight adds beside others in so many round trips of so many seconds without loss.
fn grown(weight: f64, rounds: u32, rtt: f64) -> f64 {
    let mut competition = competition();
    competition.beside_others = true;
    let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
    for _ in 0..rounds {
        assert_eq!(competition.on_round(&round, &view(rtt, weight, 0.0)), Found::Nothing);
    }
    competition.more
}

/// A drain before which so many seconds stood, and after which so many remained.
fn ended(before: f64, at_first: f64, remains: f64, window: f64) -> Drain {
    let (bandwidth, is_deep, after_rise, in_vain) = (1.2e6, false, false, false);
    let plan = Plan { now: 0.0, window, before, at_first, bandwidth, is_deep, after_rise, in_vain };
    ended_as(plan, remains)
}

/// A drain that was planned so, and after which so many seconds remained.
fn ended_as(plan: Plan, remains: f64) -> Drain {
    let mut drain = Drain::new(plan);
    (0..drain::ROUNDS).for_each(|_| drain.on_round(remains, 0.0));
    drain
}

/// What the last of some drains finds, by a flow of so many packets: so many seconds stood before each, and so many remained.
fn found(packets: f64, drains: &[(f64, f64)]) -> Found {
    let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), packets, 0.0);
    let mut noise = 0.0;
    drains.iter().fold(Found::Nothing, |_, (before, remains)| {
        competition.drain = Some(ended(*before, *before, *remains, packets / 4.0));
        let found = competition.end_drain(&view(0.04, 1.0, noise));
        if let Found::Background { remains, .. } = found {
            noise = remains;
        }
        found
    })
}

#[test]
fn what_grows_from_drain_to_drain_is_a_queue_of_others() {
    let background = Found::Background { remains: 0.015, window: 100.0 };
    assert_eq!(found(100.0, &[(0.02, 0.015)]), Found::Drained { remains: 0.015 }, "once it may be chance");
    assert_eq!(found(100.0, &[(0.02, 0.015), (0.02, 0.015)]), background);
    assert_eq!(
        found(100.0, &[(0.02, 0.015), (0.02, 0.015), (0.03, 0.016)]),
        Found::Drained { remains: 0.016 },
        "ours went away"
    );
    assert_eq!(
        found(100.0, &[(0.02, 0.015), (0.02, 0.015), (0.03, 0.018)]),
        Found::Others { remains: 0.018, window: 100.0 }
    );
}

#[test]
fn on_a_long_path_a_short_queue_is_nobodys() {
    // What the third drain finds, after which so much of 20 ms remained, on a path that takes so many seconds.
    let third_with = |base, remains, background| {
        let mut competition = competition();
        let view = View { base, rtt: base + 0.02, background_loss: background, ..view(0.04, 1.0, 0.0) };
        let found = (0..FAILURES).map(|_| {
            competition.drain = Some(ended(0.02, 0.02, remains, 25.0));
            competition.end_drain(&view)
        });
        found.last()
    };
    let third = |base, remains| third_with(base, remains, 0.0);
    assert_eq!(third(0.1, 0.015), Some(Found::Others { remains: 0.015, window: 100.0 }));
    assert_eq!(third(0.6, 0.015), Some(Found::Drained { remains: 0.015 }));
    assert_eq!(
        third(0.7, 0.02),
        Some(Found::Background { remains: 0.02, window: 100.0 }),
        "no drain takes anything away from it"
    );
    assert_eq!(third_with(0.7, 0.02, 0.1), Some(Found::Drained { remains: 0.02 }), "nor from a full queue");
}

#[test]
fn a_queue_that_had_gone_before_the_drain_says_nothing() {
    let competes_after = |at_first| {
        let mut competition = Competition { beside_others: true, failures: 3, emptied: true, ..competition() };
        competition.drain = Some(ended(0.02, at_first, 0.0, 25.0));
        assert_eq!(competition.end_drain(&view(0.04, 1.0, 0.0)), Found::Drained { remains: 0.0 });
        (competition.beside_others, competition.failures)
    };
    assert_eq!(competes_after(0.02), (false, 0), "the drain emptied it");
    assert_eq!(competes_after(0.01), (true, 3), "others let it go");
}

#[test]
fn competition_ends_after_two_drains_in_a_row_that_emptied_the_queue() {
    let competes_after = |remains: &[f64]| {
        let mut competition = Competition { beside_others: true, failures: 3, ..competition() };
        for remains in remains {
            competition.drain = Some(ended(0.02, 0.02, *remains, 25.0));
            competition.end_drain(&view(0.04, 1.0, 0.0));
        }
        competition.beside_others
    };
    assert!(competes_after(&[0.0]), "others may have let it go just then");
    assert!(!competes_after(&[0.0, 0.0]));
    assert!(competes_after(&[0.0, 0.015, 0.0]));
}

#[test]
fn a_delay_that_rose_at_once_is_tried_by_a_drain() {
    let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
    let after = |rise, excess, remains| {
        let mut competition = competition();
        let view = View { rise, ..view(0.06, 1.0, 0.0) };
        competition.on_round(&round, &view);
        competition.on_round(&round, &View { excess, rise: 0.0, ..view });
        let drains = competition.drain_window().is_some();
        let later = View { now: 2.0, excess: remains, rise: 0.0, ..view };
        let mut ends = (1..=drain::ROUNDS).map(|rounds| (rounds, competition.on_round(&round, &later)));
        (drains, ends.find(|(_, found)| *found != Found::Nothing))
    };
    assert_eq!(
        after(0.03, 0.03, 0.03),
        (true, Some((drain::ROUNDS, Found::Longer { remains: 0.03, bandwidth: 1.2e6 })))
    );
    assert_eq!(
        after(0.03, 0.03, 0.001),
        (true, Some((1, Found::Drained { remains: 0.001 }))),
        "the path had paused: at once"
    );
    assert!(!after(0.03, 0.01, 0.01).0, "it is over");
    assert!(!after(0.003, 0.03, 0.03).0, "too little");
}

#[test]
fn who_has_its_window_again_has_not_yielded_in_vain() {
    let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
    // Whether most of `from` packets was given up in vain, and whether it still was when the window is so large again.
    let in_vain = |from: f64, again| {
        let mut competition = competition();
        let mut pass = |window| {
            competition.on_round(&round, &View { window, in_crowd: false, ..view(0.04, 1.0, 0.0) });
            competition.most_in_vain.is_some()
        };
        (0..20).for_each(|_| assert!(!pass(from)));
        (pass(0.2 * from), pass(again))
    };
    assert_eq!(in_vain(50.0, 20.0), (true, true));
    assert_eq!(in_vain(50.0, 30.0), (true, false));
    assert_eq!(in_vain(70.0, 45.0), (true, true), "it isn't one of many");
}

#[test]
fn what_stays_in_a_deep_drain_is_noise() {
    let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
    let mut competition = competition();
    competition.mean = 0.02;
    let view = View { background_is_noise: true, in_crowd: false, unqueued: 1.0, ..view(0.04, 1.0, 0.02) };
    // The window of a drain, and whether it told that there is only noise, if so much remains in it.
    let mut drained = |remains| {
        competition.begin_drain(&view, false);
        let window = competition.drain_window().unwrap_or_default();
        let ended = View { now: 2.0, excess: remains, ..view };
        (0..drain::ROUNDS).for_each(|_| {
            competition.on_round(&round, &ended);
        });
        (window.round(), competition.only_noise)
    };
    assert_eq!(drained(0.01), (48.0, false), "half of the round trip is taken out, and half of it was ours");
    assert_eq!(drained(0.02), (48.0, true), "all of it stays");
    for _ in 0..BELIEVED {
        assert_eq!(drained(0.02), (95.0, true), "believed for a while");
    }
    assert_eq!(drained(0.02), (48.0, true), "and tried again");
    assert_eq!(drained(0.01), (95.0, false), "something goes away");
    assert_eq!(drained(0.02), (48.0, true), "so that the next one is deep again");
    competition.until_deep = 0;
    competition.begin_drain(&View { bunched: true, ..view }, false);
    assert_eq!(competition.drain_window().map(f64::round), Some(95.0), "too few acknowledgements would tell");
}

#[test]
fn no_flow_drains_because_it_began_late() {
    let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
    let drains = |began| {
        let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), 100.0, began);
        competition.on_round(&round, &View { now: 9.0, ..view(0.04, 1.0, 0.0) });
        competition.drain_window().is_some()
    };
    assert_eq!([6.9, 8.9].map(drains), [true, false], "a drain comes after two seconds");
}

#[test]
fn who_competes_or_may_be_one_of_many_waits_longer_for_the_others() {
    // When a drain comes, in ms, with the lowest queue at this time, or with a lower one in each batch.
    let due = |competes, window, lowest: Option<u32>| {
        let mut competition = Competition { beside_others: competes, ..competition() };
        (1..9000).find(|ms| {
            let now = f64::from(*ms) / 1000.0;
            let queue = if lowest.is_none_or(|at| *ms == at) { 0.01 } else { 0.02 };
            competition.on_batch(now, queue, 0.001, window);
            competition.is_due(&View { now, window, ..view(0.04, 1.0, 0.0) })
        })
    };
    let each = [(false, 100.0), (false, 20.0), (true, 100.0)];
    assert_eq!(each.map(|(competes, window)| due(competes, window, None)), [3001, 6001, 6001].map(Some));
    assert_eq!(
        each.map(|(competes, window)| due(competes, window, Some(500))),
        [2501; 3].map(Some),
        "all see that one"
    );
}

#[test]
fn noise_makes_a_drain_urgent() {
    let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
    let ms = |number: u32| 0.04 * f64::from(number);
    // Round trips until a drain begins, with the window and what stands in each.
    let rounds = |view: View, seen: &dyn Fn(u32) -> (f64, f64)| {
        let mut competition = competition();
        competition.on_batch(0.0, 0.02, 0.001, 100.0);
        (1..100).find(|number| {
            let (window, excess) = seen(*number);
            competition.on_round(&round, &View { now: ms(*number), window, excess, ..view });
            competition.drain_window().is_some()
        })
    };
    let view = View { in_crowd: false, ..view(0.04, 1.0, 0.02) };
    assert_eq!(rounds(view, &|_| (100.0, 0.02)), Some(51), "two seconds");
    assert_eq!(rounds(View { all_may_be_noise: true, ..view }, &|_| (100.0, 0.02)), Some(5), "all of it may be noise");
    let noise = View { background_is_noise: true, ..view };
    let in_vain = |number: u32| (if number > 9 { 40.0 } else { 100.0 }, 0.02);
    assert_eq!(rounds(noise, &in_vain), Some(10), "yielded in vain to what may be noise");
    assert_eq!(rounds(view, &in_vain), Some(51), "and to what isn't");
    let helps =
        |number: u32| if number > 9 { (100.0 - 4.0 * f64::from(number.min(24) - 9), 0.002) } else { (100.0, 0.02) };
    assert_eq!(rounds(noise, &helps), Some(51), "what was given up took the queue away");
    assert_eq!(rounds(noise, &|number| (in_vain(number).0 / 10.0, 0.02)), Some(51), "a small flow may be one of many");
}

#[test]
fn who_yields_most_of_its_window_in_vain_drains_at_once_and_soon_knows_of_others() {
    let round = Round { rate: 1e6, lost: 0, acked: 100, in_flight: 120_000 };
    // Round trips until a drain begins, and how many that fail tell of others. From the tenth round trip on a window goes down from one number of
    // packets to another, and so many seconds stand in the queue.
    let after = |view: View, from: f64, window: f64, excess: f64| {
        let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), from, 0.0);
        competition.on_batch(0.0, 0.02, 0.001, from);
        let rounds = (1..100_u32).find(|number| {
            let now = 0.04 * f64::from(*number);
            let (window, excess) = match number.saturating_sub(9) {
                0 => (from, 0.02),
                more => (window.max(from - 20.0 * f64::from(more)), excess),
            };
            competition.on_round(&round, &View { now, window, excess, ..view });
            competition.drain_window().is_some()
        });
        let in_vain = competition.drain.is_some_and(|drain| drain.plan.in_vain);
        let plan = Plan { in_vain, ..ended(0.02, 0.02, 0.0, 25.0).plan };
        let drains = (1..20).find(|_| {
            competition.drain = Some(ended_as(plan, 0.015));
            competition.remained = 0.0;
            matches!(competition.end_drain(&view), Found::Others { .. })
        });
        (rounds, drains)
    };
    let view = View { in_crowd: false, ..view(0.04, 1.0, 0.0) };
    assert_eq!(after(view, 400.0, 90.0, 0.02), (Some(24), Some(FAILURES_IN_VAIN)));
    assert_eq!(after(view, 400.0, 150.0, 0.02), (Some(51), Some(FAILURES)), "not most of it");
    assert_eq!(after(view, 400.0, 90.0, 0.012), (Some(51), Some(FAILURES)), "it helps");
    assert_eq!(after(view, 160.0, 40.0, 0.02), (Some(51), Some(FAILURES_IN_VAIN)), "it may be one of many");
    assert_eq!(
        after(View { background_is_noise: true, ..view }, 400.0, 90.0, 0.02),
        (Some(19), Some(FAILURES_IN_NOISE))
    );
}

#[test]
fn a_drain_because_of_a_longer_path_isnt_the_first() {
    let is_first_after = |after_rise| {
        let mut competition = competition();
        competition.begin_drain(&view(0.04, 1.0, 0.0), after_rise);
        competition.is_first
    };
    assert_eq!([true, false].map(is_first_after), [true, false]);
}

#[test]
fn noise_in_the_queue_leaves_it_empty() {
    let is_empty = |background_is_noise| {
        let competition = Competition { mean: 0.0202, ..competition() };
        competition.is_empty(&View { background_is_noise, ..view(0.04, 1.0, 0.02) })
    };
    assert_eq!([true, false].map(is_empty), [true, false]);
}

#[test]
fn where_there_is_noise_it_takes_more_drains_to_find_others() {
    let drains = |background_is_noise| {
        let mut competition = competition();
        (1..20).find(|_| {
            competition.drain = Some(ended(0.02, 0.02, 0.015, 25.0));
            competition.remained = 0.0;
            let view = View { background_is_noise, ..view(0.04, 1.0, 0.001) };
            matches!(competition.end_drain(&view), Found::Others { .. })
        })
    };
    assert_eq!([false, true].map(drains), [Some(FAILURES), Some(FAILURES_IN_NOISE)]);
}

#[test]
fn who_may_be_one_of_a_crowd_drains_although_the_queue_looks_empty() {
    let round = Round { rate: 1e6, lost: 1, acked: 10, in_flight: 12_000 };
    let drain_of = |doubtful, in_crowd| {
        let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), 10.0, 0.0);
        let view = View { now: 9.0, excess: 0.0, window: 10.0, doubtful, in_crowd, ..view(0.04, 1.0, 0.0) };
        competition.on_round(&round, &view);
        assert_eq!(competition.has_drained(), competition.drain_window().is_some());
        competition.drain_window()
    };
    assert_eq!(drain_of(false, false), None, "the queue is empty");
    assert_eq!(drain_of(true, false), Some(0.95 * 10.0 * 0.5));
    assert_eq!(drain_of(true, true), Some(LEAST), "the delay of the empty path may be another");
}

#[test]
fn who_cannot_drain_learns_nothing() {
    let drains = [(0.02, 0.02), (0.02, 0.02), (0.03, 0.03)];
    assert_eq!(found(16.0, &drains), Found::Others { remains: 0.03, window: 16.0 });
    assert_eq!(
        found(6.0, &drains),
        Found::Drained { remains: 0.03 },
        "a quarter of it is less than the fewest packets"
    );
}

#[test]
fn who_cannot_drain_and_loses_nothing_knows_of_others() {
    // The drain that tells of others, of a flow of six packets: so much of 20 ms remains in each, and before it so many packets arrived, of which so
    // many were lost.
    let drains_to = |least, remains: &[f64], acked, lost| {
        let mut competition = Competition::new(DrainConfig::default(), GrowthConfig::default(), 6.0, 0.0);
        (1..10_u32).find(|number| {
            let view = View { in_crowd: least == LEAST, window: 6.0, ..view(0.04, 1.0, 0.0) };
            competition.on_round(&Round { rate: 1e6, lost, acked, in_flight: 9_000 }, &view);
            competition.drain = Some(ended(0.02, 0.02, remains[*number as usize % remains.len()], least));
            matches!(competition.end_drain(&view), Found::Others { .. }) && competition.beside_others
        })
    };
    let drains = |remains: &[f64], acked, lost| drains_to(LEAST, remains, acked, lost);
    assert_eq!(drains(&[0.018], UNHARMED_PACKETS, 0), Some(FAILURES));
    assert_eq!(drains_to(5.7, &[0.018], UNHARMED_PACKETS, 0), Some(FAILURES_OF_SMALL), "whatever it drains to");
    assert_eq!(drains_to(5.7, &[0.018, 0.014], UNHARMED_PACKETS, 0), None);
    assert_eq!(drains(&[0.018], UNHARMED_PACKETS / 8, 0), Some(8), "the packets are counted from drain to drain");
    assert_eq!(drains(&[0.018], UNHARMED_PACKETS, 1), None, "a crowd loses packets all the time");
    assert_eq!(drains(&[0.018, 0.014], UNHARMED_PACKETS, 0), None, "some of a crowd drains together");
}

#[test]
fn beside_others_drains_come_by_the_empty_path() {
    let patience = |competes, rtt| {
        let view = View { base: 0.2, in_crowd: false, ..view(rtt, 1.0, 0.0) };
        Competition { beside_others: competes, ..competition() }.patience(&view)
    };
    assert_eq!([0.2, 0.4, 0.8].map(|rtt| patience(true, rtt)), [4.0; 3]);
    assert_eq!([0.2, 0.4, 0.8].map(|rtt| patience(false, rtt)), [2.0, 3.2, 6.4], "two seconds at least");
}

#[test]
fn heavy_loss_takes_less_of_a_window_that_isnt_one_of_many() {
    let left = |window, lost| {
        let mut competition = Competition { beside_others: true, since_cut: 9, ..competition() };
        let round = Round { rate: 1e6, lost, acked: 100 - lost, in_flight: 120_000 };
        competition.on_round(&round, &View { window, ..view(0.04, 1.0, 0.0) })
    };
    assert_eq!([left(60.0, 8), left(60.0, 4)], [Found::Loss { left: 0.7 }, Found::Nothing]);
    assert_eq!([left(70.0, 8), left(70.0, 90)], [Found::Loss { left: 0.96 }, Found::Loss { left: 0.7 }]);
}

#[test]
fn beside_others_a_flow_of_weight_three_grows_as_three() {
    let [one, three] = [1.0, 3.0].map(|weight| grown(weight, 10, 0.04));
    assert!(one > 10.0, "{one}");
    assert!((three - 3.0 * one).abs() < 1e-9);
}

#[test]
fn beside_others_a_longer_round_trip_is_no_reason_to_grow_more_slowly() {
    let [short, long, longest] = [(20, 0.04), (5, 0.16), (1, 10.0)].map(|(rounds, rtt)| grown(1.0, rounds, rtt));
    assert!((0.8..1.25).contains(&(long / short)), "{long} {short}");
    assert_eq!(longest, 25.0, "a quarter of the window");
}

/// In which of five times without a queue, each of 1.5 s, a drain begins, if at least half of the window is given up in each to a queue that comes,
/// with so many packets at first.
fn drains_in_swing(packets: f64) -> Option<u32> {
    let mut competition = competition();
    let round = Round { rate: 1.5e6, lost: 0, acked: 20, in_flight: 24_000 };
    let mut now = 0.0;
    (0..5).find(|_| {
        (0..30).any(|step| {
            let (excess, left) = if step < 3 { (0.0, 1.0) } else { (0.01, (1.0 - 0.05 * f64::from(step)).max(0.3)) };
            let window = packets * left;
            now += 0.05;
            competition.on_batch(now, excess, 0.001, window);
            let view = View { now, excess, in_crowd: false, window, ..view(0.05, 1.0, 0.0) };
            competition.on_round(&round, &view);
            competition.drain.is_some()
        })
    })
}

#[test]
fn others_whose_queue_comes_and_goes_are_looked_for_while_it_is_there() {
    assert_eq!(drains_in_swing(40.0), Some(SWINGS), "once or twice it may be chance");
    assert_eq!(drains_in_swing(10.0), None, "too few packets are left");
}

#[test]
fn a_drain_that_only_empties_the_queue_makes_the_next_one_rarer() {
    let mut competition = competition();
    let mut drained = |remains, swings| {
        competition.swings = swings;
        competition.drain = Some(ended(0.02, 0.02, remains, 25.0));
        competition.end_drain(&view(0.04, 1.0, 0.0));
        competition.swings_to_drain
    };
    assert_eq!(drained(0.0, SWINGS - 1), SWINGS, "it came for another reason");
    assert_eq!([drained(0.0, SWINGS), drained(0.0, 2 * SWINGS)], [2 * SWINGS, 4 * SWINGS]);
    assert_eq!(drained(0.015, 4 * SWINGS), SWINGS, "something stayed");
}

/// A flow of 100 packets beside others that drained three times, so that others' 200 packets stay in flight on a path of 100 Mbit/s and 20 ms.
fn beside_others() -> Competition {
    let mut competition = competition();
    let pass = |competition: &mut Competition, own: f64| {
        let rtt = (own + 200.0) * 1250.0 / 12.5e6;
        competition.share.on_round(own * 1250.0 / rtt, rtt, own < 100.0);
    };
    for _ in 0..3 {
        (0..10).for_each(|_| pass(&mut competition, 100.0));
        (0..3).for_each(|_| pass(&mut competition, 70.0));
        competition.share.on_drained(1250.0, 0.0001);
    }
    competition.beside_others = true;
    competition
}

#[test]
fn beside_others_the_window_is_held_at_about_half_of_the_path() {
    let mut competition = beside_others();
    assert_eq!(competition.hold(100.0, 1000.0, 1.0, 0.02), 100.0);
    let held = |competition: &mut Competition, weight| competition.hold(1e6, 1000.0, weight, 0.02) / (12.5e3 * 0.02);
    assert!((held(&mut competition, 1.0) - 0.55).abs() < 0.01);
    assert!((held(&mut competition, 3.0) - 0.825).abs() < 0.01, "of weight 3 it is as three of four");
    competition.beside_others = false;
    assert_eq!(competition.hold(1e6, 1000.0, 1.0, 0.02), 1e6);
}

#[test]
fn who_is_held_while_the_queue_is_empty_is_alone() {
    let mut competition = beside_others();
    let round = Round { rate: 6e6, lost: 0, acked: 100, in_flight: 125_000 };
    let empty = View { now: 0.1, base: 0.02, rtt: 0.02, excess: 0.0, ..view(0.02, 1.0, 0.0) };
    let pass = |competition: &mut Competition, view: &View| {
        competition.hold(1e6, 1000.0, 1.0, 0.02);
        competition.on_round(&round, view);
        competition.beside_others
    };
    assert!((1..HELD_IN_VAIN).all(|_| pass(&mut competition, &empty)));
    assert!(pass(&mut competition, &View { excess: 0.01, ..empty }), "in a row");
    assert!((1..HELD_IN_VAIN).all(|_| pass(&mut competition, &empty)));
    assert!(!pass(&mut competition, &empty));
}

#[test]
fn competition_goes_on_until_drains_empty_the_queue_or_show_nobody_else() {
    // Whether it goes on after two drains that left so much of 20 ms, with a background of that.
    let goes_on = |remains: f64| {
        let mut competition = beside_others();
        for _ in 0..2 {
            competition.drain = Some(ended(0.02, 0.02, remains, 25.0));
            competition.end_drain(&view(0.04, 1.0, remains));
        }
        competition.beside_others
    };
    assert_eq!([0.015, 0.007, 0.005].map(goes_on), [true, true, false]);
}
