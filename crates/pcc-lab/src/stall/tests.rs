use super::{Lengths, Stalling, Stalls};
use pcc::Time;
use proptest::prelude::*;
use std::time::Duration;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn read(text: &str) -> Result<Stalls, String> {
    let stalls: Stalls = toml::from_str(text).map_err(|error| error.to_string())?;
    stalls.check().map(|()| stalls).map_err(|(key, reason)| format!("{key}: {reason}"))
}

#[test]
fn lengths_are_written_in_three_ways() {
    let length = |text: &str| read(&format!("every = '100ms'\nlength = {text}")).map(|stalls| stalls.length);
    assert_eq!(length("'5ms'"), Ok(Lengths::Exponential(ms(5))));
    assert_eq!(length("['1ms', '10ms']"), Ok(Lengths::Uniform([ms(1), ms(10)])));
    assert_eq!(length("[['1ms', 90], ['5ms', 0.5]]"), Ok(Lengths::Recorded([(ms(1), 90.0), (ms(5), 0.5)].into())));
    for (wrong, part) in [
        ("[]", "recorded lengths with their weights"),
        ("['1ms']", "(from and to)"),
        ("['1ms', ['2ms', 3]]", "(from and to)"),
        ("[['1ms']]", "a length and its weight are needed"),
        ("[['1ms', 1, 2]]", "a length and its weight are needed"),
        ("[['1ms', 0]]", "weights must be more than 0"),
        ("['10ms', '1ms']", "the first must not be longer"),
        ("'5'", "the unit is missing"),
        ("5", "exponential with this mean"),
    ] {
        let error = length(wrong).unwrap_err();
        assert!(error.contains(part), "{wrong}: {error}");
    }
    assert!(read("every = '1us'\nlength = '1ms'").unwrap_err().contains("every: this must be at least 10us"));
}

/// Shares of stalled time and mean lengths are those of the distributions.
#[test]
fn the_share_of_time_is_right() {
    for length in [
        Lengths::Exponential(ms(5)),
        Lengths::Uniform([ms(1), ms(10)]),
        Lengths::Recorded([(ms(2), 3.0), (ms(12), 1.0)].into()),
    ] {
        let mean = length.mean();
        let mut stalling = Stalling::new(Stalls { every: ms(100), length }, fastrand::Rng::with_seed(1));
        // One look each 10 us, of which so many fall into stalls.
        let looks = 20_000_000;
        let held = (0..looks).filter(|look| {
            let now = Time::from_nanos(look * 10_000);
            stalling.advance(now);
            stalling.release(now) > now
        });
        let share = held.count() as f64 / looks as f64;
        let expected = mean.as_secs_f64() / (ms(100) + mean).as_secs_f64();
        assert!((share / expected - 1.0).abs() < 0.1, "{share} instead of {expected}");
    }
}

#[test]
fn the_end_of_time_is_reached() {
    let mut stalling =
        Stalling::new(Stalls { every: ms(1), length: Lengths::Exponential(ms(1)) }, fastrand::Rng::with_seed(1));
    stalling.advance(Time::from_nanos(u64::MAX));
}

proptest! {
    #[test]
    fn stalls_hold_up_and_never_reorder(times in prop::collection::vec(0..2_000_000u64, 1..200), seed: u64) {
        let stalls = Stalls { every: Duration::from_micros(100), length: Lengths::Exponential(Duration::from_micros(100)) };
        let mut stalling = Stalling::new(stalls, fastrand::Rng::with_seed(seed));
        let mut times: Vec<Time> = times.into_iter().map(Time::from_nanos).collect();
        times.sort_unstable();
        let mut last = Time::ZERO;
        for time in times {
            stalling.advance(time);
            let released = stalling.release(time);
            prop_assert!(released >= time && released >= last);
            last = released;
        }
    }
}
